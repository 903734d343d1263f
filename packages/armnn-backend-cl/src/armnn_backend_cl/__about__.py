# SPDX-License-Identifier: MIT
"""The version of armnn-backend-cl; hatchling reads it from here."""

__version__ = "1.0.0"
