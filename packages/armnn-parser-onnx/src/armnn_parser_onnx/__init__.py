# SPDX-License-Identifier: MIT
"""Reads and writes ONNX files as networks."""
