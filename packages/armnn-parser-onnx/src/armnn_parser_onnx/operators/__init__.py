# SPDX-License-Identifier: MIT
"""The converters, one module per family of layers; importing the package registers all of them."""

from __future__ import annotations

from armnn_parser_onnx.operators import (
    activation,
    convolution,
    dimensions,
    elementwise,
    indexing,
    io,
    joining,
    matmul,
    normalization,
    padding,
    pooling,
    quantizing,
    recurrent,
    reduction,
    reshaping,
    resizing,
    sampling,
    selecting,
    transposed_convolution,
)

__all__ = [
    "activation",
    "convolution",
    "dimensions",
    "elementwise",
    "indexing",
    "io",
    "joining",
    "matmul",
    "normalization",
    "padding",
    "pooling",
    "quantizing",
    "recurrent",
    "reduction",
    "reshaping",
    "resizing",
    "sampling",
    "selecting",
    "transposed_convolution",
]
