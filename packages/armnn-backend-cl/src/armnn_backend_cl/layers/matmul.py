# SPDX-License-Identifier: MIT
"""Products of computed matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from armnn.layers.matmul import BatchMatMulDescriptor
from armnn.types import DataLayout
from armnn_backend_cl.chains import NO_CHAIN, Chain
from armnn_backend_cl.elements import FLOATING, vector_accessors
from armnn_backend_cl.launches import Argument, In, Launch, Out, Refused, Tile, Tiling
from armnn_backend_cl.layers.convolution import (
    WIDTHS,
    count_of_groups,
    default_tile,
    macros_of,
    product,
)
from armnn_backend_cl.layers.table import lowers, program, require, shape_of
from armnn_backend_cl.views import View, walked

if TYPE_CHECKING:
    from armnn.graph import Layer


@lowers("BatchMatMul")
def batch_mat_mul(layer: Layer, chain: Chain = NO_CHAIN) -> Sequence[Launch]:
    """Multiply the matrices in the last two axes; a constant right one is packed as weights."""
    d = cast("BatchMatMulDescriptor", layer.descriptor)
    require(layer, *FLOATING)
    x, y, *walk = matrices_of(layer)
    weights = layer.constant("other")
    if weights is not None and weights.ndim == 2 and not d.transpose_x:
        return [product(layer, "other", chain, is_transposed=not d.transpose_y)]
    rows, depth, columns = x.shape[-2], x.shape[-1], y.shape[-1]
    batches = shape_of(layer.output_infos[0])[:-2]
    first, second = layer.input_infos
    assert first is not None
    assert second is not None
    text = vector_accessors(layer.output_infos[0], x=first, y=second) + chain.text
    steps = (*x.strides[-2:], *y.strides[-2:], 0, 0, 0, 0)
    by_columns = {"X_BY_COLUMNS": int(d.transpose_x), "Y_BY_COLUMNS": int(d.transpose_y)}
    widest = next(each for each in (*WIDTHS, 1) if each <= max(columns, 1))

    def launch(tile: Tile) -> Launch:
        """Return the launch; it must not keep the layer, nor may this function."""
        panels = -(-columns // tile.width)
        arguments: tuple[Argument, ...] = (
            *chain.arguments,
            In(0),
            In(1),
            Out(0),
            tile.side,
            rows,
            columns,
            depth,
            *walk,
            steps,
        )
        source = program(text, "tile.cl", "matmul.cl", **macros_of(tile), **by_columns)
        count = math.prod(batches) * count_of_groups(rows, panels, tile)
        tiling = Tiling(tile, panels, widest, launch)
        return Launch(source, "matmul", arguments, count, groups=True, tiling=tiling)

    return [launch(default_tile(widest, -(-columns // widest)))]


def matrices_of(layer: Layer) -> tuple[View, View, Sequence[int], Sequence[int], Sequence[int]]:
    """Return where the matrices of a product are.

    Returns:
        Both inputs, transposed as the layer says; sizes of a walk over the matrices of the result,
        and its strides in either input.

    Raises:
        Refused: They are not in the last two axes, or adjoint.
    """
    d = cast("BatchMatMulDescriptor", layer.descriptor)
    for name in ("adjoint_x", "adjoint_y"):
        if getattr(d, name):
            raise Refused(f"{name} is True, expected False")
    for name in ("data_layout_x", "data_layout_y"):
        if getattr(d, name) not in (DataLayout.NCHW, DataLayout.NCDHW):
            raise Refused(f"{name} is {getattr(d, name).arm_name}, expected NCHW or NCDHW")
    x, y = (View.of(shape_of(info)) for info in layer.input_infos)
    batches = shape_of(layer.output_infos[0])[:-2]
    if d.transpose_x:
        x = x.transposed([*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2])
    if d.transpose_y:
        y = y.transposed([*range(len(y.shape) - 2), len(y.shape) - 1, len(y.shape) - 2])
    outer = [View(v.shape[:-2], v.strides[:-2]).broadcast(batches) for v in (x, y)]
    sizes, (of_x, of_y) = walked(*outer)
    return x, y, sizes, of_x, of_y
