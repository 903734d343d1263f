# SPDX-License-Identifier: MIT
"""A model's declared inputs, outputs and metadata."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from armnn import TensorInfo
from armnn.errors import ModelFileError
from armnn.graph import Network
from armnn_compat.onnxruntime.errors import (
    Fail,
    InvalidArgument,
    InvalidProtobuf,
    NoSuchFile,
)
from armnn_compat.onnxruntime.errors import NotImplemented as NotImplementedStatus
from armnn_compat.onnxruntime.values import element_number, type_name
from armnn_parser_onnx.description import (
    Dimension,
    Model,
    ValueInfo,
    read_declarations,
    whole_model,
)

NO_VERSION = 2**63 - 1
"""The version that onnxruntime gives for a model that has none."""

_OWN_FORMAT = b"ORTM"
"""The bytes of ``.ort`` files from the fifth on."""

_OVERRIDABLE_SINCE = 4
"""The version of the format before which every initializer had to be an input, too."""


@dataclass(frozen=True, slots=True)
class NodeArg:
    """An input or output.

    Attributes:
        name: Its name.
        type: Its type: "tensor(float)".
        shape: Its dimensions: a number, a name, or None where the model says neither.
    """

    name: str
    type: str
    shape: list[int | str | None]


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """The metadata of the file."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = NO_VERSION
    custom_metadata_map: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operator:
    """A node of the graph.

    Attributes:
        name: Its name, or its type and position if it has none.
        type: The operator that it computes.
        index: Its position.
    """

    name: str
    type: str
    index: int


@dataclass(frozen=True, slots=True)
class Description:
    """The declarations of a model.

    Attributes:
        inputs: Its inputs without those that have an initializer.
        overridable: The inputs that have one and may be given another value.
        outputs: Its outputs.
        metadata: The metadata of the file.
    """

    inputs: list[NodeArg]
    overridable: list[NodeArg]
    outputs: list[NodeArg]
    metadata: ModelMetadata


@dataclass(frozen=True, slots=True)
class Sizes:
    """The caller's sizes of dimensions that the model leaves open.

    Attributes:
        by_name: For the dimensions that have a name.
        by_denotation: For those that have a denotation: "DATA_BATCH".
    """

    by_name: Mapping[str, int]
    by_denotation: Mapping[str, int]


def describe(source: str | bytes, sizes: Sizes) -> Description:
    """Return the description of a model: inputs, outputs, metadata.

    Args:
        source: The path of a file, or its content.
        sizes: The sizes of dimensions that the model leaves open.

    Raises:
        NoSuchFile: There is no such file.
        Fail: The file cannot be read.
        NotImplemented: It is in onnxruntime's own format.
        InvalidProtobuf: It is no ONNX file.
        InvalidArgument: It has no graph.
    """
    model = _decoded(source)
    graph = model.graph
    if graph is None:
        raise InvalidArgument("No graph was found in the protobuf.")
    initializers = {tensor.name for tensor in graph.initializer}
    given = [_node_arg(value, sizes) for value in graph.input]
    can_override = model.ir_version >= _OVERRIDABLE_SINCE
    return Description(
        inputs=[each for each in given if each.name not in initializers],
        overridable=[each for each in given if can_override and each.name in initializers],
        outputs=[_node_arg(value, sizes) for value in graph.output],
        metadata=ModelMetadata(
            producer_name=model.producer_name,
            graph_name=graph.name,
            domain=model.domain,
            description=model.doc_string,
            graph_description=graph.doc_string,
            version=NO_VERSION if model.model_version is None else model.model_version,
            custom_metadata_map={entry.key: entry.value for entry in model.metadata_props},
        ),
    )


def write(source: str | bytes, path: str) -> None:
    """Write a loaded model, with external data, to one file.

    It is written as it is: what the layers become is known in memory only.

    Args:
        source: The path of a file, or its content.
        path: Where it goes.

    Raises:
        Fail: The file cannot be written, or data in other files cannot be read.
    """
    try:
        data = whole_model(source)
        with open(path, "wb") as file:
            file.write(data)
    except (OSError, ModelFileError) as error:
        raise Fail(f"the optimized model cannot be written to {path!r}: {error}") from error


def operators(source: str | bytes) -> dict[str, Operator]:
    """Return a model's nodes by the names of their layers."""
    graph = _decoded(source).graph
    return {
        node.name or next(iter(node.output), ""): Operator(
            node.name or f"{node.op_type}_{index}", node.op_type, index
        )
        for index, node in enumerate(() if graph is None else graph.node)
    }


def set_input_sizes(network: Network, inputs: Sequence[NodeArg]) -> None:
    """Give a network's inputs the sizes of their description.

    Args:
        network: As it was parsed.
        inputs: As they were described.
    """
    described = {each.name: each.shape for each in inputs}
    for layer in network.inputs:
        info = layer.output.info
        shape = described[layer.name]
        if info.shape is not None and any(isinstance(dim, int) for dim in shape):
            pairs = zip(shape, info.shape, strict=True)
            sized = [new if isinstance(new, int) else old for new, old in pairs]
            layer.output.info = info.with_shape(sized)


def completed(outputs: Sequence[NodeArg], infos: Mapping[str, TensorInfo]) -> list[NodeArg]:
    """Return outputs with the network's types and dimensions.

    Args:
        outputs: As the model declares them.
        infos: The inferred descriptions.
    """
    return [_completed(each, infos[each.name]) for each in outputs]


def _completed(declared: NodeArg, info: TensorInfo) -> NodeArg:
    inferred = info.shape or ()
    shape = declared.shape if declared.shape else list(inferred)
    if len(shape) == len(inferred):
        pairs = zip(shape, inferred, strict=True)
        shape = [new if isinstance(new, int) else old for old, new in pairs]
    number = element_number(info.data_type.numpy_dtype)
    return NodeArg(declared.name, type_name(number), shape)


def _decoded(source: str | bytes) -> Model:
    where = "model" if isinstance(source, bytes) else f"model from {source}"
    if isinstance(source, bytes):
        head = source[:8]
    elif os.path.exists(source):
        try:
            with open(source, "rb") as file:
                head = file.read(8)
        except OSError as error:
            raise Fail(f"Load {where} failed: {error}") from error
    else:
        raise NoSuchFile(f"Load {where} failed: Load model {source} failed. File doesn't exist")
    if head[4:] == _OWN_FORMAT:
        raise NotImplementedStatus(
            f"Load {where} failed: it is in onnxruntime's own format, which nothing else "
            "reads. Give the ONNX file that it was made from."
        )
    try:
        return read_declarations(source)
    except ModelFileError as error:
        raise InvalidProtobuf(f"Load {where} failed: Protobuf parsing failed.") from error


def _node_arg(value: ValueInfo, sizes: Sizes) -> NodeArg:
    kind = "" if value.type is None else value.type.kind
    tensor = None if value.type is None else value.type.tensor_type
    if tensor is None:
        return NodeArg(value.name, kind.removesuffix("_type") or type_name(0), [])
    dims = () if tensor.shape is None else tensor.shape.dim
    shape = [_dimension(dim, sizes) for dim in dims]
    return NodeArg(value.name, type_name(tensor.elem_type), shape)


def _dimension(dim: Dimension, given: Sizes) -> int | str | None:
    if dim.dim_value is not None:
        return dim.dim_value if dim.dim_value >= 0 else None
    for name, sizes in (
        (dim.denotation, given.by_denotation),
        (dim.dim_param, given.by_name),
    ):
        if name is not None and name in sizes:
            return sizes[name]
    return dim.dim_param or None
