# SPDX-License-Identifier: MIT
from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from armnn.runtime import NetworkProperties
from armnn.runtime.calls import tasks
from armnn.runtime.calls.tasks import AwaitedRuns

X = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}


class Runs:
    """Runs that record whether they are the event loop's."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.by_loop: list[bool] = []

    def __call__(self, inputs: Any, **_: Any) -> dict[str, Any]:
        self.by_loop.append(threading.current_thread() is threading.main_thread())
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        return {"y": inputs["x"]}


def awaited(runs: AwaitedRuns, run: Any, *given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the outputs of runs, one after the other."""

    async def all_of_them() -> list[dict[str, Any]]:
        return [await runs.run(run, each, None, None) for each in given]

    return asyncio.run(all_of_them())


@pytest.fixture
def quick(monkeypatch) -> None:
    """Let each run count as a quick one."""
    monkeypatch.setattr(tasks, "QUICK_NS", 10**12)
    monkeypatch.setattr(tasks, "_LATE_NS", 10**13)


@pytest.mark.usefixtures("quick")
def test_a_quick_run_is_the_loops_once_its_shapes_are_known() -> None:
    run = Runs()
    other = {"x": np.zeros((5, 3), np.float32)}
    made = awaited(AwaitedRuns(may_wait=False), run, X, X, other, X, other)
    assert run.by_loop == [False, True, False, True, True]
    assert [each["y"].shape for each in made] == [(2, 3), (2, 3), (5, 3), (2, 3), (5, 3)]


def test_a_run_that_takes_longer_is_a_threads() -> None:
    run = Runs(seconds=0.001)
    awaited(AwaitedRuns(may_wait=False), run, X, X, X)
    assert run.by_loop == [False] * 3


@pytest.mark.usefixtures("quick")
def test_a_run_that_may_wait_for_a_process_is_a_threads() -> None:
    run = Runs()
    awaited(AwaitedRuns(may_wait=True), run, X, X, X)
    assert run.by_loop == [False] * 3


@pytest.mark.usefixtures("quick")
def test_a_run_that_held_the_loop_up_is_a_threads_again(monkeypatch) -> None:
    monkeypatch.setattr(tasks, "_LATE_NS", -1)
    run = Runs()
    awaited(AwaitedRuns(may_wait=False), run, X, X, X)
    assert run.by_loop == [False, True, False]


@pytest.mark.usefixtures("quick")
def test_shapes_are_forgotten_when_there_are_too_many(monkeypatch) -> None:
    monkeypatch.setattr(tasks, "_MOST_SHAPES", 2)
    run = Runs()
    shapes = [{"x": np.zeros(size, np.float32)} for size in range(3)]
    awaited(AwaitedRuns(may_wait=False), run, *shapes, shapes[2], shapes[0])
    assert run.by_loop == [False, False, False, True, False]


def test_a_cancelled_task_stops_its_run() -> None:
    inside, go_on, ended = (threading.Event() for _ in range(3))
    stopped = []

    def run(inputs: Any, *, cancel: Any, **_: Any) -> dict[str, Any]:
        inside.set()
        assert go_on.wait(30)
        stopped.append(cancel.is_set())
        ended.set()
        return dict(inputs)

    async def cancelled() -> None:
        task = asyncio.ensure_future(AwaitedRuns(may_wait=False).run(run, X, None, None))
        assert await asyncio.to_thread(inside.wait, 30)  # meanwhile the loop goes on
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        assert await asyncio.to_thread(ended.wait, 30)

    asyncio.run(cancelled())
    assert stopped == [True]


@pytest.mark.parametrize(("may_wait", "most"), [(False, 2), (True, 3)])
def test_as_many_runs_at_once_as_cpus_unless_they_wait(monkeypatch, may_wait, most) -> None:
    monkeypatch.setattr(tasks.os, "sched_getaffinity", lambda _: {0, 1})
    inside, go_on = threading.Semaphore(0), threading.Event()
    running = []

    def run(inputs: Any, *, timeout: float | None, **_: Any) -> dict[str, Any]:
        if timeout is not None and timeout <= 0:
            raise DeadlineExceededError("the time was up")
        running.append(inputs)
        inside.release()
        assert go_on.wait(30)
        return dict(inputs)

    async def three() -> None:
        runs = AwaitedRuns(may_wait=may_wait)
        tasks = [asyncio.ensure_future(runs.run(run, X, None, None)) for _ in range(3)]
        for _ in range(most):
            assert await asyncio.to_thread(inside.acquire, timeout=30)
        if not may_wait:
            with pytest.raises(DeadlineExceededError):  # while it waits for its turn
                await runs.run(run, X, 0.01, None)
        assert len(running) == most
        go_on.set()
        assert len(await asyncio.gather(*tasks)) == len(running)

    asyncio.run(three())


def test_a_network_is_run_with_its_limits(make_backend, make_runtime) -> None:
    runtime = make_runtime(make_backend("Any"))
    network = Network("double")
    x = network.add_input("x", TensorInfo((2, 3)))
    network.add_output("y", network.add_addition(x, x))
    model = runtime.load_model(network, ["Any"])
    made = asyncio.run(model.run_async(X, timeout=1000, cancel=threading.Event()))
    np.testing.assert_array_equal(made["y"], 2 * X["x"])
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CancelledError, match="was cancelled before layer"):
        asyncio.run(model.run_async(X, cancel=cancel))
    with pytest.raises(DeadlineExceededError, match="the time was up before layer"):
        asyncio.run(model.run_async(X, timeout=-1))
    with pytest.raises(InvalidArgumentError, match="the timeout is 'soon'"):
        asyncio.run(model.run_async(X, timeout="soon"))
    with pytest.raises(InvalidArgumentError, match=r"cancel.*is_set"):
        asyncio.run(model.run_async(X, cancel=1))
    with pytest.raises(InvalidArgumentError, match="there is no input 'z'"):
        asyncio.run(model.run_async({"z": X["x"]}))


def test_awaiting_can_be_ruled_out(make_backend, make_runtime) -> None:
    runtime = make_runtime(make_backend("Any"))
    network = Network("same")
    network.add_output("y", network.add_input("x", TensorInfo((2, 3))))
    optimized = runtime.optimize(network, ["Any"])
    model = runtime.load_network(optimized, NetworkProperties(async_enabled=False))
    with pytest.raises(InvalidArgumentError, match="loaded with async_enabled=False: use run"):
        asyncio.run(model.run_async(X))
