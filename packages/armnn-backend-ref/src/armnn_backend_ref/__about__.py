# SPDX-License-Identifier: MIT
"""The version of armnn-backend-ref; hatchling reads it from here."""

__version__ = "1.3.0"
