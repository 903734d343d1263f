# SPDX-License-Identifier: MIT
"""The operations of CpuRef, one module per family of layers."""

from __future__ import annotations

import importlib

from armnn.layers import LAYERS
from armnn_backend_ref.ops._registry import OPS, Array, Op, op


def operation_of(layer_type: str) -> Op:
    """Return the operation of a layer type.

    The module of its family is imported for it. Families are imported one by one, on demand. A
    network that CpuRef computes a layer or two of must not wait for all families.

    Args:
        layer_type: One that has a kernel.
    """
    if layer_type not in OPS:
        importlib.import_module(f"{__name__}.{LAYERS[layer_type].family}")
    return OPS[layer_type]


__all__ = ["Array", "Op", "op", "operation_of"]
