# SPDX-License-Identifier: MIT
"""The version of armnn-dynamic-loader; hatchling reads it from here."""

__version__ = "1.2.0"
