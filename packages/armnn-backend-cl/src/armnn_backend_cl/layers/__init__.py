# SPDX-License-Identifier: MIT
"""The layers that have kernels: a module for each family, a function for each layer type."""

from armnn_backend_cl.layers import (
    attention,
    blocks,
    convolution,
    elementwise,
    indexing,
    matmul,
    movement,
    normalization,
    pooling,
    reduction,
    resizing,
    steps,
)
from armnn_backend_cl.layers.table import WrongLayout, launches_of

__all__ = [
    "WrongLayout",
    "attention",
    "blocks",
    "convolution",
    "elementwise",
    "indexing",
    "launches_of",
    "matmul",
    "movement",
    "normalization",
    "pooling",
    "reduction",
    "resizing",
    "steps",
]
