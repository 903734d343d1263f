# SPDX-License-Identifier: MIT
"""The version of armnn-parser-tflite; hatchling reads it from here."""

__version__ = "1.1.0"
