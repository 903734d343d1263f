# SPDX-License-Identifier: MIT
"""Prepared networks as JSON and arrays, with any backend's programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from armnn import Network, TensorInfo
from armnn.backends.cache import Program, StaleEntryError
from armnn.backends.contract import CachingBackend
from armnn.backends.encoding import UnstorableError
from armnn.layers.plumbing import PreCompiledDescriptor
from armnn.optimizer import OptimizerOptions, Participants, Plan, Report
from armnn.optimizer.assignment.boundaries import place_tensors
from armnn.optimizer.plan import plan_of
from armnn.storage.prepared import decoded, encoded
from armnn.storage.programs import ModelPrograms
from fakes.backends import DeviceFactory

if TYPE_CHECKING:
    from armnn.backends import ModelContext, Workload


class Stored(Program):
    def __init__(self, *key: object) -> None:
        self.key = key

    @property
    def cache_key(self) -> Sequence[Any]:
        return self.key


def prepared(compiled: object, participants: Participants) -> Plan:
    """Return a network of one layer, compiled by Keeper."""
    network, info = Network("compiled"), TensorInfo((2,))
    x = network.add_input("x", info)
    descriptor = PreCompiledDescriptor(num_output_slots=1)
    layer = network.add("PreCompiled", [x], descriptor, name="all", outputs=[info])
    layer.backend, layer.compiled = "Keeper", compiled
    network.add_output("y", layer.output)
    placement = place_tensors(network, {}, participants.factories, OptimizerOptions(), {})
    return plan_of(network, placement, Report)


def stored(made: Plan, participants: Participants) -> tuple[dict[str, Any], list[memoryview]]:
    header, arrays = encoded(made, participants, ModelPrograms())
    assert arrays == []
    return json.loads(json.dumps(header)), []


@pytest.fixture
def keeper(make_backend) -> type[Any]:
    class Keeper(make_backend("Keeper"), CachingBackend):
        def cached_program(self, key: Sequence[Any], model: ModelContext) -> Program:
            if key[0] == "old":
                raise StaleEntryError("it is too old")
            return Stored(*key)

        def program_workload(self, *_: object) -> Workload:
            raise AssertionError("nothing here runs the program")

    return Keeper


def test_a_backend_finds_its_program_by_the_key_of_the_program(keeper, participants) -> None:
    parties = participants(keeper)
    entry = stored(prepared(Stored("abc", [1, 2]), parties), parties)
    found = decoded(*entry, parties, OptimizerOptions()).network.find("all")
    assert isinstance(found.compiled, Stored)
    assert (found.backend, found.compiled.key) == ("Keeper", ("abc", [1, 2]))


@pytest.mark.parametrize("compiled", [Stored(), object()], ids=["no key", "no program"])
def test_what_no_cache_has_is_not_stored(compiled, keeper, participants) -> None:
    parties = participants(keeper)
    with pytest.raises(UnstorableError, match="Keeper's program of 'all' cannot be serialized"):
        stored(prepared(compiled, parties), parties)


def test_a_program_that_does_not_fit_makes_the_network_stale(keeper, participants) -> None:
    parties = participants(keeper)
    entry = stored(prepared(Stored("old"), parties), parties)
    with pytest.raises(StaleEntryError, match="of its program 'all', it is too old"):
        decoded(*entry, parties, OptimizerOptions())


def test_a_backend_without_programs_makes_the_network_stale(
    keeper, make_backend, participants
) -> None:
    parties = participants(keeper)
    entry = stored(prepared(Stored("abc"), parties), parties)
    others = participants(make_backend("Keeper"))
    with pytest.raises(StaleEntryError, match="'Keeper' finds no programs in caches any more"):
        decoded(*entry, others, OptimizerOptions())


def test_copies_between_memories_are_made_again_where_a_network_is_read(
    make_backend, participants
) -> None:
    device = make_backend(
        "Device",
        handle_factory_preferences=("device",),
        register_tensor_handle_factories=lambda _, registry: registry.register(
            DeviceFactory("device")
        ),
    )
    parties = participants(make_backend("Host"), device)
    network = Network("mixed")
    x = network.add_input("x", TensorInfo((2,)))
    total = network.add_addition(x, x, name="a")
    network.add_output("y", network.add_multiplication(total, total, name="b"))
    network.find("a").backend, network.find("b").backend = "Host", "Device"
    preferences = {"Device": ("device",)}
    placement = place_tensors(network, preferences, parties.factories, OptimizerOptions(), {})
    made = plan_of(network, placement, Report)
    assert [layer.type for layer in made.layers] == ["Addition", "MemCopy", "Multiplication"]
    header, blocks = stored(made, parties)
    assert [row["type"] for row in header["layers"]] == [
        "Input",
        "Addition",
        "Multiplication",
        "Output",
    ]
    found = decoded(header, blocks, parties, OptimizerOptions())
    for plan in (made, found):
        copy = plan.layers[1]
        assert (copy.name, copy.backend) == ("[ a (0) -> b (0) ]", "Device")
        assert [tensor.factory for tensor in copy.outputs] == ["device"]
        assert plan.layers[2].inputs == copy.outputs * 2
