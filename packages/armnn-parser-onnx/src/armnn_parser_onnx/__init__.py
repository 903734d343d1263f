# SPDX-License-Identifier: MIT
"""Reads ONNX files as networks, and writes networks as ONNX files."""
