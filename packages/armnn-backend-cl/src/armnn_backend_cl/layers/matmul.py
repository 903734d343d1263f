# SPDX-License-Identifier: MIT
"""Products of computed matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from armnn.layers.matmul import BatchMatMulDescriptor
from armnn.types import DataLayout
from armnn_backend_cl.chains import NO_CHAIN, Chain
from armnn_backend_cl.device import GROUP
from armnn_backend_cl.elements import FLOATING, vector_accessors
from armnn_backend_cl.launches import Argument, In, Launch, Out, Refused
from armnn_backend_cl.layers.convolution import WIDTHS, product, tiling
from armnn_backend_cl.layers.table import lowers, program, require, shape_of
from armnn_backend_cl.views import View, walked

if TYPE_CHECKING:
    from armnn.graph import Layer


@lowers("BatchMatMul")
def batch_mat_mul(layer: Layer, chain: Chain = NO_CHAIN) -> Sequence[Launch]:
    """Multiply the matrices in the last two axes; a constant right one is packed as weights."""
    d = cast("BatchMatMulDescriptor", layer.descriptor)
    require(layer, *FLOATING)
    for name in ("adjoint_x", "adjoint_y"):
        if getattr(d, name):
            raise Refused(f"{name} is True, expected False")
    for name in ("data_layout_x", "data_layout_y"):
        if getattr(d, name) not in (DataLayout.NCHW, DataLayout.NCDHW):
            raise Refused(f"{name} is {getattr(d, name).arm_name}, expected matrices in the end")
    weights = layer.constant("other")
    if weights is not None and weights.ndim == 2 and not d.transpose_x:
        return [product(layer, "other", chain, is_transposed=not d.transpose_y)]
    x, y = (View.of(shape_of(info)) for info in layer.input_infos)
    batches = shape_of(layer.output_infos[0])[:-2]
    if d.transpose_x:
        x = x.transposed([*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2])
    if d.transpose_y:
        y = y.transposed([*range(len(y.shape) - 2), len(y.shape) - 1, len(y.shape) - 2])
    rows, depth, columns = x.shape[-2], x.shape[-1], y.shape[-1]
    outer = [View(v.shape[:-2], v.strides[:-2]).broadcast(batches) for v in (x, y)]
    sizes, strides = walked(*outer)
    wide = next(each for each in (*WIDTHS, 1) if each <= max(columns, 1))
    side, tiles = tiling(rows, -(-columns // wide))
    arguments: tuple[Argument, ...] = (
        *chain.arguments,
        In(0),
        In(1),
        Out(0),
        side,
        rows,
        columns,
        depth,
        sizes,
        *strides,
        (*x.strides[-2:], *y.strides[-2:], 0, 0, 0, 0),
    )
    first, second = layer.input_infos
    assert first is not None
    assert second is not None
    source = program(
        vector_accessors(layer.output_infos[0], x=first, y=second),
        chain.text,
        "tile.cl",
        "matmul.cl",
        GROUP=GROUP,
        WIDTH=wide,
        X_BY_COLUMNS=int(d.transpose_x),
        Y_BY_COLUMNS=int(d.transpose_y),
    )
    return [Launch(source, "matmul", arguments, math.prod(batches) * tiles, groups=True)]
