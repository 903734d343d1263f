# SPDX-License-Identifier: MIT
"""The parser of TensorFlow Lite files."""
