# SPDX-License-Identifier: MIT
"""Layers of several formats' operators, with the operator's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armnn.graph import Value
from armnn.layers import LAYERS
from armnn.parsing.conversion._operation import NotKnownYetError, Operation
from armnn.tensor import Dimension, TensorInfo
from armnn.types import ComparisonOperation, DataType, LogicalBinaryOperation


def add_layer(
    operation: Operation,
    kind: str,
    inputs: Sequence[Value | None],
    /,
    part: str = "",
    output: TensorInfo | DataType | None = None,
    **parameters: Any,
) -> Value:
    """Add a layer of one output.

    The builders of a network do the same; importing those of a family takes as long as thirty of
    its layers.

    Args:
        operation: The operator that the layer is for.
        kind: Its type.
        inputs: One value per input slot.
        part: What it is for, if it is not the operator's last one.
        output: What the output must be, if anything.
        parameters: Those of its descriptor.
    """
    descriptor = LAYERS[kind].descriptor(**parameters)
    name = operation.layer_name(part)
    return operation.network.add(kind, inputs, descriptor, name=name, outputs=[output]).output


def cast(operation: Operation, value: Value, data_type: DataType, part: str = "") -> Value:
    """Add a Cast layer, unless the value has that type."""
    if value.info.data_type is data_type:
        return value
    return add_layer(operation, "Cast", [value], part, data_type)


def compare(
    operation: Operation, relation: ComparisonOperation, first: Value, second: Value, part: str = ""
) -> Value:
    """Add a Comparison layer."""
    return add_layer(operation, "Comparison", [first, second], part, operation=relation)


def logical(operation: Operation, function: LogicalBinaryOperation) -> Value:
    """Add a LogicalBinary layer of the first two inputs."""
    return operation.network.add_logical_binary(
        operation.input(0), operation.input(1), operation=function, name=operation.layer_name()
    )


def reshape(operation: Operation, value: Value, shape: Sequence[int], part: str = "") -> Value:
    """Reshape to known dimensions; -1 is what is left."""
    return add_layer(operation, "Reshape", [value], part, target_shape=tuple(shape))


def transpose(operation: Operation, value: Value, order: Sequence[int], part: str = "") -> Value:
    """Permute axes: axis i of the result is axis ``order[i]``."""
    return add_layer(operation, "Transpose", [value], part, dim_mappings=tuple(order))


def shape_vector(operation: Operation, value: Value, part: str = "shape") -> Value:
    """Return a value's dimensions as a list of 64-bit integers."""
    return add_layer(operation, "Shape", [value], part, DataType.SIGNED64)


def static_shape(value: Value, what: str = "") -> tuple[int, ...]:
    """Return a shape all of whose dimensions must be known.

    Args:
        value: The value.
        what: How the error names it; by default by its name.

    Raises:
        NotKnownYetError: A dimension is not known.
    """
    if not value.info.is_static:
        raise NotKnownYetError(f"the shape of {what or repr(value.name)} is not known")
    return value.info.static_shape


def reshape_target(dims: Sequence[Dimension]) -> list[int] | None:
    """Return a Reshape's target, None with several unknown dimensions."""
    unknown = sum(not isinstance(dim, int) for dim in dims)
    if unknown > 1 or (unknown and 0 in dims):
        return None
    return [dim if isinstance(dim, int) else -1 for dim in dims]


def same_padding(size: Dimension, window: int, stride: int, dilation: int, name: str) -> int:
    """Return an axis' padding that makes ceil(size / stride) windows.

    It is the sum of both sides.

    Args:
        size: The size of the axis.
        window: The size of the window along it.
        stride: The distance from one window to the next.
        dilation: The distance from one element that the window reads to the next.
        name: What the format calls this padding.

    Raises:
        NotKnownYetError: The padding depends on the size, which is not known.
    """
    reach = dilation * (window - 1) + 1
    if stride == 1:
        return reach - 1
    if not isinstance(size, int):
        raise NotKnownYetError(
            f"{name} with a stride of {stride} needs the size of the input, which is not known"
        )
    return max((-(-size // stride) - 1) * stride + reach - size, 0)
