# SPDX-License-Identifier: MIT
"""One node while it is converted: what a converter reads and how it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.tensor import MAX_RANK, format_shape
from armnn_parser_onnx.node import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx
    from numpy.typing import ArrayLike, NDArray

    from armnn.graph import Value
    from armnn.tensor import Shape
    from armnn_parser_onnx.body import Body
    from armnn_parser_onnx.graph import Graph


class RefusedError(Exception):
    """A node is well formed, but layers cannot compute it; the message says why."""


class NotKnownYetError(RefusedError):
    """A node cannot be converted before more is known of its inputs.

    Attributes:
        name: The input whose data must be known; None if it is a shape that is missing.
    """

    def __init__(self, message: str, name: str | None = None) -> None:
        super().__init__(message)
        self.name = name


class Operation(Node):
    """A node with its values.

    Attributes:
        graph: The values by name.
        network: What the converter adds layers to.
        opset: The version of ONNX's operators.
    """

    def __init__(
        self, proto: onnx.NodeProto, schema: onnx.defs.OpSchema, graph: Graph, opset: int
    ) -> None:
        super().__init__(proto, schema)
        self.graph = graph
        self.opset = opset
        self.network = graph.network

    def has_input(self, index: int) -> bool:
        """Whether an optional input is there."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def input(self, index: int = 0) -> Value:
        """Return an input.

        Raises:
            ParseError: It is absent.
        """
        if not self.has_input(index):
            slot = self.schema.inputs[min(index, len(self.schema.inputs) - 1)]
            raise self.error(f"the input {slot.name!r} is missing")
        return self.graph.value(self.inputs[index])

    def optional_input(self, index: int) -> Value | None:
        """Return an input, None if it is absent."""
        return self.input(index) if self.has_input(index) else None

    def values(self) -> list[Value]:
        """Return all inputs of an operator that takes any number of them.

        Raises:
            ParseError: There is none, or one is absent.
        """
        if not self.inputs or not all(self.inputs):
            raise self.error("an input is missing")
        return [self.graph.value(name) for name in self.inputs]

    def constant(self, index: int) -> NDArray[Any] | None:
        """Return the data of an input, None if it is absent or computed."""
        value = self.optional_input(index)
        return None if value is None else value.constant

    def known(self, index: int) -> NDArray[Any]:
        """Return the data of an input that must be there and constant.

        Raises:
            NotKnownYetError: It is computed.
        """
        value = self.input(index)
        if value.constant is None:
            raise NotKnownYetError(
                f"its input {self.schema.inputs[index].name!r} is computed, it must be constant",
                self.inputs[index],
            )
        return value.constant

    def known_integers(self, index: int) -> tuple[int, ...] | None:
        """Return the data of a constant list of integers, None if it is absent.

        Raises:
            NotKnownYetError: It is computed.
        """
        if not self.has_input(index):
            return None
        return tuple(int(number) for number in self.known(index).reshape(-1))

    def dimensions(self, index: int) -> Value:
        """Return an input that holds one number per axis of a tensor, computed or not.

        Raises:
            ParseError: It cannot be that.
        """
        value = self.input(index)
        shape = value.info.shape
        length = shape[0] if shape else None
        if shape is not None and (
            len(shape) != 1 or (isinstance(length, int) and length > MAX_RANK)
        ):
            raise self.error(
                f"the input {self.schema.inputs[index].name!r} has shape {format_shape(shape)}: "
                f"expected up to {MAX_RANK} numbers in a list"
            )
        return value

    def shape(self, index: int = 0) -> Shape:
        """Return the shape of an input.

        Raises:
            NotKnownYetError: Not even its rank is known.
        """
        return self.shape_of(self.input(index))

    def shape_of(self, value: Value) -> Shape:
        """Return the shape of a value.

        Raises:
            NotKnownYetError: Not even its rank is known.
        """
        shape = value.info.shape
        if shape is None:
            raise NotKnownYetError(f"the rank of {value.name!r} is not known")
        return shape

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis counted from the front.

        Raises:
            ParseError: A tensor of that rank has no such axis.
        """
        if not -rank <= axis < rank:
            raise self.error(f"the axis {axis} is not an axis of a tensor of rank {rank}")
        return axis % rank

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Return axes counted from the front, in ascending order.

        Raises:
            ParseError: One of them is none, or is there twice.
        """
        counted = sorted(self.axis(axis, rank) for axis in axes)
        if len(set(counted)) != len(counted):
            raise self.error(f"the axes {list(axes)} name an axis twice")
        return tuple(counted)

    @property
    def stem(self) -> str:
        """What its layers are named after: its name, else its first output."""
        return self.name or next((name for name in self.outputs if name), self.op_type)

    def layer_name(self, part: str = "") -> str:
        """Return a free name for a layer: that of the node, with ``part`` for a helper of it."""
        return self.graph.unique_name(f"{self.stem}/{part}" if part else self.stem)

    def number(self, value: ArrayLike, like: Value, part: str) -> Value:
        """Return a constant of the type of ``like``."""
        data = np.asarray(value).astype(like.info.data_type.numpy_dtype)
        return self.network.add_constant(data, name=self.layer_name(part))

    def body(self, name: str) -> Body:
        """Return the graph in an attribute.

        Raises:
            ParseError: There is none.
        """
        output = next((made for made in self.outputs if made), "")
        if (output, name) not in self.graph.bodies:
            raise self.error(f"the attribute {name!r} has no graph")
        return self.graph.bodies[output, name]

    def integers_constant(self, values: Sequence[int], part: str) -> Value:
        """Return a constant list of 64-bit integers."""
        return self.network.add_constant(np.array(values, np.int64), name=self.layer_name(part))
