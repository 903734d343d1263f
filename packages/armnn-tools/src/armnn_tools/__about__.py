# SPDX-License-Identifier: MIT
"""The version of armnn-tools; hatchling reads it from here."""

__version__ = "1.0.0"
