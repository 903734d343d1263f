# SPDX-License-Identifier: MIT
"""From a TensorFlow Lite model to a network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from armnn.errors import InvalidArgumentError, ParseError
from armnn.graph import Aliases, Network, Survey
from armnn.types import QuantizedArithmetic
from armnn_parser_tflite.conversion import convert_operators, main_graph
from armnn_parser_tflite.graph import Graph
from armnn_parser_tflite.model_file import ModelFile, read_model
from armnn_parser_tflite.schema import find_signature, read_subgraph
from armnn_parser_tflite.tensors import Buffers, has_type, info_of

_RUNTIME_VERSION = "min_runtime_version"


def parse(
    source: str | os.PathLike[str] | bytes,
    *,
    subgraph: int | None = None,
    signature: str | None = None,
    folder: Path | None = None,
    survey: Survey | None = None,
) -> Network:
    """Read a TensorFlow Lite model as a network.

    Inputs and outputs have the names of the signature, and are found by those of their tensors too,
    which they have if there is none; layers have the names of the tensors that they make. The
    network's metadata has the ``description`` of the file, the ``version`` of its schema, and
    ``min_runtime_version`` where the file says it.

    A variable that a run reads and assigns is an input and an output of its name: what comes out of
    one run is given to the next.

    Args:
        source: The file, or its content. Data in other files is read only from the file's folder
            or below it.
        subgraph: The number of the subgraph that is read; 0 is the main one and the default.
        signature: The signature whose subgraph is read instead; without it, names are those of the
            first signature of the subgraph.
        folder: The folder of content; without it content has no data in other files.
        survey: Where the operators are noted. With it, those that layers cannot compute are no
            error: the network lacks them, and what depends on them.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        UnsupportedOperatorError: The model uses operators that layers cannot compute; the message
            names every one of them with the reason.
        ParseError: The model is malformed, or has no such subgraph or signature.
        InvalidArgumentError: The subgraph is not a number, or not the one of the signature.
    """
    _check_choice(subgraph, signature)
    model = read_model(source, folder)
    names = find_signature(model, key=signature, subgraph=subgraph or 0)
    if subgraph is not None and subgraph != names.subgraph:
        raise InvalidArgumentError(
            f"the signature {signature!r} of the model {model.file.name!r} is of subgraph "
            f"{names.subgraph}: got subgraph {subgraph}, choose one of the two options"
        )
    records = read_subgraph(model, names.subgraph)
    buffers = Buffers(model)
    network = Network(records.name, _metadata(model, buffers))
    network.quantized_arithmetic = QuantizedArithmetic.INTEGER
    graph = main_graph(model, network, records, buffers, survey)
    # An input that has data cannot be given another value: it is a constant.
    given = [index for index in records.inputs if not graph.has_data(index)]
    inputs = _named(graph, given, names.inputs)
    for index, name in inputs:
        graph.add_input(index, info_of(graph.tensor(index)), name)
    convert_operators(graph, model.file)
    if not records.outputs:
        raise ParseError(f"the model {model.file.name!r} has no output")
    refused = survey is not None and bool(survey.refused)
    outputs = _named(graph, records.outputs, names.outputs)
    network.aliases = Aliases(_tensor_names(graph, inputs), _tensor_names(graph, outputs))
    for index, name in outputs:
        if refused and not (index in graph or graph.has_data(index)):
            continue
        if not has_type(graph.tensor(index)):
            raise ParseError(f"the output {name!r} is of a type that networks lack")
        network.add_output(name, graph.value(index))
    graph.variables.add_outputs()
    buffers.note_in(network)
    if not refused:
        network.remove_unused()
    model.file.trust()
    return network


def _check_choice(subgraph: object, signature: object) -> None:
    """Raise InvalidArgumentError unless they are a number and a name."""
    if subgraph is not None and (isinstance(subgraph, bool) or not isinstance(subgraph, int)):
        raise InvalidArgumentError(f"the subgraph is {subgraph!r}: expected its number, such as 1")
    if signature is not None and not isinstance(signature, str):
        raise InvalidArgumentError(f"the signature is {signature!r}: expected its name")


def _metadata(model: ModelFile, buffers: Buffers) -> dict[str, str]:
    texts = {"version": str(model.root.integer("Version"))}
    description = model.root.text("Description")
    if description:
        texts["description"] = description
    for entry in model.root.tables("Metadata"):
        if entry.text("Name") == _RUNTIME_VERSION:
            data = buffers.data(entry.integer("Buffer"))
            text = b"" if data is None else bytes(data[:32]).rstrip(b"\0")
            if text:
                texts[_RUNTIME_VERSION] = text.decode("ascii", "backslashreplace")
    return texts


def _named(
    graph: Graph, indices: Sequence[int], signature: Mapping[str, int]
) -> list[tuple[int, str]]:
    """Return tensors with names, numbered where names repeat."""
    names = {index: name for name, index in signature.items() if name}
    taken: dict[str, None] = {}
    named = []
    for index in indices:
        stem = names.get(index) or graph.tensor(index).name or f"tensor_{index}"
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken[name] = None
        named.append((index, name))
    return named


def _tensor_names(graph: Graph, named: Sequence[tuple[int, str]]) -> dict[str, str]:
    """Return the ports' second names, those of their tensors."""
    names = {name for _, name in named}
    found: dict[str, str] = {}
    for index, name in named:
        tensor = graph.tensor(index).name
        if tensor and tensor not in names:
            found.setdefault(tensor, name)
    return found
