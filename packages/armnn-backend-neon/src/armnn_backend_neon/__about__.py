# SPDX-License-Identifier: MIT
"""The version of armnn-backend-neon; hatchling reads it from here."""

__version__ = "0.1.0"
