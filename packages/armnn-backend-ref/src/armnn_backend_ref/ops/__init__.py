# SPDX-License-Identifier: MIT
"""What each layer type computes; each module beside this one holds one family of layers."""

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

FAMILIES = (
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
"""The families; importing them fills :data:`OPS`."""

__all__ = ["FAMILIES", "OPS", "Array", "Op", "op"]
