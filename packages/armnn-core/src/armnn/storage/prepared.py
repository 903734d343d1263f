# SPDX-License-Identifier: MIT
"""Encoding of a plan and its graph as JSON and arrays.

Compiled programs are not in them, but in entries of their own in the store, by their keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from numpy.typing import NDArray

from armnn.backends.cache import Program, ProgramCache, StaleEntryError
from armnn.backends.encoding import UnstorableError, decoded_layer, encoded_layer
from armnn.errors import ArmnnError
from armnn.graph import Layer, Value
from armnn.graph.network import Network
from armnn.optimizer import OptimizerOptions, Participants
from armnn.optimizer.assignment.boundaries import place_tensors
from armnn.optimizer.plan import CARRIERS, Observation, Plan, plan_of
from armnn.storage.programs import compiled_of, keep_compiled, program_of, stored_in_place
from armnn.storage.reports import check_report, decoded_report, encoded_report

_NOTHING: Final[Mapping[str, Program]] = MappingProxyType({})


def encoded(
    plan: Plan, participants: Participants, programs: ProgramCache
) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return a plan and its graph as a dictionary for JSON, and the arrays that it numbers.

    Args:
        plan: The plan.
        participants: Its backends.
        programs: The store that keeps the programs of the backends.

    Raises:
        UnstorableError: It has segments that wait for data, or a compiled part that cannot be
            stored.
    """
    if plan.rest is not None:
        raise UnstorableError("it has segments that are prepared when computed data is known")
    network, arrays = plan.network, list[Any]()
    order = [
        layer
        for layer in network.topological_order()
        if layer.type not in ("Input", "Output", *CARRIERS)
    ]
    order = [*network.inputs, *order, *network.outputs]
    numbers = {
        value: [number, value.index]
        for number, layer in enumerate(order)
        for value in layer.outputs
    }
    for layer in network.topological_order():
        if layer.type in CARRIERS and layer.inputs[0] is not None:
            numbers[layer.output] = numbers[layer.inputs[0]]  # loading inserts the copies again
    layers = [_encoded_layer(layer, numbers, arrays, participants, programs) for layer in order]
    made: dict[str, Any] = {
        "name": network.name,
        "layers": layers,
        "report": encoded_report(plan.report),
    }
    if plan.in_place:
        made["in_place"] = dict(plan.in_place)
    return made, arrays


def _encoded_layer(
    layer: Layer,
    numbers: dict[Value, list[int]],
    arrays: list[NDArray[Any]],
    participants: Participants,
    programs: ProgramCache,
) -> dict[str, Any]:
    stored = encoded_layer(layer, numbers, arrays)
    if isinstance(layer.compiled, Observation):
        stored["observed"] = [layer.compiled.layer, layer.compiled.slot]
    elif layer.call is not None:
        raise UnstorableError(
            f"layer {layer.name!r} calls {layer.call!r}, a Python function, which cannot be "
            "stored: load the model with load_model() in the program that registers it"
        )
    elif layer.compiled is not None:
        if isinstance(layer.compiled, Program):
            kind, key = "program", layer.compiled.cache_key
        else:
            kind, key = "compiled", keep_compiled(layer, participants, programs)
        if not key:
            raise UnstorableError(
                f"{layer.backend}'s program of {layer.name!r} cannot be serialized"
            )
        stored[kind] = key
    return stored


def decoded(
    stored: dict[str, Any],
    blocks: Sequence[memoryview],
    participants: Participants,
    options: OptimizerOptions,
    programs: Mapping[str, Program] = _NOTHING,
) -> Plan:
    """Return the plan that :func:`encoded` stored; its constants are views of the blocks.

    Args:
        stored: The dictionary.
        blocks: The memory of the arrays.
        participants: The backends that take part.
        options: The caller's decisions.
        programs: The programs that have been found in the store already, by the names of layers.

    Raises:
        StaleEntryError: It is not what was stored, or a program does not fit any more.
    """
    try:
        return _decoded(stored, blocks, participants, options, programs)
    except StaleEntryError:
        raise
    except (ArmnnError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise StaleEntryError(f"the stored plan cannot be decoded: {error!r}") from error


def _decoded(
    stored: dict[str, Any],
    blocks: Sequence[memoryview],
    participants: Participants,
    options: OptimizerOptions,
    programs: Mapping[str, Program],
) -> Plan:
    network = Network(stored["name"])
    layers: list[Layer] = []
    for row in stored["layers"]:
        layers.append(decoded_layer(row, network, layers, blocks))
        if "observed" in row:
            layers[-1].compiled = Observation(*row["observed"])
        if "compiled" in row:
            layers[-1].compiled = compiled_of(row, participants)
        if "program" in row:
            layers[-1].compiled = programs.get(row["name"]) or program_of(row, participants)
    preferences = {c.id: c.handle_factory_preferences for c in participants.all}
    sources = participants.host_sources
    memory = place_tensors(
        network,
        preferences,
        participants.factories,
        options,
        sources,
        participants.places_on_host,
    )
    check_report(stored["report"])
    plan = plan_of(network, memory, partial(decoded_report, stored["report"]))
    plan.in_place = stored_in_place(stored)
    return plan
