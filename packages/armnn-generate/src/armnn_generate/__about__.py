# SPDX-License-Identifier: MIT
"""The version of armnn-generate; hatchling reads it from here."""

__version__ = "1.0.0"
