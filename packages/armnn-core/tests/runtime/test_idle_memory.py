# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import HostAllocator
from armnn.runtime import engine as idle_memory
from armnn.runtime.engine import IdleMemory


@dataclass(eq=False)
class Plan:
    """A plan with contexts of one size."""

    context_bytes: int
    contexts: int = 0

    @property
    def idle_bytes(self) -> int:
        return self.contexts * self.context_bytes

    def drop_contexts(self) -> None:
        self.contexts = 0


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> IdleMemory:
    monkeypatch.setattr(idle_memory, "SLACK_BYTES", 10)
    return IdleMemory()


def test_the_plans_that_have_waited_longest_lose_their_contexts(memory: IdleMemory) -> None:
    plans = [Plan(size) for size in (40, 50, 60, 5)]
    for plan in plans:
        memory.make_room(plan, plan.context_bytes)
        plan.contexts = 1
        memory.make_room(plan)
    assert [plan.contexts for plan in plans] == [0, 0, 1, 1]
    memory.make_room(plans[0], 40)
    assert [plan.contexts for plan in plans] == [0, 0, 0, 1]


def test_a_plan_keeps_the_contexts_of_its_threads(memory: IdleMemory) -> None:
    small, plan = Plan(1, 1), Plan(50, 8)
    memory.make_room(small)
    memory.make_room(plan)
    assert (small.contexts, plan.contexts) == (0, 8)


def test_a_plan_that_is_gone_does_not_count(memory: IdleMemory) -> None:
    large, plans = Plan(100), [Plan(40, 1), Plan(40, 1)]
    memory.make_room(large)
    memory.forget(large)
    for plan in plans:
        memory.make_room(plan)
    assert [plan.contexts for plan in plans] == [0, 1]


def test_twelve_batch_sizes_keep_little_more_than_the_largest(
    make_backend, make_runtime, memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    live: dict[int, int] = {}

    class Counted(HostAllocator):
        def allocate(self, size: int, alignment: int) -> np.ndarray:
            block = super().allocate(size, alignment)
            live[id(block)] = size
            return block

        def free(self, block: np.ndarray) -> None:
            del live[id(block)]
            super().free(block)

    runtime = make_runtime(make_backend("Fake"), custom_allocators={"Fake": Counted()})
    network = Network("squares")
    x = network.add_input("x", TensorInfo(("N", 1000)))
    network.add_output("y", network.add_multiplication(x, x))
    model = runtime.load_model(network, ["Fake"])
    largest = 0
    for batch in range(1, 13):
        model.run({"x": np.ones((batch, 1000), np.float32)})
        largest = max(largest, *live.values())
    assert sum(live.values()) <= 1.2 * largest
    assert len(model.report) == 12
