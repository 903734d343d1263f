# SPDX-License-Identifier: MIT
"""What writes each layer type; importing the package registers all of them."""

from __future__ import annotations

from armnn_parser_onnx.export.layers import (
    activation,
    convolution,
    elementwise,
    indexing,
    matmul,
    normalization,
    pooling,
    reduction,
    reshaping,
    resizing,
    sequence,
)

__all__ = [
    "activation",
    "convolution",
    "elementwise",
    "indexing",
    "matmul",
    "normalization",
    "pooling",
    "reduction",
    "reshaping",
    "resizing",
    "sequence",
]
