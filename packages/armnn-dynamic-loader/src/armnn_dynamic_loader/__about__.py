# SPDX-License-Identifier: MIT
"""The version of armnn-dynamic-loader; hatchling reads it from here."""

__version__ = "0.1.0"
