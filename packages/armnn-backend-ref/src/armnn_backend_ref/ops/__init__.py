# SPDX-License-Identifier: MIT
"""The operations of CpuRef, one module per family of layers."""

from __future__ import annotations

from armnn_backend_ref.ops import (
    activation,
    attention,
    convolution,
    detection,
    dimensions,
    elementwise,
    indexing,
    joining,
    matmul,
    normalization,
    plumbing,
    pooling,
    quantizing,
    recurrent,
    reduction,
    reshaping,
    resizing,
    selecting,
    sequence,
)
from armnn_backend_ref.ops._registry import OPS, Array, Op, op

__all__ = [
    "OPS",
    "Array",
    "Op",
    "activation",
    "attention",
    "convolution",
    "detection",
    "dimensions",
    "elementwise",
    "indexing",
    "joining",
    "matmul",
    "normalization",
    "op",
    "plumbing",
    "pooling",
    "quantizing",
    "recurrent",
    "reduction",
    "reshaping",
    "resizing",
    "selecting",
    "sequence",
]
