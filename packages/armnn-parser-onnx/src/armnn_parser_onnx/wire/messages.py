# SPDX-License-Identifier: MIT
"""ONNX's messages, each field with its number.

Source: onnx-ml.proto. A test compares the fields with those of the package ``onnx``.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from armnn_parser_onnx.wire.fields import (
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
from armnn_parser_onnx.wire.message import Message
from armnn_parser_onnx.wire.source import Span


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


class MapType(Message):
    """The type of maps."""

    key_type: int = integer32(1)
    value_type: Type | None = message(2, "Type")


class OpaqueType(Message):
    """A type without description."""

    domain: str = note(1)
    name: str = note(2)


_TYPES = {
    "tensor_type": 1,
    "sequence_type": 4,
    "map_type": 5,
    "opaque_type": 7,
    "sparse_tensor_type": 8,
    "optional_type": 9,
}


def _others(name: str) -> tuple[str, ...]:
    return tuple(other for other in _TYPES if other != name)


class Type(Message):
    """A type, of one kind (TypeProto)."""

    tensor_type: TensorType | None = message(1, "TensorType", _others("tensor_type"))
    sequence_type: ElementsType | None = message(4, "ElementsType", _others("sequence_type"))
    map_type: MapType | None = message(5, "MapType", _others("map_type"))
    opaque_type: OpaqueType | None = message(7, "OpaqueType", _others("opaque_type"))
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
    device_configurations: list[NodePlacement] = messages(10, "NodePlacement")


class Annotation(Message):
    """How a tensor is quantised (TensorAnnotation)."""

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
    training_info: list[Training] = messages(20, "Training")
    functions: list[Function] = messages(25, "Function")
    configuration: list[Device] = messages(26, "Device")


class Training(Message):
    """How a model is trained (TrainingInfoProto)."""

    initialization: Graph | None = message(1, "Graph")
    algorithm: Graph | None = message(2, "Graph")
    initialization_binding: list[Entry] = messages(3, "Entry")
    update_binding: list[Entry] = messages(4, "Entry")


class Device(Message):
    """A configuration of devices (DeviceConfigurationProto)."""

    name: str = note(1)
    num_devices: int = integer32(2)
    device: list[str] = texts(3)


class NodePlacement(Message):
    """On which devices a node runs (NodeDeviceConfigurationProto)."""

    configuration_id: str = note(1)
    sharding_spec: list[Sharding] = messages(2, "Sharding")
    pipeline_stage: int = integer32(3)


class Sharding(Message):
    """How a tensor is spread over devices (ShardingSpecProto)."""

    tensor_name: str = note(1)
    device: list[int] = integers(2)
    index_to_device_group_map: list[DeviceGroup] = messages(3, "DeviceGroup")
    sharded_dim: list[ShardedAxis] = messages(4, "ShardedAxis")


class DeviceGroup(Message):
    """A number of a group, and its devices (IntIntListEntryProto)."""

    key: int = integer(1)
    value: list[int] = integers(2)


class ShardedAxis(Message):
    """How an axis is spread (ShardedDimProto)."""

    axis: int = integer(1)
    simple_sharding: list[ShardedDimension] = messages(2, "ShardedDimension")


class ShardedDimension(Message):
    """A dimension and its number of parts (SimpleShardedDimProto)."""

    dim_value: int | None = integer(1, None, ("dim_param",))
    dim_param: str | None = text(2, None, ("dim_value",))
    num_shards: int = integer(3)
