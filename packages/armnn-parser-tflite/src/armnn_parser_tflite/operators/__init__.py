# SPDX-License-Identifier: MIT
"""The converters, one module per family, registered by import."""

from __future__ import annotations

from armnn_parser_tflite.operators import (
    activation,
    control,
    convolution,
    detection,
    diagonals,
    dimensions,
    elementwise,
    indexing,
    joining,
    matmul,
    normalization,
    pooling,
    quantizing,
    recurrence,
    recurrent,
    reduction,
    reshaping,
    resizing,
    scattering,
    spectral,
)

__all__ = [
    "activation",
    "control",
    "convolution",
    "detection",
    "diagonals",
    "dimensions",
    "elementwise",
    "indexing",
    "joining",
    "matmul",
    "normalization",
    "pooling",
    "quantizing",
    "recurrence",
    "recurrent",
    "reduction",
    "reshaping",
    "resizing",
    "scattering",
    "spectral",
]
