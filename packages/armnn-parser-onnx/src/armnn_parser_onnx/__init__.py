# SPDX-License-Identifier: MIT
"""ONNX files as networks; armnn finds it by its entry point."""
