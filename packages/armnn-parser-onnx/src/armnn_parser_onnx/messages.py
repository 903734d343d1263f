# SPDX-License-Identifier: MIT
"""ONNX's messages: declared with each field's number, made from values of Python, and encoded.

Source: onnx-ml.proto. Training, the placement on devices, and what is in the types of maps are not
declared, so they are skipped. A test compares the other fields with those of the package ``onnx``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

from numpy.typing import NDArray

from armnn_parser_onnx.protobuf import (
    EIGHT_BYTES,
    FOUR_BYTES,
    LENGTH,
    VARINT,
    Field,
    Message,
    Span,
    array,
    choice,
    content,
    contents,
    integer,
    integer32,
    integers,
    message,
    messages,
    note,
    real,
    reals,
    span,
    text,
    texts,
)

FLOAT, INT, STRING, TENSOR, GRAPH = 1, 2, 3, 4, 5
FLOATS, INTS, STRINGS = 6, 7, 8
"""Numbers of ``AttributeProto.AttributeType``."""

KIND_NAMES: Final = {
    0: "UNDEFINED",
    FLOAT: "FLOAT",
    INT: "INT",
    STRING: "STRING",
    TENSOR: "TENSOR",
    GRAPH: "GRAPH",
    FLOATS: "FLOATS",
    INTS: "INTS",
    STRINGS: "STRINGS",
    9: "TENSORS",
    10: "GRAPHS",
    11: "SPARSE_TENSOR",
    12: "SPARSE_TENSORS",
    13: "TYPE_PROTO",
    14: "TYPE_PROTOS",
}
"""The names of all types of attributes."""

ATTRIBUTE_FIELDS: Final = {
    FLOAT: "f",
    INT: "i",
    STRING: "s",
    TENSOR: "t",
    FLOATS: "floats",
    INTS: "ints",
    STRINGS: "strings",
}
"""The field of the message that holds an attribute of a type."""


class Entry(Message):
    """A key and its value (StringStringEntryProto)."""

    key: str = text(1)
    value: str = text(2)


class Dimension(Message):
    """A dimension; without value and name it is unknown."""

    dim_value: int | None = integer(1, None, ("dim_param",))
    dim_param: str | None = text(2, None, ("dim_value",))
    denotation: str = note(3)


class Shape(Message):
    """A shape (TensorShapeProto)."""

    dim: list[Dimension] = messages(1, "Dimension")


class TensorType(Message):
    """The type of dense or sparse tensors."""

    elem_type: int = integer32(1)
    shape: Shape | None = message(2, "Shape")


class ElementsType(Message):
    """The type of sequences and optionals."""

    elem_type: Type | None = message(1, "Type")


class OtherType(Message):
    """A type that networks lack: of maps, or without description. Nothing in it is read."""


_TYPES = (
    "tensor_type",
    "sequence_type",
    "map_type",
    "opaque_type",
    "sparse_tensor_type",
    "optional_type",
)


def _others(name: str) -> tuple[str, ...]:
    return tuple(other for other in _TYPES if other != name)


class Type(Message):
    """A type, of one kind (TypeProto)."""

    tensor_type: TensorType | None = message(1, "TensorType", _others("tensor_type"))
    sequence_type: ElementsType | None = message(4, "ElementsType", _others("sequence_type"))
    map_type: OtherType | None = message(5, "OtherType", _others("map_type"))
    opaque_type: OtherType | None = message(7, "OtherType", _others("opaque_type"))
    sparse_tensor_type: TensorType | None = message(8, "TensorType", _others("sparse_tensor_type"))
    optional_type: ElementsType | None = message(9, "ElementsType", _others("optional_type"))
    denotation: str = note(6)

    @property
    def kind(self) -> str:
        """The name of the present field, "" if none is."""
        return next((name for name in _TYPES if getattr(self, name) is not None), "")


class ValueInfo(Message):
    """A value's name and type."""

    name: str = text(1)
    type: Type | None = message(2, "Type")
    doc_string: str = note(3)
    metadata_props: list[Entry] = messages(4, "Entry")


class Segment(Message):
    """A part of a tensor's data."""

    begin: int = integer(1)
    end: int = integer(2)


class Tensor(Message):
    """A tensor, whose raw data may stay in the file."""

    dims: list[int] = integers(1)
    data_type: int = integer32(2)
    segment: Segment | None = message(3, "Segment")
    float_data: NDArray[Any] = array(4, "f4")
    int32_data: NDArray[Any] = array(5, "i4")
    string_data: list[bytes] = contents(6)
    int64_data: NDArray[Any] = array(7, "i8")
    name: str = text(8)
    raw_data: bytes | Span | None = span(9)
    double_data: NDArray[Any] = array(10, "f8")
    uint64_data: NDArray[Any] = array(11, "u8")
    doc_string: str = note(12)
    external_data: list[Entry] = messages(13, "Entry")
    data_location: int = choice(14, range(2))
    metadata_props: list[Entry] = messages(16, "Entry")


class SparseTensor(Message):
    """A tensor by the places and values of its elements."""

    values: Tensor | None = message(1, "Tensor")
    indices: Tensor | None = message(2, "Tensor")
    dims: list[int] = integers(3)


class Attribute(Message):
    """An attribute of a node, of the type ``type``."""

    name: str = text(1)
    f: float = real(2)
    i: int = integer(3)
    s: bytes = content(4)
    t: Tensor | None = message(5, "Tensor")
    g: Graph | None = message(6, "Graph")
    floats: list[float] = reals(7)
    ints: list[int] = integers(8)
    strings: list[bytes] = contents(9)
    tensors: list[Tensor] = messages(10, "Tensor")
    graphs: list[Graph] = messages(11, "Graph")
    doc_string: str = note(13)
    tp: Type | None = message(14, "Type")
    type_protos: list[Type] = messages(15, "Type")
    type: int = choice(20, range(15))
    ref_attr_name: str = text(21)
    sparse_tensor: SparseTensor | None = message(22, "SparseTensor")
    sparse_tensors: list[SparseTensor] = messages(23, "SparseTensor")


class Node(Message):
    """A node."""

    input: list[str] = texts(1)
    output: list[str] = texts(2)
    name: str = text(3)
    op_type: str = text(4)
    attribute: list[Attribute] = messages(5, "Attribute")
    doc_string: str = note(6)
    domain: str = text(7)
    overload: str = text(8)
    metadata_props: list[Entry] = messages(9, "Entry")


class Annotation(Message):
    """How a tensor is quantized (TensorAnnotation)."""

    tensor_name: str = note(1)
    quant_parameter_tensor_names: list[Entry] = messages(2, "Entry")


class Graph(Message):
    """A graph."""

    node: list[Node] = messages(1, "Node")
    name: str = text(2)
    initializer: list[Tensor] = messages(5, "Tensor")
    doc_string: str = note(10)
    input: list[ValueInfo] = messages(11, "ValueInfo")
    output: list[ValueInfo] = messages(12, "ValueInfo")
    value_info: list[ValueInfo] = messages(13, "ValueInfo")
    quantization_annotation: list[Annotation] = messages(14, "Annotation")
    sparse_initializer: list[SparseTensor] = messages(15, "SparseTensor")
    metadata_props: list[Entry] = messages(16, "Entry")


class Opset(Message):
    """The version of a domain's operators (OperatorSetIdProto)."""

    domain: str = text(1)
    version: int = integer(2)


class Function(Message):
    """An operator that a model defines by others."""

    name: str = text(1)
    input: list[str] = texts(4)
    output: list[str] = texts(5)
    attribute: list[str] = texts(6)
    node: list[Node] = messages(7, "Node")
    doc_string: str = note(8)
    opset_import: list[Opset] = messages(9, "Opset")
    domain: str = text(10)
    attribute_proto: list[Attribute] = messages(11, "Attribute")
    value_info: list[ValueInfo] = messages(12, "ValueInfo")
    overload: str = text(13)
    metadata_props: list[Entry] = messages(14, "Entry")


class Model(Message):
    """A model; the root of a file."""

    ir_version: int = integer(1)
    producer_name: str = text(2)
    producer_version: str = text(3)
    domain: str = note(4)
    model_version: int | None = integer(5, None)
    doc_string: str = note(6)
    graph: Graph | None = message(7, "Graph")
    opset_import: list[Opset] = messages(8, "Opset")
    metadata_props: list[Entry] = messages(14, "Entry")
    functions: list[Function] = messages(25, "Function")


_SINGLE = {bool: INT, int: INT, float: FLOAT, str: STRING, bytes: STRING}
_LISTS = {INT: INTS, FLOAT: FLOATS, STRING: STRINGS}


def make_attribute(name: str, value: Any, kind: int | None = None) -> Attribute:
    """Return an attribute.

    Args:
        name: Its name.
        value: A number, a text, or a list of them.
        kind: A number of ``AttributeProto.AttributeType``; that of the value by default.
    """
    if kind is None:
        several = not isinstance(value, (str, bytes)) and isinstance(value, Sequence)
        single = _SINGLE[type(value[0] if several else value)]
        kind = _LISTS[single] if several else single
    if kind == STRING:
        value = _encoded_text(value)
    elif kind == STRINGS:
        value = [_encoded_text(each) for each in value]
    return Attribute(name=name, type=kind, **{ATTRIBUTE_FIELDS[kind]: value})


def _encoded_text(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def make_type(element: int, shape: Sequence[int | str | None] | None) -> Type:
    """Return a tensor's type.

    Args:
        element: A number of ``TensorProto.DataType``.
        shape: The dimensions; None for any.
    """
    dims = None if shape is None else Shape(dim=[_dimension(dim) for dim in shape])
    return Type(tensor_type=TensorType(elem_type=element, shape=dims))


def _dimension(dim: int | str | None) -> Dimension:
    if isinstance(dim, str):
        return Dimension(dim_param=dim)
    return Dimension(dim_value=dim)


def make_value_info(name: str, element: int, shape: Sequence[int | str | None]) -> ValueInfo:
    """Return the declaration of a tensor."""
    return ValueInfo(name=name, type=make_type(element, shape))


_BITS = 2**64 - 1


def encoded(message: Message) -> bytes:
    """Return the bytes of a message.

    Fields with the value that absent ones have are left out, but for the value of an attribute.
    """
    return b"".join(_parts(message))


def _parts(message: Message) -> list[bytes | memoryview]:
    always = ATTRIBUTE_FIELDS.get(message.type) if isinstance(message, Attribute) else None
    parts: list[bytes | memoryview] = []
    for name, field in sorted(type(message).FIELDS.items(), key=lambda each: each[1].number):
        value = getattr(message, name)
        if field.repeated:
            for each in value:
                parts += _field_parts(field, each)
        elif name == always or value != field.default:
            parts += _field_parts(field, value)
    return parts


def _field_parts(field: Field, value: Any) -> Iterator[bytes | memoryview]:
    for kind, code in ((FOUR_BYTES, "<f"), (EIGHT_BYTES, "<d")):
        if kind in field.forms:
            yield _varint(field.number << 3 | kind) + struct.pack(code, value)
            return
    if VARINT in field.forms:
        yield _varint(field.number << 3) + _varint(int(value) & _BITS)
        return
    content = _content_parts(value)
    yield _varint(field.number << 3 | LENGTH) + _varint(sum(map(len, content)))
    yield from content


def _content_parts(value: Any) -> list[bytes | memoryview]:
    if isinstance(value, Message):
        return _parts(value)
    if isinstance(value, Span):
        return [value.read("the data of a tensor")]
    return [value.encode() if isinstance(value, str) else value]


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)
