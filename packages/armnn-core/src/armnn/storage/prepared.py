# SPDX-License-Identifier: MIT
"""Encoding of a prepared network as JSON and arrays.

Compiled programs have entries of their own.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from armnn.backends.base import CachingBackend
from armnn.backends.cache import CachedProgram, StaleEntryError
from armnn.backends.footprint import Footprint
from armnn.errors import ArmnnError
from armnn.graph import LayerGraph
from armnn.layers import LAYERS
from armnn.layers._parameters import enumeration_of
from armnn.optimizer import Border, Part, Prepared, Refusal, Report, ReportRow
from armnn.optimizer.assignment.boundaries import place_tensors
from armnn.optimizer.observe import Observation
from armnn.optimizer.prepared import Segments
from armnn.tensor import TensorInfo
from armnn.types import ArmnnEnum, DataType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from armnn.graph import Layer, Value
    from armnn.layers import Descriptor
    from armnn.optimizer import OptimizerOptions, Participants


_E = TypeVar("_E", bound=ArmnnEnum)


class UnstorableError(Exception):
    """A network cannot be stored; the text says why."""


def member_of(kind: type[_E], number: int) -> _E:
    """Return the member of an enumeration that has a number.

    Raises:
        StaleEntryError: None has.
    """
    for member in kind:
        if member == number:
            return member
    raise StaleEntryError(f"{kind.__name__} has no {number!r}")


def encoded_info(info: TensorInfo) -> list[Any]:
    """Return a tensor info as JSON."""
    return [info.shape, int(info.data_type), info.scales, info.zero_points, info.axis]


def decoded_info(stored: list[Any]) -> TensorInfo:
    """Return the tensor info of :func:`encoded_info`."""
    shape, data_type, scales, zero_points, axis = stored
    return TensorInfo(shape, member_of(DataType, data_type), scales, zero_points, axis)


def encoded(prepared: Prepared) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return a prepared network as JSON and numbered arrays.

    Raises:
        UnstorableError: It waits for data, was made from other files too, uses several kinds of
            memory, or holds something else than programs that are stored.
    """
    if not prepared.network.is_self_contained:
        raise UnstorableError("not all of it comes from the model's one file")
    if prepared.segments.rest is not None:
        raise UnstorableError("a part of it is prepared when data is known")
    network, arrays = prepared.network, list[Any]()
    order = [
        layer for layer in network.topological_order() if layer.type not in ("Input", "Output")
    ]
    order = [*network.inputs, *order, *network.outputs]
    numbers = {
        value: [number, value.index]
        for number, layer in enumerate(order)
        for value in layer.outputs
    }
    layers = [_encoded_layer(layer, numbers, arrays) for layer in order]
    rows = [row.as_dict() for row in prepared.report]
    parts = [part.as_dict() for part in prepared.report.parts]
    return {"name": network.name, "layers": layers, "report": rows, "parts": parts}, arrays


def _encoded_layer(
    layer: Layer, numbers: dict[Value, list[int]], arrays: list[NDArray[Any]]
) -> dict[str, Any]:
    stored: dict[str, Any] = {
        "type": layer.type,
        "name": layer.name,
        "backend": layer.backend,
        "inputs": [None if value is None else numbers[value] for value in layer.inputs],
        "outputs": [encoded_info(value.info) for value in layer.outputs],
        "parameters": _encoded_parameters(layer.descriptor),
    }
    if layer.data is not None:
        stored["data"] = len(arrays)
        arrays.append(layer.data)
    if isinstance(layer.compiled, Observation):
        stored["observed"] = [layer.compiled.layer, layer.compiled.slot]
    elif layer.compiled is not None:
        key = layer.compiled.cache_key if isinstance(layer.compiled, CachedProgram) else ()
        if not key:
            raise UnstorableError(f"{layer.backend} compiled {layer.name!r} to what is not stored")
        stored["program"] = key
    if layer.type in ("MemCopy", "MemImport"):
        raise UnstorableError("its tensors lie in several kinds of memory")
    return stored


def _encoded_parameters(descriptor: Descriptor) -> dict[str, Any]:
    """Return the parameters that have other values than their defaults."""
    values = {field: getattr(descriptor, field.name) for field in dataclasses.fields(descriptor)}
    return {field.name: _plain(value) for field, value in values.items() if value != field.default}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, ArmnnEnum):
        return int(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UnstorableError(f"a parameter is {value!r}")


def decoded(
    stored: dict[str, Any],
    blocks: Sequence[memoryview],
    participants: Participants,
    options: OptimizerOptions,
) -> Prepared:
    """Return the network of :func:`encoded`; constants share the blocks.

    Raises:
        StaleEntryError: It is not what was stored, or a program does not fit any more.
    """
    try:
        return _decoded(stored, blocks, participants, options)
    except StaleEntryError:
        raise
    except (ArmnnError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise StaleEntryError(f"it makes no network: {error!r}") from error


def _decoded(
    stored: dict[str, Any],
    blocks: Sequence[memoryview],
    participants: Participants,
    options: OptimizerOptions,
) -> Prepared:
    network = LayerGraph(stored["name"])
    layers: list[Layer] = []
    for row in stored["layers"]:
        layers.append(_decoded_layer(row, network, layers, blocks))
        if "observed" in row:
            layers[-1].compiled = Observation(*row["observed"])
        if "program" in row:
            layers[-1].compiled = _program(row, participants)
    preferences = {c.id: c.backend.handle_factory_preferences for c in participants.all}
    sources = participants.host_sources
    placement = place_tensors(network, preferences, participants.factories, options, sources)
    if len(network) != len(layers):
        raise StaleEntryError("its tensors lie in other kinds of memory now")
    rows = tuple(_decoded_row(row) for row in stored["report"])
    report = Report(rows, parts=tuple(_decoded_part(part) for part in stored["parts"]))
    return Prepared(network, placement, report, Segments(network, None))


def _decoded_layer(
    row: dict[str, Any],
    network: LayerGraph,
    layers: Sequence[Layer],
    blocks: Sequence[memoryview],
) -> Layer:
    infos = [decoded_info(each) for each in row["outputs"]]
    if "data" in row:
        (info,) = infos
        data = np.frombuffer(blocks[row["data"]], info.data_type.numpy_dtype)
        data = data.reshape(info.static_shape)
        return network.add_constant(data, info, name=row["name"]).producer
    inputs = [None if at is None else layers[at[0]].outputs[at[1]] for at in row["inputs"]]
    kind = LAYERS[row["type"]].descriptor
    descriptor = _decoded_descriptor(kind, row["parameters"])
    layer = network.add(row["type"], inputs, descriptor, name=row["name"], outputs=infos)
    if list(layer.output_infos) != infos:
        raise StaleEntryError(f"the layer {layer.name!r} has other outputs than it had")
    layer.backend = row["backend"]
    return layer


def _decoded_descriptor(kind: type[Descriptor], parameters: dict[str, Any]) -> Descriptor:
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    values = {
        name: _typed(enumeration_of(defaults[name]), value) for name, value in parameters.items()
    }
    return kind(**values)


def _typed(enumeration: type[ArmnnEnum] | None, value: Any) -> Any:
    """Return a JSON value as a descriptor's field holds it."""
    if isinstance(value, list):
        return tuple(_typed(enumeration, item) for item in value)
    return value if enumeration is None else member_of(enumeration, value)


def _program(row: dict[str, Any], participants: Participants) -> object:
    (candidate,) = [each for each in participants.all if each.id == row["backend"]]
    if not isinstance(candidate.backend, CachingBackend):
        raise StaleEntryError(f"the backend {candidate.id!r} finds no programs in caches any more")
    try:
        return candidate.backend.cached_program(row["program"], candidate.model)
    except StaleEntryError as error:
        raise StaleEntryError(f"of its program {row['name']!r}, {error}") from error


def _decoded_row(row: dict[str, Any]) -> ReportRow:
    refusals = tuple(Refusal(**each) for each in row["refusals"])
    return ReportRow(
        row["layer"],
        row["type"],
        row["backend"],
        refusals,
        row["compiled_into"],
        row["specialisation"],
        None if row["footprint"] is None else Footprint(**row["footprint"]),
        row["conversion"],
        row["multiply_adds"],
    )


def _decoded_part(part: dict[str, Any]) -> Part:
    borders = tuple(Border(**border) for border in part["borders"])
    return Part(**{**part, "borders": borders})
