# SPDX-License-Identifier: MIT
"""Layers that drop and insert axes, also of unknown dimensions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from armnn.graph import Value
from armnn.parsing.conversion import reshape, reshape_target, shape_vector
from armnn.tensor import Dimension
from armnn_parser_tflite.operation import Operation


def without_axes(
    operation: Operation, value: Value, axes: Collection[int], part: str = ""
) -> Value:
    """Drop axes of one element."""
    shape = operation.shape_of(value)
    target = reshape_target([dim for axis, dim in enumerate(shape) if axis not in axes])
    if target is not None:
        return reshape(operation, value, target, part)
    rank = len(shape)
    kept = _bits([axis not in axes for axis in range(rank)])
    return operation.network.add_strided_slice(
        value,
        begin=(0,) * rank,
        end=(1,) * rank,
        stride=(1,) * rank,
        begin_mask=kept,
        end_mask=kept,
        shrink_axis_mask=_bits([axis in axes for axis in range(rank)]),
        name=operation.layer_name(part),
    )


def with_axis(operation: Operation, value: Value, axis: int, part: str = "") -> Value:
    """Insert an axis of one element."""
    shape = operation.shape_of(value)
    target = reshape_target([*shape[:axis], 1, *shape[axis:]])
    if target is not None:
        return reshape(operation, value, target, part)
    rank = len(shape) + 1
    whole = _bits([True] * rank)
    return operation.network.add_strided_slice(
        value,
        begin=(0,) * rank,
        end=(0,) * rank,
        stride=(1,) * rank,
        begin_mask=whole,
        end_mask=whole,
        new_axis_mask=1 << axis,
        name=operation.layer_name(part),
    )


def with_last_axis(
    operation: Operation, value: Value, like: Value, size: Dimension, part: str = ""
) -> Value:
    """Reshape a matrix like another value, except the last axis."""
    shape = operation.shape_of(like)
    target = reshape_target([*shape[:-1], size])
    if target is not None:
        return reshape(operation, value, target, part)
    front = operation.network.add_slice(
        shape_vector(operation, like, "input_shape"),
        begin=(0,),
        size=(len(shape) - 1,),
        name=operation.layer_name("front_shape"),
    )
    last = operation.integers_constant([-1], "last_size")
    new_shape = operation.network.add_concat(
        [front, last], axis=0, name=operation.layer_name("new_shape")
    )
    return operation.network.add_reshape(value, new_shape, name=operation.layer_name(part))


def _bits(flags: Sequence[bool]) -> int:
    return sum(1 << index for index, flag in enumerate(flags) if flag)
