# SPDX-License-Identifier: MIT
"""Tensors of and from shapes: SHAPE, RANK, FILL, RANGE, ..."""

from __future__ import annotations

import math

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, shape_vector
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation

_LONGEST_RANGE = 2**24


@operator("SHAPE")
def shape(operation: Operation) -> Value:
    """Add Shape."""
    return operation.network.add_shape(
        operation.input(), name=operation.layer_name(), output=operation.info().data_type
    )


@operator("RANK")
def rank(operation: Operation) -> Value:
    """Add Rank."""
    return operation.network.add_rank(
        operation.input(), name=operation.layer_name(), output=operation.info().data_type
    )


@operator("FILL", newest=5)
def fill(operation: Operation) -> Value:
    """Add Fill; a computed value is broadcast instead."""
    number = operation.input(1)
    if number.info.is_quantized or number.constant is None:
        return operation.network.add_broadcast_to(
            number, operation.integers(0), name=operation.layer_name()
        )
    if number.constant.size != 1:
        raise operation.error(f"its value has {number.constant.size} elements: expected one")
    return operation.network.add_fill(
        operation.integers(0),
        value=number.constant.reshape(-1)[0].item(),
        name=operation.layer_name(),
        output=number.info.data_type,
    )


@operator("BROADCAST_ARGS")
def broadcast_args(operation: Operation) -> Value:
    """Add a constant: the shape that two known shapes become."""
    shapes = [operation.known_integers(index) for index in (0, 1)]
    try:
        made = np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise operation.error(f"its shapes {list(map(list, shapes))} do not fit") from error
    data = np.array(made, operation.info().data_type.numpy_dtype)
    return operation.network.add_constant(data, name=operation.layer_name())


@operator("ZEROS_LIKE")
def zeros_like(operation: Operation) -> Value:
    """Add Fill with the shape of the input."""
    return operation.network.add_fill(
        shape_vector(operation, operation.input(), "shape"),
        value=0,
        name=operation.layer_name(),
        output=operation.info().data_type,
    )


@operator("RANGE", newest=2)
def arange(operation: Operation) -> Value:
    """Add a constant, or Range where a number is computed."""
    values = [operation.input(index) for index in range(3)]
    constants = [value.constant for value in values]
    numbers = [constant.reshape(-1) for constant in constants if constant is not None]
    if len(numbers) < 3:
        return operation.network.add_range(*values, name=operation.layer_name())
    if any(number.size != 1 for number in numbers):
        raise operation.error("start, limit and delta must have one element each")
    start, limit, delta = (number[0] for number in numbers)
    if delta == 0 or not np.isfinite([float(number[0]) for number in numbers]).all():
        raise operation.error("start, limit and delta must be finite and delta not 0")
    if start.dtype.kind == "i":
        count = -((int(start) - int(limit)) // int(delta))
    else:
        count = math.ceil((float(limit) - float(start)) / float(delta))
    if count > _LONGEST_RANGE:
        raise RefusedError(
            f"its {count} elements are more than the {_LONGEST_RANGE} that are allowed"
        )
    steps = np.arange(max(count, 0)).astype(start.dtype)
    data = (start + steps * delta).astype(start.dtype)
    return operation.network.add_constant(data, name=operation.layer_name())
