# SPDX-License-Identifier: MIT
"""The writers of layer types; importing the package registers them."""

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
