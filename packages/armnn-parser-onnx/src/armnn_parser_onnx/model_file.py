# SPDX-License-Identifier: MIT
"""A ``ModelProto`` with a graph, from a path or bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from armnn.errors import ParseError
from armnn.parsing.conversion import check_model_file, unreadable
from armnn_parser_onnx._registry import newest_opset
from armnn_parser_onnx.data_in_file import DataInFile
from armnn_parser_onnx.external_data import ExternalData
from armnn_parser_onnx.shortened_file import MalformedError, shortened

_MAX_BYTES = 2**31 - 1
"""The largest message of Protocol Buffers."""

DEFAULT_DOMAINS = ("", "ai.onnx")
"""The two spellings of the domain of ONNX's own operators."""


class ModelFile(NamedTuple):
    """A model, and where the data beside it is.

    Attributes:
        name: What error messages call the model.
        proto: The model.
        external_data: Reads the tensor data that is not in the message.
    """

    name: str
    proto: onnx.ModelProto
    external_data: ExternalData


def read_model(source: str | os.PathLike[str] | bytes) -> ModelFile:
    """Return the model in a file or in bytes.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        ParseError: It holds no ONNX model, or a part of one.
    """
    name = "<bytes>" if isinstance(source, bytes) else str(Path(source))
    proto, external_data = read_message(source)
    _check(proto, name)
    return ModelFile(name, proto, external_data)


def read_message(source: str | os.PathLike[str] | bytes) -> tuple[onnx.ModelProto, ExternalData]:
    """Return a model's message and the reader of external data.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        ParseError: It holds no message of ONNX, or a part of one.
    """
    if isinstance(source, bytes):
        return _decoded(source, "<bytes>"), ExternalData(None)
    path = Path(source)
    data = DataInFile(_opened(path))  # which closes the file
    return _decoded(_message(data), str(path)), ExternalData(path.parent, data)


def _opened(path: Path) -> BinaryIO:
    check_model_file(path)
    size = path.stat().st_size
    if size > _MAX_BYTES:
        raise ParseError(
            f"the model {str(path)!r} has {size} bytes, more than an ONNX file can have "
            f"({_MAX_BYTES}): save it with external data"
        )
    try:
        return path.open("rb")
    except OSError as error:
        raise unreadable(str(path), error) from error


def _message(data: DataInFile) -> bytes:
    """Return a file's message without data left in the file."""
    file = data.file
    try:
        try:
            return shortened(file, os.fstat(file.fileno()).st_size, data.leave)
        except MalformedError:
            file.seek(0)
            return file.read()
    except OSError as error:
        raise unreadable(file.name, error) from error


def _decoded(data: bytes, name: str) -> onnx.ModelProto:
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise ParseError(f"the model {name!r} is not an ONNX file or is cut short") from error
    return proto


def _check(proto: onnx.ModelProto, name: str) -> None:
    if not proto.ByteSize():
        raise ParseError(f"the model {name!r} is empty")
    if not proto.HasField("graph") or not proto.opset_import:
        raise ParseError(
            f"the model {name!r} is not an ONNX file: it has no graph or does not say its opset"
        )
    if not all(isinstance(text, str) for text in _texts(proto)):
        raise ParseError(f"the model {name!r} has a name that is not text in UTF-8")


def _texts(proto: onnx.ModelProto) -> Iterator[str | bytes]:
    """Yield a model's names; those not in UTF-8 are bytes."""
    yield from (proto.producer_name, proto.producer_version)
    for entry in proto.metadata_props:
        yield from (entry.key, entry.value)
    yield from (entry.domain for entry in proto.opset_import)
    yield from _texts_of_graph(proto.graph)
    for function in proto.functions:
        yield from (function.name, function.domain, *function.input, *function.output)
        yield from function.attribute
        yield from _texts_of_nodes(function.node)


def _texts_of_graph(graph: onnx.GraphProto) -> Iterator[str | bytes]:
    yield graph.name
    yield from (tensor.name for tensor in graph.initializer)
    for value in (*graph.input, *graph.output):
        yield value.name
        yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
    yield from _texts_of_nodes(graph.node)


def _texts_of_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[str | bytes]:
    for node in nodes:
        yield from (node.op_type, node.domain, node.name, *node.input, *node.output)
        for attribute in node.attribute:
            yield from (attribute.name, attribute.ref_attr_name)
            if attribute.HasField("g"):
                yield from _texts_of_graph(attribute.g)


def default_opset(model: ModelFile) -> int:
    """Return the model's version of ONNX's own operators.

    Raises:
        ParseError: The model does not say it though it uses them, or says two.
    """
    versions: set[int] = {
        entry.version for entry in model.proto.opset_import if entry.domain in DEFAULT_DOMAINS
    }
    uses = any(node.domain in DEFAULT_DOMAINS for node in model.proto.graph.node)
    if not versions and not uses:
        return newest_opset()
    if len(versions) != 1:
        raise ParseError(
            f"the model {model.name!r} says {len(versions)} versions of ONNX's operators: "
            "expected one"
        )
    return versions.pop()
