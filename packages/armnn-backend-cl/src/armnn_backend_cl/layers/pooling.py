# SPDX-License-Identifier: MIT
"""Pooling over two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from armnn.layers.pooling import Pooling2dDescriptor
from armnn.types import DataLayout, PaddingMethod, PoolingAlgorithm
from armnn_backend_cl.elements import (
    FLOATING,
    NUMBERS,
    REALS,
    Elements,
    accessors,
    elements_of,
    vectors,
)
from armnn_backend_cl.launches import In, Launch, Out
from armnn_backend_cl.layers.reduction import lowest
from armnn_backend_cl.layers.table import lowers, program, require_alike, shape_of
from armnn_backend_cl.views import View

if TYPE_CHECKING:
    from armnn.graph import Layer
    from armnn.tensor import TensorInfo

_CHANNELS: Final = 8
"""Channels that a work item makes where they lie behind each other."""

_MACROS: Final = {
    PoolingAlgorithm.MAX: "MAXIMUM",
    PoolingAlgorithm.AVERAGE: "AVERAGE",
    PoolingAlgorithm.L2: "L2",
}


@lowers("Pooling2d")
def pooling2d(layer: Layer) -> Sequence[Launch]:
    """Pool both axes at once, in either layout."""
    d = cast("Pooling2dDescriptor", layer.descriptor)
    is_max = d.pool_type is PoolingAlgorithm.MAX
    require_alike(layer, NUMBERS if is_max else REALS)
    macros = {"LOWEST": lowest(layer.output_infos[0].data_type)} if is_max else {}
    given, made = elements_of(layer.input_infos[0]), elements_of(layer.output_infos[0])
    return pooled(layer, given, made, **macros)


def pooled(layer: Layer, given: Elements, made: Elements, **macros: str) -> Sequence[Launch]:
    """Return the launch of a pooling layer.

    Args:
        layer: The layer.
        given: How its input is read.
        made: How its output is written.
        macros: Others of ``pool.cl``.
    """
    d = cast("Pooling2dDescriptor", layer.descriptor)
    x, y = (
        pixels(shape_of(info), d.data_layout) for info in (*layer.input_infos, *layer.output_infos)
    )
    _, height, width, _ = x.shape
    batch, out_height, out_width, channels = y.shape
    (top, bottom), (left, right) = d.padding
    rows, columns = (size or whole for size, whole in zip(d.window, (height, width), strict=True))
    strides = [max(stride, 1) for stride in d.strides]
    window = (rows, columns, *strides, *d.dilations, top, left)
    counts = d.padding_method is PaddingMethod.IGNORE_VALUE
    sizes = (
        channels, out_width, out_height, height, width, height + bottom, width + right, int(counts)
    )  # fmt: skip
    is_floating = all(
        info is not None and info.data_type in FLOATING
        for info in (*layer.input_infos, *layer.output_infos)
    )
    wide = (
        _CHANNELS
        if is_floating and channels >= _CHANNELS and x.strides[3] == y.strides[3] == 1
        else 1
    )
    items = batch * out_height * out_width * -(-channels // wide)
    arguments = (In(0), Out(0), items, sizes, window, (*x.strides[::-1], *y.strides[::-1]))
    reads = "#define READ_X_ALL READ_X\n"
    if wide > 1:
        reads = vectors("x", cast("TensorInfo", layer.input_infos[0]))
    text = accessors(x=given, y=made) + reads
    source = program(text, "pool.cl", WIDTH=wide, **{_MACROS[d.pool_type]: 1}, **macros)
    return [Launch(source, "pool", arguments, items)]


def pixels(shape: Sequence[int], layout: DataLayout) -> View:
    """Return a picture with its channels last."""
    view = View.of(shape)
    return view if layout is DataLayout.NHWC else view.transposed((0, 2, 3, 1))
