# SPDX-License-Identifier: MIT
"""Tensors of and from shapes: Shape, Size, ConstantOfShape and Range."""

from __future__ import annotations

import math

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError, add_layer, shape_vector
from armnn.types import DataType, ReduceOperation
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.tensors import to_array

_LONGEST_RANGE = 2**24


@operator("Shape", moves_data=True)
def shape(operation: Operation) -> Value:
    """Add Shape, and from opset 15 on its Slice."""
    value = operation.input()
    start, end = operation.integer("start", 0), operation.integer("end", 2**63 - 1)
    rank = value.info.rank
    if (start, end) == (0, 2**63 - 1):
        return shape_vector(operation, value, "")
    if rank is None:
        raise NotKnownYetError(f"the rank of {value.name!r} is not known")
    first, last, _ = slice(start, end).indices(rank)
    dims = shape_vector(operation, value, "shape")
    return add_layer(operation, "Slice", [dims], begin=(first,), size=(max(last - first, 0),))


@operator("Size", moves_data=True)
def size(operation: Operation) -> Value:
    """Add the product of the dimensions."""
    dims = shape_vector(operation, operation.input(), "shape")
    return operation.network.add_reduce(
        dims,
        axis=(0,),
        keep_dims=False,
        reduce_operation=ReduceOperation.PROD,
        name=operation.layer_name(),
    )


@operator("ConstantOfShape")
def constant_of_shape(operation: Operation) -> Value:
    """Add Fill."""
    tensor = operation.tensor("value")
    number: int | float = 0.0
    data_type = DataType.FLOAT32
    if tensor is not None:
        data = to_array(tensor, operation.graph.external_data)
        if data.size != 1:
            raise operation.error(f"the attribute 'value' has {data.size} elements, expected one")
        data_type = DataType.from_numpy(data.dtype)
        element = data.reshape(-1)[0]
        number = float(element) if data_type.is_float else int(element)
    return add_layer(operation, "Fill", [operation.dimensions(0)], output=data_type, value=number)


@operator("Range")
def arange(operation: Operation) -> Value:
    """Add a constant, or Range where a number is computed."""
    if any(operation.constant(index) is None for index in range(3)):
        return operation.network.add_range(
            operation.input(),
            operation.input(1),
            operation.input(2),
            name=operation.layer_name(),
        )
    start, limit, delta = (operation.known(index).reshape(-1) for index in range(3))
    if not start.size == limit.size == delta.size == 1:
        raise operation.error("start, limit and delta must have one element each")
    if delta[0] == 0 or not np.isfinite([float(start[0]), float(limit[0]), float(delta[0])]).all():
        raise operation.error("start, limit and delta must be finite and delta not 0")
    if start.dtype.kind == "i":
        count = -((int(start[0]) - int(limit[0])) // int(delta[0]))
    else:
        count = math.ceil((float(limit[0]) - float(start[0])) / float(delta[0]))
    if count > _LONGEST_RANGE:
        raise RefusedError(
            f"its {count} elements are more than the {_LONGEST_RANGE} that are allowed"
        )
    data = start[0] + np.arange(max(count, 0)).astype(start.dtype) * delta[0]
    return operation.network.add_constant(data.astype(start.dtype), name=operation.layer_name())
