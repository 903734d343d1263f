# SPDX-License-Identifier: MIT
"""From an ONNX model to a network."""

from __future__ import annotations

import os
from pathlib import Path

from armnn.arguments import flag, refused, text
from armnn.errors import ArmnnError, InvalidArgumentError, ParseError
from armnn.graph import Network, Survey
from armnn.tensor import MAX_RANK, Dimension, TensorInfo
from armnn_parser_onnx import (
    control_flow,  # noqa: F401 # it enters its converters
    messages,
)
from armnn_parser_onnx._registry import check_opset
from armnn_parser_onnx.conversion import convert_model
from armnn_parser_onnx.decoders import (
    choose_row,
    note_short_context,
    state_cache_sizes,
    use_whole_caches,
)
from armnn_parser_onnx.element_types import dimensions_of, element_type_of
from armnn_parser_onnx.functions import with_functions_inlined
from armnn_parser_onnx.graph import Graph
from armnn_parser_onnx.model_file import ModelFile, default_opset, read_model
from armnn_parser_onnx.tensors import checked_count, data_type_of, onnx_type_name

_ANONYMOUS = "?"
"""The name that some exporters give every dimension that they do not know."""


def parse(
    source: str | os.PathLike[str] | bytes,
    *,
    overridable: str | bool = False,
    mapped: bool = False,
    whole_caches: bool = False,
    row_of: str = "",
    folder: Path | None = None,
    survey: Survey | None = None,
    folded: bool = False,
) -> Network:
    """Read an ONNX model as a network.

    The names of inputs and outputs are the model's; layers have the names of their nodes. Nodes
    that cannot be converted before shapes or data are known become StandIn layers, which the
    optimizer replaces. The
    network's metadata is the model's own, with ``producer_name``, ``producer_version`` and
    ``opset`` beside it.

    Args:
        source: The file, or its content. Data in other files is read only from the file's folder
            or below it.
        overridable: The names of initializers among the inputs of the model that are inputs of the
            network, with commas between them, such as ``"scale,bias"``; every run gives them a
            value. True is for all of them. The others are constants, as layers compute faster
            with these.
        mapped: Whether weights are mapped where they are in the file, as those in files beside it
            are. They take no memory once a backend has packed them; the file must not be
            overwritten as long as the network is there, only replaced by renaming.
        whole_caches: Whether caches that move with the window of their attention
            (``sliding_window_cache`` of GroupQueryAttention) get room for all tokens, so that they
            never move: results are the same, and a state is written in place. Where the length of
            the input ``attention_mask`` chooses between tables of angles, as in models with
            LongRoPE, the metadata says ``original_max_position_embeddings``, the longest text of
            the first table.
        row_of: The name of an output of logits, [batch, tokens, words], of which one token is
            wanted: the network has another input "NAME.row", [1], which says the token's place, and
            computes [batch, 1, words]. The network has no such input where the logits are not the
            last product of the model, element by element.
        folder: The folder of content; without it content has no data in other files.
        survey: Where the operators are noted. With it, those that layers cannot compute are no
            error: the network lacks them, and what depends on them.
        folded: Whether quantized operators may become layers on stored values, if the shapes of
            all inputs are known; see ``armnn.parsing.GROUP``.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        UnsupportedOperatorError: The model uses operators that layers cannot compute; the message
            names every one of them with its nodes and the reason.
        ParseError: The model is malformed.
        InvalidArgumentError: The model has no such initializer among its inputs.
    """
    model = read_model(source, folder=folder, mapped=flag(mapped, "mapped"))
    state_cache_sizes(model.graph)
    if flag(whole_caches, "whole_caches"):
        use_whole_caches(model.graph)
        note_short_context(model)
    if text(row_of, "row_of"):
        choose_row(model, row_of)
    return network_of(model, survey, overridable=overridable, folded=folded)


def network_of(
    model: ModelFile,
    survey: Survey | None,
    *,
    overridable: str | bool = False,
    folded: bool = False,
) -> Network:
    """Return the network of a model; see :func:`parse`."""
    opset = default_opset(model)
    check_opset(opset)
    network = Network(model.graph.name, _metadata(model.proto, opset))
    graph = Graph(network, model.external_data, survey=survey)
    _add_inputs(model, graph, overridable)
    graph.may_fold = folded and all(each.output.info.is_static for each in network.inputs)
    _declare_shapes(model, network)
    convert_model(_main_graph(model, graph), opset, graph)
    _add_outputs(model, graph)
    model.external_data.note_in(network)
    if survey is None or not survey.refused:
        network.remove_unused()
    return network


def _main_graph(model: ModelFile, graph: Graph) -> messages.Graph:
    """Return the model's graph without calls of its own functions."""
    if not model.proto.functions:
        return model.graph
    return with_functions_inlined(model.proto, model.graph, graph.operators)


def _metadata(model: messages.Model, opset: int) -> dict[str, str]:
    texts = {
        "producer_name": model.producer_name,
        "producer_version": model.producer_version,
        "opset": str(opset),
    }
    return {key: text for key, text in texts.items() if text} | {
        entry.key: entry.value for entry in model.metadata_props
    }


def _add_inputs(model: ModelFile, graph: Graph, overridable: str | bool) -> None:
    """Register inputs and initializers.

    An input with an initializer is a constant, unless it is to be overridable.

    Raises:
        ParseError: An input or initializer is malformed.
        InvalidArgumentError: There is no initializer that is to be overridable.
    """
    proto = model.graph
    if proto.sparse_initializer:
        names = [each.values.name if each.values else "" for each in proto.sparse_initializer]
        raise ParseError(f"the sparse initializers {names} are not supported: store them dense")
    given_by_runs = _overridden(model, overridable)
    constants = set()
    for tensor in proto.initializer:
        if tensor.name not in given_by_runs:
            graph.add_initializer(tensor)
            constants.add(tensor.name)
    for given in proto.input:
        if given.name not in constants:
            graph.add_input(given.name, _checked_info(given))


def _overridden(model: ModelFile, overridable: str | bool) -> set[str]:
    """Return the names of the initializers that are inputs of the network."""
    if not isinstance(overridable, str | bool):
        raise refused("overridable", overridable, "names such as 'scale,bias', or True")
    if not overridable:
        return set()
    initializers = {tensor.name for tensor in model.graph.initializer}
    known = [given.name for given in model.graph.input if given.name in initializers]
    if overridable is True:
        return set(known)
    names = set(overridable.split(","))
    unknown = sorted(names.difference(known))
    if unknown:
        raise InvalidArgumentError(
            f"the model {model.name!r} has no initializers {unknown} among its inputs: it has "
            f"{', '.join(map(repr, known)) or 'none'}"
        )
    return names


def _checked_info(given: messages.ValueInfo) -> TensorInfo:
    tensor = None if given.type is None else given.type.tensor_type
    if tensor is None:
        kind = (given.type and given.type.kind) or "unknown"
        raise ParseError(f"the input {given.name!r} is of the kind {kind!r}: expected a tensor")
    what = f"the input {given.name!r}"
    try:
        data_type = data_type_of(tensor.elem_type)
        if tensor.shape is None:
            return TensorInfo(None, data_type)
        shape = [_dimension(dim) for dim in tensor.shape.dim]
        checked_count(tuple(dim for dim in shape if isinstance(dim, int)), what)
        return TensorInfo(shape, data_type)
    except ArmnnError as error:
        raise ParseError(f"{what}: {error}") from error


def _dimension(dim: messages.Dimension) -> Dimension:
    """Return a dimension.

    Some exporters write -1 or "?" for an unknown one.
    """
    if dim.dim_value is not None:
        return None if dim.dim_value == -1 else dim.dim_value
    return None if dim.dim_param in ("", _ANONYMOUS) else dim.dim_param


def _declare_shapes(model: ModelFile, network: Network) -> None:
    """Record the shapes that the model states for its outputs."""
    for wanted in model.graph.output:
        dims = dimensions_of(wanted)
        if dims is not None and len(dims) <= MAX_RANK:
            shape = tuple(_dimension(dim) for dim in dims)
            if all(not isinstance(dim, int) or dim >= 0 for dim in shape):
                network.declared_shapes[wanted.name] = shape


def _add_outputs(model: ModelFile, graph: Graph) -> None:
    if not model.graph.output:
        raise ParseError(f"the model {model.name!r} has no output")
    for wanted in model.graph.output:
        if graph.survey is not None and graph.survey.refused and wanted.name not in graph:
            continue
        value = graph.value(wanted.name)
        declared = element_type_of(wanted)
        made = value.info.data_type
        if declared and onnx_type_name(data_type_of(declared)) != onnx_type_name(made):
            raise ParseError(
                f"the output {wanted.name!r} is {onnx_type_name(made)}, but the model says "
                f"{onnx_type_name(data_type_of(declared))}"
            )
        try:
            graph.network.add_output(wanted.name, value)
        except ArmnnError as error:
            raise ParseError(f"the output {wanted.name!r}: {error}") from error
