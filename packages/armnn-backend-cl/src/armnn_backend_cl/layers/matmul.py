# SPDX-License-Identifier: MIT
"""Products of computed matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from armnn.layers.matmul import BatchMatMulDescriptor
from armnn.types import DataLayout, DataType
from armnn_backend_cl.launches import Argument, In, Launch, Out, Refused
from armnn_backend_cl.layers.table import lowers, program, require, shape_of
from armnn_backend_cl.views import View, walked

if TYPE_CHECKING:
    from armnn.graph import Layer

_SIDE = 4
"""Rows and columns that a work item of ``matmul.cl`` makes."""


@lowers("BatchMatMul")
def batch_mat_mul(layer: Layer) -> Sequence[Launch]:
    """Multiply the matrices in the last two axes."""
    d = cast("BatchMatMulDescriptor", layer.descriptor)
    require(layer, DataType.FLOAT32)
    for name in ("adjoint_x", "adjoint_y"):
        if getattr(d, name):
            raise Refused(f"{name} is True, expected False")
    for name in ("data_layout_x", "data_layout_y"):
        if getattr(d, name) not in (DataLayout.NCHW, DataLayout.NCDHW):
            raise Refused(f"{name} is {getattr(d, name).arm_name}, expected matrices in the end")
    x, y = (View.of(shape_of(info)) for info in layer.input_infos)
    z = View.of(shape_of(layer.output_infos[0]))
    if d.transpose_x:
        x = x.transposed([*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2])
    if d.transpose_y:
        y = y.transposed([*range(len(y.shape) - 2), len(y.shape) - 1, len(y.shape) - 2])
    rows, depth, columns = x.shape[-2], x.shape[-1], y.shape[-1]
    batches = z.shape[:-2]
    outer = [View(v.shape[:-2], v.strides[:-2]).broadcast(batches) for v in (x, y, z)]
    sizes, strides = walked(*outer)
    items = math.prod(batches) * -(-rows // _SIDE) * -(-columns // _SIDE)
    steps = (*x.strides[-2:], *y.strides[-2:], *z.strides[-2:], 0, 0)
    arguments: tuple[Argument, ...] = (
        In(0),
        In(1),
        Out(0),
        items,
        rows,
        columns,
        depth,
        sizes,
        *strides,
        steps,
    )
    return [Launch(program("matmul.cl"), "matmul", arguments, items)]
