# SPDX-License-Identifier: MIT
"""Elements chosen by position: Slice, Gather, ScatterND, NonZero, ..."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import (
    NotKnownYetError,
    add_layer,
    cast,
    static_shape,
)
from armnn.types import DataType, ScatterNdFunction
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation

_LARGEST = 2**31 - 1


@operator("Gather", moves_data=True)
def gather(operation: Operation) -> Value:
    """Add Gather."""
    axis = operation.axis(operation.integer("axis"), len(operation.shape()))
    return add_layer(operation, "Gather", [operation.input(), operation.input(1)], axis=axis)


@operator("GatherND", moves_data=True)
def gather_nd(operation: Operation) -> Value:
    """Add GatherNd."""
    indices = operation.input(1)
    batch = operation.integer("batch_dims", 0)
    if batch != 0:
        indices = _with_batch(operation, batch)
    return operation.network.add_gather_nd(operation.input(), indices, name=operation.layer_name())


def _with_batch(operation: Operation, batch: int) -> Value:
    """Return indices preceded by their place in the batch."""
    indices = operation.input(1)
    shape, data = static_shape(indices), operation.shape()
    if not 0 <= batch < min(len(shape), len(data)):
        raise operation.error(
            f"the attribute 'batch_dims' is {batch}: expected less than the ranks {len(data)} and "
            f"{len(shape)} of the inputs"
        )
    grid = np.moveaxis(np.indices(shape[:batch]), 0, -1)
    places = grid.reshape(*shape[:batch], *(1,) * (len(shape) - 1 - batch), batch)
    places = np.broadcast_to(places, (*shape[:-1], batch))
    constant = operation.number(places, indices, "batch")
    return operation.network.add_concat(
        [constant, indices], axis=len(shape) - 1, name=operation.layer_name("indices")
    )


REDUCTIONS = {
    "none": ScatterNdFunction.UPDATE,
    "add": ScatterNdFunction.ADD,
    "mul": ScatterNdFunction.MUL,
    "max": ScatterNdFunction.MAX,
    "min": ScatterNdFunction.MIN,
}
"""How an update is combined with the element that is there, by ONNX's name."""


@operator("ScatterND")
def scatter_nd(operation: Operation) -> Value:
    """Add ScatterNd."""
    function = REDUCTIONS[operation.text("reduction", REDUCTIONS, "none")]
    return operation.network.add_scatter_nd(
        operation.input(),
        operation.input(1),
        operation.input(2),
        function=function,
        name=operation.layer_name(),
    )


@operator("TensorScatter")
def tensor_scatter(operation: Operation) -> Value:
    """Add TensorScatter."""
    mode = operation.text("mode", ("linear", "circular"))
    return operation.network.add_tensor_scatter(
        operation.input(),
        operation.input(1),
        operation.optional_input(2),
        axis=operation.axis(operation.integer("axis"), len(operation.shape())),
        circular=mode == "circular",
        name=operation.layer_name(),
    )


@operator("NonZero")
def non_zero(operation: Operation) -> Value:
    """Add NonZero."""
    return operation.network.add_non_zero(operation.input(), name=operation.layer_name())


@operator("Slice", moves_data=True)
def slice_by_attributes(operation: Operation) -> Value:
    """Slice by attributes, without steps."""
    starts, ends = operation.integers("starts") or (), operation.integers("ends") or ()
    axes = operation.integers("axes")
    count = len(starts)
    return _slice(operation, starts, ends, range(count) if axes is None else axes, (1,) * count)


@operator("Slice", since=10, moves_data=True)
def slice_by_inputs(operation: Operation) -> Value:
    """Slice by inputs; starts and ends may be computed."""
    axes, steps = operation.known_integers(3), operation.known_integers(4)
    starts, ends = operation.dimensions(1), operation.dimensions(2)
    if starts.constant is not None and ends.constant is not None:
        begin, end = operation.known_integers(1) or (), operation.known_integers(2) or ()
        order = range(len(begin)) if axes is None else axes
        return _slice(operation, begin, end, order, (1,) * len(begin) if steps is None else steps)
    count = starts.info.shape[0] if starts.info.shape else None
    if not isinstance(count, int) or ends.info.shape not in ((count,), (None,)):
        raise NotKnownYetError("its starts and ends are computed and their number is not known")
    order = range(count) if axes is None else axes
    steps = (1,) * count if steps is None else steps
    return _slice_computed(operation, starts, ends, _checked_axes(operation, order), steps)


def _checked_axes(operation: Operation, axes: Sequence[int]) -> tuple[int, ...]:
    """Return the node's axes in order, counted from the front."""
    rank = len(operation.shape())
    operation.axes(axes, rank)
    return tuple(operation.axis(axis, rank) for axis in axes)


def _slice(
    operation: Operation,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int],
) -> Value:
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise operation.error(
            f"got {len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} "
            "steps: expected as many of each"
        )
    rank = len(operation.shape())
    begin, end, stride, whole = [0] * rank, [0] * rank, [1] * rank, [True] * rank
    end_mask = 0
    for axis, first, last, step in zip(
        _checked_axes(operation, axes), starts, ends, steps, strict=True
    ):
        whole[axis] = False
        begin[axis], end[axis], stride[axis] = (_clamped(n) for n in (first, last, step))
        if (step > 0 and end[axis] == _LARGEST) or (step < 0 and end[axis] == -_LARGEST):
            end[axis], end_mask = 0, end_mask | 1 << axis
    mask = _bits(whole)
    return add_layer(
        operation,
        "StridedSlice",
        [operation.input()],
        begin=begin,
        end=end,
        stride=stride,
        begin_mask=mask,
        end_mask=mask | end_mask,
    )


def _clamped(number: int) -> int:
    """Clamp an index.

    Exporters write "to the end" as the largest number of 32 or 64 bits, or near it.
    """
    return min(max(number, -_LARGEST), _LARGEST)


def _bits(flags: Sequence[bool]) -> int:
    return sum(1 << index for index, flag in enumerate(flags) if flag)


def _slice_computed(
    operation: Operation, starts: Value, ends: Value, axes: tuple[int, ...], steps: Sequence[int]
) -> Value:
    rank = len(operation.shape())
    if len(steps) != len(axes):
        raise operation.error(f"got {len(steps)} steps for {len(axes)} axes: expected as many")
    stride = [1] * rank
    for axis, step in zip(axes, steps, strict=True):
        stride[axis] = _clamped(step)
    mask = _bits([axis not in axes for axis in range(rank)])
    inputs = [
        operation.input(),
        _for_all_axes(operation, starts, axes, rank, "starts"),
        _for_all_axes(operation, ends, axes, rank, "ends"),
    ]
    return add_layer(
        operation, "StridedSlice", inputs, stride=stride, begin_mask=mask, end_mask=mask
    )


def _for_all_axes(
    operation: Operation, numbers: Value, axes: tuple[int, ...], rank: int, part: str
) -> Value:
    """Return one number per axis, 0 for axes not sliced."""
    numbers = cast(operation, numbers, DataType.SIGNED64, part)
    if axes == tuple(range(rank)):
        return numbers
    zero = operation.integers_constant([0], f"{part}_zero")
    with_zero = add_layer(operation, "Concat", [numbers, zero], f"{part}_and_zero", axis=0)
    places = [axes.index(axis) if axis in axes else len(axes) for axis in range(rank)]
    order = operation.integers_constant(places, f"{part}_places")
    return add_layer(operation, "Gather", [with_zero, order], f"{part}_by_axis", axis=0)
