# SPDX-License-Identifier: MIT
"""Reshapes by groups of axes, also with unknown dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from armnn.graph import Value
from armnn.parsing.conversion import add_layer, reshape, reshape_target, shape_vector
from armnn.tensor import Dimension
from armnn.types import ReduceOperation
from armnn_parser_onnx.operation import Operation


def reshape_like(operation: Operation, value: Value, like: Value) -> Value:
    """Reshape a value like another of as many elements."""
    shape = operation.shape_of(like)
    target = None if 0 in shape else reshape_target(shape)
    if target is not None:
        return reshape(operation, value, target)
    return add_layer(operation, "Reshape", [value, shape_vector(operation, like)])


def reshape_to_groups(
    operation: Operation, value: Value, groups: Sequence[Sequence[int]], part: str = ""
) -> Value:
    """Merge, drop and insert axes.

    Args:
        operation: The node that the layer is for.
        value: The value to reshape.
        groups: For each axis of the result the axes of ``value`` that it is the product of, in
            their order; an empty list makes an axis of one element.
        part: The purpose of the layer, if it is not the node's last one.
    """
    shape = operation.shape_of(value)
    dims = [_product([shape[axis] for axis in group]) for group in groups]
    if None not in dims:
        known = [dim for dim in dims if dim is not None]
        if value.constant is not None and not value.info.is_quantized:
            data = value.constant.reshape(known)  # at once: some models have one per channel scale
            return operation.network.add_constant(data, name=operation.layer_name(part))
        return reshape(operation, value, known, part)
    # An unknown axis that keeps its place is copied (0), one other is what is left (-1).
    copied = [list(group) == [axis] for axis, group in enumerate(groups)]
    left = sum(dim is None and not stays for dim, stays in zip(dims, copied, strict=True))
    if left > 1 or 0 in dims:
        shape_of_groups = _computed_shape(operation, value, groups)
        return add_layer(operation, "Reshape", [value, shape_of_groups], part)
    target = [
        dim if dim is not None else 0 if stays else -1
        for dim, stays in zip(dims, copied, strict=True)
    ]
    return add_layer(operation, "Reshape", [value], part, target_shape=target, zero_copies=True)


def _product(dims: Sequence[Dimension]) -> int | None:
    """Return the product of the dimensions, None if unknown."""
    known = [dim for dim in dims if isinstance(dim, int)]
    return math.prod(known) if len(known) == len(dims) or 0 in known else None


def _computed_shape(operation: Operation, value: Value, groups: Sequence[Sequence[int]]) -> Value:
    shape = shape_vector(operation, value)
    dims = []
    for group in groups:
        if not group:
            dims.append(operation.integers_constant([1], "one"))
            continue
        axes = operation.integers_constant(group, "axes")
        dim = add_layer(operation, "Gather", [shape, axes], "dimensions", axis=0)
        if len(group) > 1:
            dim = add_layer(
                operation,
                "Reduce",
                [dim],
                "product",
                axis=(0,),
                keep_dims=True,
                reduce_operation=ReduceOperation.PROD,
            )
        dims.append(dim)
    return add_layer(operation, "Concat", dims, "new_shape", axis=0)


def with_spatial_axes(operation: Operation, value: Value, count: int) -> Value:
    """Insert axes of one element after [N, C].

    ``count`` axes follow these two then.
    """
    rank = len(operation.shape_of(value))
    inserted: list[list[int]] = [[] for _ in range(count + 2 - rank)]
    groups = [[0], [1], *inserted, *([axis] for axis in range(2, rank))]
    return reshape_to_groups(operation, value, groups, "as_image")


def without_spatial_axes(operation: Operation, value: Value, rank: int) -> Value:
    """Drop axes after [N, C], undoing :func:`with_spatial_axes`.

    ``rank`` axes are left.
    """
    now = len(operation.shape_of(value))
    groups = [[0], [1], *([axis] for axis in range(2 + now - rank, now))]
    return reshape_to_groups(operation, value, groups)
