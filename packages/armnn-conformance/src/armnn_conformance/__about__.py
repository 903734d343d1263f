# SPDX-License-Identifier: MIT
"""The version of armnn-conformance; hatchling reads it from here."""

__version__ = "1.3.0"
