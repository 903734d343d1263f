# SPDX-License-Identifier: MIT
"""A node checked against its schema; its attributes by type."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from armnn.errors import ParseError
from armnn_parser_onnx.standard.schema import Schema
from armnn_parser_onnx.wire import messages
from armnn_parser_onnx.wire.kinds import FIELDS, KIND_NAMES
from armnn_parser_onnx.wire.messages import Tensor


class Node:
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
            ParseError: It is none of ``allowed``.
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
        field = FIELDS.get(attribute.type)
        return attribute if field is None else getattr(attribute, field)


def describe_node(op_type: str, name: str, outputs: tuple[str, ...]) -> str:
    """Return a node's name for messages.

    It is its name, else its first output.
    """
    named = f"node {name!r}" if name else f"node of the output {outputs[0] if outputs else ''!r}"
    return f"{named} ({op_type})"
