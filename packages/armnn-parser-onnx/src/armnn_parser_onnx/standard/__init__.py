# SPDX-License-Identifier: MIT
"""The operators of the ONNX standard, as generated data.

``operators.txt`` has a line per operator and version, ``functions.onnx`` the operators that are
defined by others. Both are written by ``tools/generate_standard.py`` and read on first use.
"""
