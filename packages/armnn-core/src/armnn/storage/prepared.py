# SPDX-License-Identifier: MIT
"""Encoding of a prepared network as JSON and arrays.

Compiled programs have entries of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armnn.backends.base import CachingBackend
from armnn.backends.cache import CachedProgram, StaleEntryError
from armnn.backends.footprint import Footprint
from armnn.errors import ArmnnError
from armnn.graph import LayerGraph
from armnn.optimizer import Border, Part, Prepared, Refusal, Report, ReportRow
from armnn.optimizer.assignment.boundaries import place_tensors
from armnn.optimizer.observe import Observation
from armnn.optimizer.prepared import Segments
from armnn.storage.layers import UnstorableError, decoded_layer, encoded_layer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from armnn.graph import Layer, Value
    from armnn.optimizer import OptimizerOptions, Participants


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
    stored = encoded_layer(layer, numbers, arrays)
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
        layers.append(decoded_layer(row, network, layers, blocks))
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
    return Prepared(network, placement, lambda: report, Segments(network, None))


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
