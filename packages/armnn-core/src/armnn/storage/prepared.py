# SPDX-License-Identifier: MIT
"""Encoding of a prepared network as JSON and arrays.

Compiled programs have entries of their own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from armnn.backends.base import CachingBackend
from armnn.backends.cache import CachedProgram, StaleEntryError
from armnn.errors import ArmnnError
from armnn.graph.layer_graph import LayerGraph
from armnn.optimizer.assignment.boundaries import place_tensors
from armnn.optimizer.prepared import Prepared, Segments
from armnn.storage.layers import UnstorableError, decoded_layer, encoded_layer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from armnn.graph import Layer, Value
    from armnn.optimizer import OptimizerOptions, Participants, Report


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
    from armnn.optimizer.observe import Observation  # late, as below: few are observed

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
            from armnn.optimizer.observe import Observation

            layers[-1].compiled = Observation(*row["observed"])
        if "program" in row:
            layers[-1].compiled = _program(row, participants)
    preferences = {c.id: c.backend.handle_factory_preferences for c in participants.all}
    sources = participants.host_sources
    placement = place_tensors(network, preferences, participants.factories, options, sources)
    if len(network) != len(layers):
        raise StaleEntryError("its tensors lie in other kinds of memory now")
    _check_report(stored["report"], stored["parts"])
    make_report = partial(_decoded_report, stored["report"], stored["parts"])
    return Prepared(network, placement, make_report, Segments(network, None))


_ROW: Final = {
    "layer",
    "type",
    "backend",
    "refusals",
    "compiled_into",
    "specialisation",
    "footprint",
    "conversion",
    "multiply_adds",
}
_REFUSAL: Final = {"backend", "reason"}
_FOOTPRINT: Final = {"arena_bytes", "scratch_bytes", "weight_bytes"}
_PART: Final = {"name", "backend", "layers", "specialisation", "borders"}
_BORDER: Final = {"tensor", "source", "bytes", "copied"}


def _check_report(rows: list[dict[str, Any]], parts: list[dict[str, Any]]) -> None:
    """Check the names in a report, which is decoded later.

    Raises:
        StaleEntryError: It is none.
    """
    described = [(row, _ROW) for row in rows]
    described += [(each, _REFUSAL) for row in rows for each in row["refusals"]]
    described += [(row["footprint"], _FOOTPRINT) for row in rows if row["footprint"] is not None]
    described += [(part, _PART) for part in parts]
    described += [(each, _BORDER) for part in parts for each in part["borders"]]
    for each, expected in described:
        if each.keys() != expected:
            raise StaleEntryError(f"its report has {sorted(each)}, expected {sorted(expected)}")


def _decoded_report(rows: list[dict[str, Any]], parts: list[dict[str, Any]]) -> Report:
    from armnn.storage.reports import decoded_report  # late: a report is asked for seldom

    return decoded_report(rows, parts)


def _program(row: dict[str, Any], participants: Participants) -> object:
    (candidate,) = [each for each in participants.all if each.id == row["backend"]]
    if not isinstance(candidate.backend, CachingBackend):
        raise StaleEntryError(f"the backend {candidate.id!r} finds no programs in caches any more")
    try:
        return candidate.backend.cached_program(row["program"], candidate.model)
    except StaleEntryError as error:
        raise StaleEntryError(f"of its program {row['name']!r}, {error}") from error
