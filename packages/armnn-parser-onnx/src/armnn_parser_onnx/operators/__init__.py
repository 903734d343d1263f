# SPDX-License-Identifier: MIT
"""The converters of operators, one module per family of the layer table.

Importing a module enters its converters into the table that :func:`find_converter` reads.
"""

from __future__ import annotations

from armnn_parser_onnx._registry import find_converter, operator_names
from armnn_parser_onnx.operators import (
    activation,
    attention,
    convolution,
    counting,
    detection,
    dimensions,
    elementwise,
    indexing,
    io,
    joining,
    matmul,
    microsoft,
    normalization,
    pooling,
    quantizing,
    reduction,
    reshaping,
    resizing,
    selecting,
    sequence,
    spectral,
)

__all__ = [
    "activation",
    "attention",
    "convolution",
    "counting",
    "detection",
    "dimensions",
    "elementwise",
    "find_converter",
    "indexing",
    "io",
    "joining",
    "matmul",
    "microsoft",
    "normalization",
    "operator_names",
    "pooling",
    "quantizing",
    "reduction",
    "reshaping",
    "resizing",
    "selecting",
    "sequence",
    "spectral",
]
