# SPDX-License-Identifier: MIT
"""A plan of programs runs the same with and without its graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import Workload
from armnn.backends.cache import Program, StaleEntryError
from armnn.backends.contract import CachingBackend
from armnn.errors import ExecutionError
from armnn.layers.plumbing import PreCompiledDescriptor
from armnn.optimizer import OptimizerOptions, Participants, Plan, Report
from armnn.optimizer.assignment.boundaries import place_tensors
from armnn.optimizer.plan import plan_of
from armnn.runtime.calls.binding import handles_on
from armnn.runtime.context import Binding
from armnn.runtime.engine import LoadedPlan
from armnn.runtime.planner import MemoryStrategies
from armnn.storage.prepared import decoded, encoded
from armnn.storage.programs import ModelPrograms, plan_of_programs
from armnn.types import DataType

if TYPE_CHECKING:
    from armnn.backends import ModelContext, Step, TensorHandle
    from armnn.graph import Layer

A = np.array([[5, 7, 9]], np.float32)
B = np.array([[1, 1, 2]], np.float32)
INFOS = dict.fromkeys(("a", "b", "twice", "difference"), TensorInfo((1, 3)))
EXPECTED = {"twice": [[2, 2, 4]], "difference": [[-4, -6, -7]]}


class SumProgram(Program):
    """Subtracts two tensors, and doubles the first."""

    @property
    def cache_key(self) -> Sequence[Any]:
        return ("program",)


class ProgramWorkload(Workload):
    def __init__(self, scratch: int = 0) -> None:
        self.scratch = scratch

    @property
    def scratch_bytes(self) -> int:
        return self.scratch

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        first, second = (each.map() for each in inputs if each is not None)
        difference, twice = (each.map() for each in outputs)

        def step() -> None:
            if first[0, 0] < 0:
                raise ValueError("it is negative")
            np.subtract(first, second, out=difference)
            np.multiply(first, 2, out=twice)

        return step


def network() -> Network:
    """Return a program that reads inputs in another order."""
    made, info = Network("swapped"), TensorInfo((1, 3))
    a, b = made.add_input("a", info), made.add_input("b", info)
    descriptor = PreCompiledDescriptor(num_output_slots=2)
    layer = made.add("PreCompiled", [b, a], descriptor, name="all", outputs=[info, info])
    layer.backend, layer.compiled = "Keeper", SumProgram()
    made.add_output("twice", layer.outputs[1])
    made.add_output("difference", layer.outputs[0])
    return made


def stored(made: Network, participants: Participants) -> dict[str, Any]:
    placement = place_tensors(made, {}, participants.factories, OptimizerOptions(), {})
    rows, arrays = encoded(plan_of(made, placement, Report), participants, ModelPrograms())
    assert arrays == []
    return json.loads(json.dumps(rows))


@pytest.fixture
def parties(make_backend, participants) -> Callable[..., Participants]:
    def make(scratch: int = 0, **members: object) -> Participants:
        class Keeper(make_backend("Keeper", **members), CachingBackend):
            def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
                return ProgramWorkload(scratch)

            def cached_program(self, key: Sequence[Any], model: ModelContext) -> Program:
                if key[0] == "old":
                    raise StaleEntryError("it is too old")
                return SumProgram()

            def program_workload(self, *_: object) -> Workload:
                return ProgramWorkload(scratch)

        return participants(Keeper)

    return make


def decode(rows: dict[str, Any], participants: Participants) -> Plan:
    """Return the plan that is made of a graph."""
    return decoded(rows, [], participants, OptimizerOptions())


def read(rows: dict[str, Any], participants: Participants) -> Plan | None:
    """Return the plan that is made without a graph."""

    def graph(found: Mapping[str, Program]) -> Network:
        return decoded(rows, [], participants, OptimizerOptions(), found).network

    return plan_of_programs(rows, participants, graph)


MAKERS = {"rows": read, "graph": decode}


def planned(
    participants: Participants,
    strategies: MemoryStrategies | None = None,
    maker: str = "rows",
    made: Network | None = None,
) -> LoadedPlan:
    rows = stored(network() if made is None else made, participants)
    plan = MAKERS[maker](rows, participants)
    assert plan is not None
    return LoadedPlan(plan, participants, {}, strategies)


def ran(plan: LoadedPlan) -> dict[str, Any]:
    context = plan.acquire()
    outputs = context.run([A, B], None)
    context.begin_repeats({})
    repeated = context.repeat({"a": A, "b": B})
    plan.release(context)
    made = {name: array.tolist() for name, array in outputs.items()}
    assert repeated is not None
    assert made == {name: array.tolist() for name, array in repeated.items()}
    return made


def test_inputs_and_outputs_are_those_of_the_network_in_its_order(parties) -> None:
    plan = planned(parties())
    assert ran(plan) == EXPECTED
    assert list(ran(plan)) == ["twice", "difference"]


@pytest.mark.parametrize("strategies", [None, MemoryStrategies()], ids=["default", "named"])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_plan_says_the_same_with_and_without_the_graph(maker, strategies, parties) -> None:
    plan = planned(parties(), strategies, maker)
    assert ran(plan) == EXPECTED
    assert plan.arena_bytes == 4 * 64
    assert plan.output_shapes == {"twice": (1, 3), "difference": (1, 3)}
    assert plan.owners("a") == plan.owners("twice") == {"Keeper"}
    assert plan.plan.name == plan.plan.network.name == "swapped"
    assert list(plan.plan.report) == []
    (layer,) = plan.plan.layers
    assert [each.name for each in layer.outputs] == ["all:0", "all:1"]


def test_the_graph_is_made_for_who_asks_around_the_same_programs(parties) -> None:
    plan = read(stored(network(), parties()), parties())
    assert plan is not None
    assert plan.layers[0].layer is None
    assert plan.network.find("all").compiled is plan.layers[0].compiled
    assert plan.network is plan.network


def two_programs() -> Network:
    """Return a program that reads what another one made, and an input beside it."""
    made, info = network(), TensorInfo((1, 3))
    difference = made.outputs[1].inputs[0]
    descriptor = PreCompiledDescriptor(num_output_slots=2)
    read = [made.inputs[0].output, difference]
    layer = made.add("PreCompiled", read, descriptor, name="next", outputs=[info, info])
    layer.backend, layer.compiled = "Keeper", SumProgram()
    made.add_output("sum", layer.outputs[0])
    return made


@pytest.mark.parametrize("maker", MAKERS)
def test_several_programs_run_through_the_same_engine(maker, parties) -> None:
    plan = planned(parties(), maker=maker, made=two_programs())
    assert [layer.name for layer in plan.plan.layers] == ["all", "next"]
    assert ran(plan) == {**EXPECTED, "sum": (A - (B - A)).tolist()}
    # a, b, difference, twice and sum live at once; what nothing reads takes the place of b
    assert plan.arena_bytes == 5 * 64


def test_arrays_of_a_caller_are_bound_by_the_graph(parties) -> None:
    plan = planned(parties())
    outputs = {name: np.zeros((1, 3), np.float32) for name in ("twice", "difference")}
    context, copied = plan.bound(
        Binding(handles_on({"a": A, "b": B}, INFOS), handles_on(outputs, INFOS))
    )
    context.bound_run()
    assert {name: array.tolist() for name, array in outputs.items()} == EXPECTED
    assert copied == {}
    assert ran(plan) == EXPECTED


def test_a_failure_names_the_program(parties) -> None:
    context = planned(parties()).acquire()
    with pytest.raises(ExecutionError, match=r"'all' \(PreCompiled\) failed on Keeper: it is neg"):
        context.run([A, -B], None)


def test_the_scratch_memory_of_a_program_is_in_the_arena(parties) -> None:
    plan = planned(parties(scratch=1000))
    assert ran(plan) == EXPECTED
    assert plan.arena_bytes == 4 * 64 + 1024


def test_memory_of_a_backend_s_own_needs_the_graph(parties) -> None:
    other = parties(handle_factory_preferences=("own",))
    assert read(stored(network(), parties()), other) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"program": ["old"]}, "of its program 'all', it is too old"),
        ({"outputs": [[[1, 3], 9999, [], [], None]] * 2}, "DataType has no 9999"),
    ],
)
def test_what_does_not_fit_makes_the_network_stale(change, message, parties) -> None:
    rows = stored(network(), parties())
    rows["layers"][2].update(change)
    for maker in MAKERS.values():
        with pytest.raises(StaleEntryError, match=message):
            maker(rows, parties())


@pytest.mark.parametrize(
    "change",
    [
        {"type": "Addition"},
        {"name": 3},
        {"name": "a"},
        {"backend": "Other"},
        {"inputs": [[1, 1], [0, 0]]},
        {"inputs": [[1, 0], [2, 0]]},
        {"outputs": [[[1, 3], int(DataType.FLOAT32), [], [], None]]},
        {"outputs": [[[None, 3], int(DataType.FLOAT32), [], [], None]] * 2},
        {"parameters": {}},
        {"parameters": {"num_output_slots": 3}},
        {"data": 0},
        {"observed": ["all", 0]},
    ],
    ids=str,
)
def test_other_layers_are_left_to_the_decoder_of_graphs(change, parties) -> None:
    rows = stored(network(), parties())
    row = 0 if change == {"name": "a"} else 2
    if row == 0:
        rows["layers"][1]["name"] = "a"
    else:
        rows["layers"][row].update(change)
    assert read(rows, parties()) is None


def test_an_output_may_pass_an_input_on(parties) -> None:
    """Models of transformers repeat their inputs like this."""
    made, participants = network(), parties()
    made.add_output("same", made.inputs[1].output)
    plan = planned(participants, made=made)
    assert ran(plan) == {**EXPECTED, "same": B.tolist()}
    assert plan.output_shapes["same"] == (1, 3)


@pytest.mark.parametrize(
    "at",
    [[[2, 2]], [[2, -1]], [[0, 1]], [[-1, 0]], [[2, "a"]], [[9, 0]], [], None, [[2, 1.0]], [[2]]],
    ids=str,
)
def test_an_output_of_something_else_is_left_to_the_decoder_of_graphs(at, parties) -> None:
    rows = stored(network(), parties())
    rows["layers"][3]["inputs"] = at
    assert read(rows, parties()) is None


@pytest.mark.parametrize("name", ["report", "layers", "name"])
def test_what_is_missing_is_left_to_the_decoder_of_graphs(name, parties) -> None:
    rows = stored(network(), parties())
    del rows[name]
    assert read(rows, parties()) is None
