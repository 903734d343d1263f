# SPDX-License-Identifier: MIT
"""The converters of operators, one module per family of the layer table.

Importing a module enters its converters into the table that :func:`find_converter` reads.
"""

from __future__ import annotations

from armnn_parser_tflite._registry import find_converter, operator_names
from armnn_parser_tflite.operators import (
    activation,
    control,
    convolution,
    detection,
    dimensions,
    elementwise,
    indexing,
    joining,
    matmul,
    normalization,
    pooling,
    quantizing,
    recurrent,
    reduction,
    reshaping,
    resizing,
    selecting,
    sequence,
    spectral,
)

__all__ = [
    "activation",
    "control",
    "convolution",
    "detection",
    "dimensions",
    "elementwise",
    "find_converter",
    "indexing",
    "joining",
    "matmul",
    "normalization",
    "operator_names",
    "pooling",
    "quantizing",
    "recurrent",
    "reduction",
    "reshaping",
    "resizing",
    "selecting",
    "sequence",
    "spectral",
]
