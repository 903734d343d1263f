# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import Allocator, HostAllocator, Step, Workload
from armnn.errors import (
    CancelledError,
    ClosedError,
    DeadlineExceededError,
    ExecutionError,
    InvalidArgumentError,
)
from armnn.runtime.engine import POOL_LIMIT

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def doubled(batch: Any = 2) -> Network:
    """Return x + x over [batch, 3]."""
    network = Network("doubled")
    x = network.add_input("x", TensorInfo((batch, 3)))
    network.add_output("y", network.add_addition(x, x, name="double"))
    return network


class Doubling(Workload):
    """Doubles, and does before that what a test asks for."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def bind(self, inputs: Any, outputs: Any) -> Step:
        def step() -> None:
            self._before()
            outputs[0].map()[...] = 2 * inputs[0].map()

        return step


class Counting(Allocator):
    def __init__(self) -> None:
        self.live = 0
        self.most = 0

    def allocate(self, size: int, alignment: int) -> Any:
        self.live += 1
        self.most = max(self.most, self.live)
        return HostAllocator().allocate(size, alignment)

    def free(self, memory: Any) -> None:
        self.live -= 1


@pytest.fixture
def model(make_backend, make_runtime):
    return make_runtime(make_backend("Fake")).load_model(doubled("N"), ["Fake"])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "nothing was given for input 'x'"),
        ({"z": X}, "there is no input 'z'"),
        ({"x": X, "z": X}, "there is no input 'z'"),
        ({"x": X.astype(np.float64)}, "'x' is float64: expected float32"),
        ({"x": X.astype(">f4")}, "'x' is >f4: expected float32"),
        ({"x": X.ravel()}, r"'x' has shape \[6\]: expected \[N,3\]"),
    ],
)
def test_a_second_run_refuses_what_the_first_would(model, inputs: Any, message: str) -> None:
    model.run({"x": X})
    with pytest.raises(InvalidArgumentError, match=message):
        model.run(inputs)
    np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X)


def test_a_second_run_keeps_its_own_limits(model) -> None:
    stop, go_on = threading.Event(), threading.Event()
    stop.set()
    for _ in range(2):
        made = model.run({"x": X}, timeout=1000, cancel=go_on)
        np.testing.assert_array_equal(made["y"], 2 * X)
        with pytest.raises(CancelledError, match="cancelled before layer 'double'"):
            model.run({"x": X}, cancel=stop)
        target = np.zeros_like(X)
        assert model.run({"x": X + 1}, {"y": target}, timeout=1000)["y"] is target
        np.testing.assert_array_equal(target, 2 * (X + 1))
        with pytest.raises(DeadlineExceededError, match="time was up before layer 'double'"):
            model.run({"x": X}, timeout=-1)
        np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X)
    with pytest.raises(InvalidArgumentError, match=r"'x' has shape \[6\]"):
        model.run({"x": X.ravel()}, timeout=1000)


def test_a_second_run_takes_what_the_first_would(model) -> None:
    model.run({"x": X})
    strided = np.zeros((3, 4), np.float32).T[::2]
    strided[:] = X
    for given in (strided, X.tolist(), X[:0], X[:1], X):
        np.testing.assert_array_equal(model.run({"x": given})["y"], 2 * np.asarray(given))


def test_no_run_writes_to_what_another_returned_or_took(model) -> None:
    x = X.copy()
    first, second = model.run({"x": x})["y"], model.run({"x": x})["y"]
    model.run({"x": x + 1})
    for array in (first, second):
        np.testing.assert_array_equal(array, 2 * X)
        assert array.flags.owndata
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("error", [ZeroDivisionError("boom"), KeyboardInterrupt()])
def test_a_second_run_that_fails_leaves_nothing_behind(
    make_backend, make_runtime, error: BaseException
) -> None:
    due: list[BaseException] = []

    def before() -> None:
        if due:
            raise due.pop()

    kind = make_backend("Fake", create_workload=lambda *_: Doubling(before))
    memory = Counting()
    model = make_runtime(kind, custom_allocators={"Fake": memory}).load_model(doubled())
    model.run({"x": X})
    due.append(error)
    expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else ExecutionError
    with pytest.raises(expected) as failure:
        model.run({"x": X})
    if expected is ExecutionError:
        assert str(failure.value) == "layer 'double' (Addition) failed on Fake: boom"
    assert memory.live == 0
    np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X)
    model.unload()
    assert memory.live == 0


def test_closing_waits_for_a_second_run_and_takes_what_waits(make_backend, make_runtime) -> None:
    started, go = threading.Event(), threading.Event()
    go.set()

    def before() -> None:
        started.set()
        assert go.wait(10)

    kind = make_backend("Fake", create_workload=lambda *_: Doubling(before))
    runtime, results = make_runtime(kind), []
    model = runtime.load_model(doubled(), ["Fake"])
    model.run({"x": X})
    started.clear()
    go.clear()
    worker = threading.Thread(target=lambda: results.append(model.run({"x": X})["y"]))
    worker.start()
    assert started.wait(10)
    closer = threading.Thread(target=runtime.close)
    closer.start()
    closer.join(0.05)
    assert closer.is_alive()
    go.set()
    closer.join(10)
    worker.join(10)
    np.testing.assert_array_equal(results[0], 2 * X)
    with pytest.raises(ClosedError, match="closed before this call"):
        model.run({"x": X})


def test_a_plan_that_waits_for_its_next_run_makes_room_for_another(
    make_backend, make_runtime
) -> None:
    memory = Counting()
    runtime = make_runtime(make_backend("Fake"), plan_limit=1, custom_allocators={"Fake": memory})
    model = runtime.load_model(doubled("N"), ["Fake"])
    for batch in (1, 1, 2, 2, 1):
        model.run({"x": np.zeros((batch, 3), np.float32)})
        assert [row.specialisation for row in model.report] == [f"x=[{batch},3]"]
        assert memory.live == 1
    model.prepare({"x": (4, 3)})
    assert [row.specialisation for row in model.report] == ["x=[4,3]"]


def test_a_watched_run_takes_the_memory_that_is_there(make_backend, make_runtime) -> None:
    memory = Counting()
    runtime = make_runtime(make_backend("Fake"), custom_allocators={"Fake": memory})
    model = runtime.load_model(doubled(), ["Fake"])
    for arguments in ({}, {"timeout": 60}, {}, {}):
        np.testing.assert_array_equal(model.run({"x": X}, **arguments)["y"], 2 * X)
    assert memory.most == 1


def test_many_threads_at_once_leave_a_bounded_number_of_contexts(
    make_backend, make_runtime
) -> None:
    threads = 2 * POOL_LIMIT + 4
    together = threading.Barrier(threads)
    kind = make_backend("Fake", create_workload=lambda *_: Doubling(lambda: together.wait(10)))
    memory = Counting()
    model = make_runtime(kind, custom_allocators={"Fake": memory}).load_model(doubled())

    def work(number: int) -> bool:
        return bool((model.run({"x": X + number})["y"] == 2 * (X + number)).all())

    with ThreadPoolExecutor(threads) as pool:
        for _ in range(3):
            assert all(pool.map(work, range(threads)))
    assert memory.most == threads
    assert memory.live <= 2 * POOL_LIMIT  # those that wait, and those in the plan's pool
    model.unload()
    assert memory.live == 0
