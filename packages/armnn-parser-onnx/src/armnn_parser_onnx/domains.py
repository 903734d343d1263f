# SPDX-License-Identifier: MIT
"""The domains whose operators are read."""

from __future__ import annotations

from typing import Final

DEFAULT_DOMAINS: Final = ("", "ai.onnx")
"""The two spellings of the domain of ONNX's own operators."""

MICROSOFT: Final = "com.microsoft"
"""The operators of onnxruntime."""

PREVIEW: Final = "ai.onnx.preview"
"""Operators that may come into ONNX's own domain; their bodies consist of those that are there."""
