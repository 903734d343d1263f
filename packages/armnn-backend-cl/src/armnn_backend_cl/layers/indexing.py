# SPDX-License-Identifier: MIT
"""Elements read at the places that indices name, and rows written there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from armnn.layers.indexing import GatherDescriptor, TensorScatterDescriptor
from armnn.layers.selecting import GatherElementsDescriptor
from armnn.types import DataType, QuantizedArithmetic
from armnn_backend_cl.elements import INDICES, INTEGERS
from armnn_backend_cl.launches import Argument, Check, In, Launch, Out, Refused, Weights
from armnn_backend_cl.layers.table import (
    launches_of,
    lowers,
    program,
    require,
    shape_of,
    width,
)
from armnn_backend_cl.views import View, walked

if TYPE_CHECKING:
    from armnn.graph import Layer

_MOST_DEPTH = 8
"""Axes that an index of GatherNd names."""

_BEGINNING = Weights((np.zeros(1, np.int32),), "as it is", np.asarray)
"""The position of TensorScatter's rows, where none is given."""


@lowers("Gather")
def gather(layer: Layer) -> Sequence[Launch]:
    """Read the slices along an axis that indices name."""
    d = cast("GatherDescriptor", layer.descriptor)
    shape, indices = (shape_of(info) for info in layer.input_infos)
    axis = d.axis % len(shape)
    sizes = (shape[axis], math.prod(indices), math.prod(shape[axis + 1 :]))
    return _gathered(layer, "gather", sizes, f"outside of axis {axis}", shape[axis : axis + 1])


@lowers("GatherNd")
def gather_nd(layer: Layer) -> Sequence[Launch]:
    """Read the slices that rows of indices name."""
    shape, indices = (shape_of(info) for info in layer.input_infos)
    depth = indices[-1]
    if depth > _MOST_DEPTH:
        raise Refused(f"an index names {depth} axes, expected at most {_MOST_DEPTH}")
    sizes = (*shape[:depth], *[1] * (_MOST_DEPTH - depth))
    rest = math.prod(shape[depth:])
    where = f"outside of {shape[:depth]}"
    return _gathered(layer, "gather_rows", (depth, sizes, rest), where, shape[:depth])


@lowers("GatherElements")
def gather_elements(layer: Layer) -> Sequence[Launch]:
    """Read the element that each index names along an axis."""
    d = cast("GatherElementsDescriptor", layer.descriptor)
    shape, indices = (shape_of(info) for info in layer.input_infos)
    axis = d.axis % len(shape)
    x = View.of(shape)
    strides = (*x.strides[:axis], 0, *x.strides[axis + 1 :])
    sizes, (_, steps) = walked(View.of(indices), View(indices, strides))
    arguments = (shape[axis], x.strides[axis], sizes, steps)
    where = f"outside of axis {axis}"
    return _gathered(layer, "gather_elements", arguments, where, shape[axis : axis + 1])


@lowers("TensorScatter")
def tensor_scatter(layer: Layer) -> Sequence[Launch]:
    """Copy the cache, unless it is the output's memory, and write the new rows.

    A cache that a layer of the host reads stays on the host, as each run would bring all of it
    there.
    """
    require(layer, *INDICES, but=["input", "updates", "output"])
    for reader, _ in layer.output.uses:
        if reader.type != "Output":
            try:
                launches_of(reader, QuantizedArithmetic.REAL)
            except Refused as reason:
                what = f"{reader.type} {reader.name!r}"
                raise Refused(f"{what} reads its output on the host: {reason}") from None
    d = cast("TensorScatterDescriptor", layer.descriptor)
    shape, updates, *_ = (shape_of(info) for info in layer.input_infos if info is not None)
    axis, elements = d.axis % len(shape), math.prod(updates)
    size, count = shape[axis], updates[axis]
    given = layer.input("positions")
    positions: Argument = _BEGINNING if given is None else In(2)
    kind = DataType.SIGNED32 if given is None else given.info.data_type
    source = program("scatter.cl", T=width(layer), I=INTEGERS[kind])
    everything = (In(0), Out(0), math.prod(shape))
    copy = Launch(source, "copy", everything, math.prod(shape), copies_over=True)
    room = f"{count} rows from position {{}} on do not fit into the {size} of axis {axis}"
    check = Check(
        f"layer {layer.name!r} ({layer.type}): {room}: expected a position from 0 to {size - count}"
    )
    sizes = (math.prod(shape[1:axis]), count, size, math.prod(shape[axis + 1 :]))
    ways = (int(given is not None and given.info.num_elements != 1), int(d.circular))
    arguments = (In(1), positions, Out(0), check, elements, *sizes, *ways)
    return [copy, Launch(source, "scatter_rows", arguments, elements)]


def _gathered(
    layer: Layer, kernel: str, arguments: Sequence[Argument], where: str, sizes: Sequence[int]
) -> Sequence[Launch]:
    """Return a launch of ``gather.cl``, which checks indices even if nothing is read.

    Args:
        layer: Its inputs are the elements and the indices.
        kernel: The name of the kernel.
        arguments: Those behind the number of results.
        where: What is wrong with an index.
        sizes: The elements along each axis that a row of indices names.
    """
    require(layer, *INDICES, but=["input", "output"])
    items = math.prod(shape_of(layer.output_infos[0]))
    if items and not math.prod(shape_of(layer.input_infos[0])):
        raise Refused("the input has no elements to read")
    room = ""
    if len(sizes) == 1:
        room = f": expected {-sizes[0]} to {sizes[0] - 1}" if sizes[0] else ": it has no elements"
    indices = layer.input_infos[1]
    assert indices is not None
    check = Check(f"layer {layer.name!r} ({layer.type}): the index {{}} is {where}{room}")
    source = program("gather.cl", T=width(layer), I=INTEGERS[indices.data_type])
    if items:
        return [Launch(source, kernel, (In(0), In(1), Out(0), check, items, *arguments), items)]
    count, depth = indices.num_elements, len(sizes)
    padded = (*sizes, *[1] * (_MOST_DEPTH - depth))
    return [Launch(source, "check_indices", (In(1), check, count, depth, padded), count)]
