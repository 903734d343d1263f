# SPDX-License-Identifier: MIT
"""One node in conversion: its inputs, attributes and refusals."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import Operation as ConvertedOperation
from armnn.tensor import MAX_RANK, Shape, format_shape
from armnn.types import DataType
from armnn_parser_onnx.body import Body
from armnn_parser_onnx.graph import Graph
from armnn_parser_onnx.node import Node
from armnn_parser_onnx.standard.schema import Schema
from armnn_parser_onnx.wire import messages


class Operation(Node, ConvertedOperation):
    """A node with its values.

    Attributes:
        graph: The values by name.
        network: What the converter adds layers to.
        opset: The version of ONNX's operators.
    """

    def __init__(self, proto: messages.Node, schema: Schema, graph: Graph, opset: int) -> None:
        super().__init__(proto, schema)
        self.graph = graph
        self.opset = opset
        self.network = graph.network

    def has_input(self, index: int) -> bool:
        """Return whether an optional input is present."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def input(self, index: int = 0) -> Value:
        """Return an input.

        Raises:
            ParseError: It is absent.
        """
        return self.graph.value(self._name(index))

    def _name(self, index: int) -> str:
        names = self.inputs
        if index >= len(names) or not names[index]:
            slot = self.schema.inputs[min(index, len(self.schema.inputs) - 1)]
            raise self.error(f"the input {slot.name!r} is missing")
        return names[index]

    def input_name(self, index: int) -> str:
        """Return how messages name an input: as its schema does."""
        return repr(self.schema.inputs[index].name)

    def values(self) -> list[Value]:
        """Return all inputs of a variadic operator.

        Raises:
            ParseError: There is none, or one is absent.
        """
        if not self.inputs or not all(self.inputs):
            raise self.error("an input is missing")
        return [self.graph.value(name) for name in self.inputs]

    def constant(self, index: int) -> NDArray[Any] | None:
        """Return an input's data, None if absent or computed."""
        return self.graph.constant(self.inputs[index]) if self.has_input(index) else None

    def known(self, index: int) -> NDArray[Any]:
        """Return the data of a constant input.

        Raises:
            NotKnownYetError: It is computed.
        """
        data = self.constant(index)
        return super().known(index) if data is None else data

    def shape(self, index: int = 0) -> Shape:
        """Return the shape of an input without making a layer.

        Raises:
            NotKnownYetError: Not even its rank is known.
        """
        shape = self.graph.shape_of(self._name(index))
        return super().shape(index) if shape is None else shape

    def data_type(self, index: int) -> DataType:
        """Return an input's data type without making a layer.

        Raises:
            ParseError: It is absent.
        """
        return self.graph.data_type_of(self._name(index))

    def only(self, index: int, data: NDArray[Any]) -> Any:
        """Return the only element of the data of an input.

        Raises:
            ParseError: It has another number of elements.
        """
        if data.size != 1:
            raise self.error(
                f"the input {self.input_name(index)} has {data.size} elements: expected one"
            )
        return data.reshape(-1)[0]

    def known_integers(self, index: int) -> tuple[int, ...] | None:
        """Return a constant list of integers, None if absent.

        Raises:
            NotKnownYetError: It is computed.
        """
        if not self.has_input(index):
            return None
        return tuple(int(number) for number in self.known(index).reshape(-1))

    def dimensions(self, index: int) -> Value:
        """Return an input with one number per axis, perhaps computed.

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

    @property
    def stem(self) -> str:
        """The base of the layers' names: the node's, or output's.

        It is the name of the node, else of its first output.
        """
        return self.name or next((name for name in self.outputs if name), self.op_type)

    def layer_name(self, part: str = "") -> str:
        """Return a free layer name; ``part`` marks the node's helpers."""
        return self.graph.unique_name(f"{self.stem}/{part}" if part else self.stem)

    def body(self, name: str) -> Body:
        """Return the graph in an attribute.

        Raises:
            ParseError: There is none.
        """
        output = next((made for made in self.outputs if made), "")
        if (output, name) not in self.graph.bodies:
            raise self.error(f"the attribute {name!r} has no graph")
        return self.graph.bodies[output, name]
