# SPDX-License-Identifier: MIT
"""One node in conversion: checked against its schema, with its inputs, attributes and refusals."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from numpy.typing import NDArray

from armnn.errors import ParseError
from armnn.graph import Value
from armnn.parsing.conversion import Operation as ConvertedOperation
from armnn.tensor import MAX_RANK, Shape, format_shape
from armnn.types import DataType
from armnn_parser_onnx import messages
from armnn_parser_onnx.body import Body, describe_node
from armnn_parser_onnx.graph import Graph
from armnn_parser_onnx.messages import ATTRIBUTE_FIELDS, KIND_NAMES, Tensor
from armnn_parser_onnx.schemas import Schema


class CheckedNode:
    """One node, with counts and attributes that fit the schema.

    Attributes:
        op_type: The operator.
        inputs: The names of what it reads, "" for an optional input that is absent.
        outputs: The names of what it makes, "" for an optional output that is absent.
        schema: The operator's schema at the model's opset.

    Raises:
        ParseError: The node does not agree with the schema.
    """

    def __init__(self, proto: messages.Node, schema: Schema) -> None:
        self.op_type = proto.op_type
        self.name = proto.name
        self.inputs = tuple(proto.input)
        self.outputs = tuple(proto.output)
        self.schema = schema
        self._attributes: dict[str, Any] = {}
        self._check_counts()
        for attribute in proto.attribute:
            self._attributes[attribute.name] = self._checked(attribute)
        for name, declared in schema.attributes.items():
            if declared.required and name not in self._attributes:
                raise self.error(f"the attribute {name!r} is missing")

    def __str__(self) -> str:
        return describe_node(self.op_type, self.name, self.outputs)

    def error(self, message: str) -> ParseError:
        """Return the error to raise for a malformed node."""
        return ParseError(f"{self}: {message}")

    def has(self, name: str) -> bool:
        """Return whether the node itself has an attribute."""
        return name in self._attributes

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer attribute, else the schema's default or ``default``."""
        return int(self._value(name, default))

    def real(self, name: str, default: float | None = None) -> float:
        """Return a float attribute, else the schema's default or ``default``."""
        return float(self._value(name, default))

    def flag(self, name: str, default: bool = False) -> bool:
        """Return an integer attribute that may be 0 or 1.

        Raises:
            ParseError: It is neither.
        """
        value = self.integer(name, int(default))
        if value not in (0, 1):
            raise self.error(f"the attribute {name!r} is {value}: expected 0 or 1")
        return value == 1

    def text(self, name: str, allowed: Collection[str], default: str | None = None) -> str:
        """Return a string attribute.

        Raises:
            ParseError: It is not one of ``allowed``.
        """
        value = self._value(name, default)
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if text not in allowed:
            raise self.error(
                f"the attribute {name!r} is {text!r}: expected one of {', '.join(sorted(allowed))}"
            )
        return str(text)

    def any_text(self, name: str) -> str:
        """Return a string attribute of any text, "" without it."""
        value = self._value(name, b"")
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return a list of integers, None without the attribute."""
        value = self._attributes.get(name)
        return None if value is None else tuple(value)

    def reals(self, name: str) -> tuple[float, ...] | None:
        """Return a list of floats, None without the attribute."""
        value = self._attributes.get(name)
        return None if value is None else tuple(value)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of strings, None without the attribute."""
        value = self._attributes.get(name)
        return None if value is None else tuple(text.decode("utf-8", "replace") for text in value)

    def tensor(self, name: str) -> Tensor | None:
        """Return a tensor, None without the attribute."""
        value = self._attributes.get(name)
        return value if isinstance(value, Tensor) else None

    def _value(self, name: str, default: Any) -> Any:
        if name in self._attributes:
            return self._attributes[name]
        declared = self.schema.attributes.get(name)
        return default if declared is None or declared.default is None else declared.default

    def _check_counts(self) -> None:
        counts = self.schema.counts
        if not counts[0] <= len(self.inputs) <= counts[1]:
            raise self._wrong_count(len(self.inputs), *counts[:2], "inputs")
        if not counts[2] <= len(self.outputs) <= counts[3]:
            raise self._wrong_count(len(self.outputs), *counts[2:], "outputs")

    def _wrong_count(self, count: int, least: int, most: int, what: str) -> ParseError:
        expected = f"{least}" if least == most else f"{least} to {most}"
        return self.error(f"got {count} {what}, expected {expected}")

    def _checked(self, attribute: messages.Attribute) -> Any:
        declared = self.schema.attributes.get(attribute.name)
        if declared is None:
            raise self.error(f"the operator has no attribute {attribute.name!r}")
        if attribute.name in self._attributes or attribute.ref_attr_name:
            raise self.error(
                f"the attribute {attribute.name!r} is there twice or refers to another one"
            )
        if attribute.type != declared.type:
            kinds = [KIND_NAMES[kind] for kind in (attribute.type, declared.type)]
            raise self.error(
                f"the attribute {attribute.name!r} is of type {kinds[0]}: expected {kinds[1]}"
            )
        # Graphs and sparse tensors are kept as they are: no converter reads them.
        field = ATTRIBUTE_FIELDS.get(attribute.type)
        return attribute if field is None else getattr(attribute, field)


class Operation(CheckedNode, ConvertedOperation):
    """A node with its values.

    Attributes:
        graph: The values by name.
        network: The network that the converter adds layers to.
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
            ParseError: There is no such input, or one is absent.
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
            ParseError: The attribute has no graph.
        """
        output = next((made for made in self.outputs if made), "")
        if (output, name) not in self.graph.bodies:
            raise self.error(f"the attribute {name!r} has no graph")
        return self.graph.bodies[output, name]
