# SPDX-License-Identifier: MIT
"""A model with a graph, from a path or bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from armnn.errors import ParseError
from armnn.parsing.conversion import check_model_file, unreadable
from armnn_parser_onnx import messages
from armnn_parser_onnx._registry import NEWEST_OPSET
from armnn_parser_onnx.messages import Model
from armnn_parser_onnx.protobuf import SourceFile, Span
from armnn_parser_onnx.schemas import DEFAULT_DOMAINS
from armnn_parser_onnx.tensors import ExternalData

_MAX_BYTES = 2**31 - 1
"""The largest message of Protocol Buffers."""


class ModelFile:
    """A model, and where the data beside it is.

    Attributes:
        name: The model's name in error messages.
        proto: The model.
        graph: Its graph.
        external_data: Reads the tensor data that is not in the file.
    """

    __slots__ = ("external_data", "graph", "name", "proto")

    def __init__(
        self,
        name: str,
        proto: messages.Model,
        graph: messages.Graph,
        external_data: ExternalData,
    ) -> None:
        self.name = name
        self.proto = proto
        self.graph = graph
        self.external_data = external_data


def read_model(
    source: str | os.PathLike[str] | bytes,
    name: str = "",
    folder: Path | None = None,
    *,
    mapped: bool = False,
) -> ModelFile:
    """Return the model in a file or in bytes.

    Args:
        source: The file, or its content.
        name: The content's name in error messages.
        folder: Where data beside content is; None if there can be none.
        mapped: Whether large data of tensors stays in the file, which is mapped.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        ParseError: It holds no ONNX model, or a part of one.
    """
    name = name or ("<bytes>" if isinstance(source, bytes) else str(Path(source)))
    proto, external_data = read_message(source, name, folder, mapped=mapped)
    if proto.is_empty:
        raise ParseError(f"the model {name!r} is empty")
    if proto.graph is None or not proto.opset_import:
        raise ParseError(
            f"the model {name!r} is not an ONNX file: it has no graph or does not say its opset"
        )
    for function in proto.functions:
        _decode((function, *function.opset_import))
        _decode_nodes(function.node)
    _decode((*proto.opset_import, *proto.metadata_props))
    _decode_graph(proto.graph)
    return ModelFile(name, proto, proto.graph, external_data)


def read_message(
    source: str | os.PathLike[str] | bytes,
    name: str = "<bytes>",
    folder: Path | None = None,
    *,
    mapped: bool = False,
) -> tuple[messages.Model, ExternalData]:
    """Return a model's message and the reader of external data.

    Args:
        source: The file, or its content.
        name: The content's name in error messages.
        folder: Where data beside content is; None if there can be none.
        mapped: Whether large data of tensors stays in the file, which is mapped.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        ParseError: It holds no message of ONNX, or a part of one.
    """
    if isinstance(source, bytes):
        return _decoded(Span(source, 0, len(source)), name), ExternalData(folder)
    path = Path(source)
    file = _opened(path, mapped)
    return _decoded(Span(file, 0, file.size()), str(path)), ExternalData(path.parent, path)


def _opened(path: Path, is_mapped: bool) -> SourceFile:  # of one caller
    check_model_file(path)
    size = path.stat().st_size
    if size > _MAX_BYTES:
        raise ParseError(
            f"the model {str(path)!r} has {size} bytes, more than an ONNX file can have "
            f"({_MAX_BYTES}): save it with external data"
        )
    try:
        return SourceFile(path.open("rb"), is_mapped=is_mapped)
    except OSError as error:
        raise unreadable(str(path), error) from error


def _decoded(span: Span, name: str) -> messages.Model:
    model = Model.at(span, name)
    _decode([model])
    return model


def _decode(parts: Iterable[Any]) -> None:
    """Decode messages now, so that malformed ones are found.

    Raises:
        ParseError: One is malformed.
    """
    for part in parts:
        part.decode()


def _decode_graph(graph: messages.Graph) -> None:
    _decode((graph, *graph.initializer))
    for value in (*graph.input, *graph.output):
        value.check()
    _decode_nodes(graph.node)


def _decode_nodes(nodes: Iterable[messages.Node]) -> None:
    for node in nodes:
        node.decode()  # here and below sooner than by the first use: that takes longer
        for attribute in node.attribute:
            attribute.decode()
            if attribute.g is not None:
                _decode_graph(attribute.g)
            for graph in attribute.graphs:
                _decode_graph(graph)
            if attribute.t is not None:
                attribute.t.decode()


def default_opset(model: ModelFile) -> int:
    """Return the model's version of ONNX's own operators.

    Raises:
        ParseError: The model does not say it though it uses them, or says two.
    """
    versions: set[int] = {
        entry.version for entry in model.proto.opset_import if entry.domain in DEFAULT_DOMAINS
    }
    uses = any(node.domain in DEFAULT_DOMAINS for node in model.graph.node)
    if not versions and not uses:
        return NEWEST_OPSET
    if len(versions) != 1:
        raise ParseError(
            f"the model {model.name!r} says {len(versions)} versions of ONNX's operators: "
            "expected one"
        )
    return versions.pop()
