# SPDX-License-Identifier: MIT
"""An ONNX file's declarations and content, for other programs."""

from __future__ import annotations

import os
from pathlib import Path

from armnn_parser_onnx.messages import (
    Attribute,
    Dimension,
    Graph,
    Model,
    Node,
    Tensor,
    ValueInfo,
    encoded,
)
from armnn_parser_onnx.model_file import read_message
from armnn_parser_onnx.tensors import EXTERNAL, ExternalData, external_bytes


def read_declarations(source: str | os.PathLike[str] | bytes) -> Model:
    """Return a model's message, with as few checks as possible.

    Its fields are attributes that are decoded on first use; the data of large tensors stays in a
    file, so that reading takes little time and memory. An absent field is None where it is a
    message, and empty or 0 elsewhere.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        ParseError: It holds no message of ONNX, or a part of one. Inner messages that are malformed
            raise it on their first use.
    """
    return read_message(source)[0]


def whole_model(source: str | os.PathLike[str] | bytes) -> bytes:
    """Return a model's bytes, with external data inside.

    Where there is such data, the bytes lack what no run needs: how the model is trained, and on
    which devices its nodes are placed.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        ParseError: It holds no message of ONNX, or its data in other files is not there.
    """
    model, external_data = read_message(source)
    inside = None if model.graph is None else _graph(model.graph, external_data)
    if inside is model.graph:
        return source if isinstance(source, bytes) else Path(source).read_bytes()
    return encoded(model.replaced(graph=inside))


def _graph(graph: Graph, external_data: ExternalData) -> Graph:
    """Return a graph with all data inside, perhaps itself."""
    tensors = [_tensor(tensor, external_data) for tensor in graph.initializer]
    nodes = [_node(node, external_data) for node in graph.node]
    before, after = [*graph.initializer, *graph.node], [*tensors, *nodes]
    if all(old is new for old, new in zip(before, after, strict=True)):
        return graph
    return graph.replaced(initializer=tensors, node=nodes)


def _node(node: Node, external_data: ExternalData) -> Node:
    attributes = [_attribute(attribute, external_data) for attribute in node.attribute]
    if all(old is new for old, new in zip(node.attribute, attributes, strict=True)):
        return node
    return node.replaced(attribute=attributes)


def _attribute(attribute: Attribute, external_data: ExternalData) -> Attribute:
    tensor = None if attribute.t is None else _tensor(attribute.t, external_data)
    graph = None if attribute.g is None else _graph(attribute.g, external_data)
    if tensor is attribute.t and graph is attribute.g:
        return attribute
    return attribute.replaced(t=tensor, g=graph)


def _tensor(tensor: Tensor, external_data: ExternalData) -> Tensor:
    if tensor.data_location != EXTERNAL:
        return tensor
    data = external_bytes(tensor, external_data)
    return tensor.replaced(raw_data=data, external_data=[], data_location=0)


__all__ = ["Dimension", "Model", "ValueInfo", "read_declarations", "whole_model"]
