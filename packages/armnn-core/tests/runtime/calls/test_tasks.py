# SPDX-License-Identifier: MIT
from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import (
    ASYNC_EXECUTION,
    AsyncExecution,
    BackendContext,
    Step,
    Task,
    Workload,
)
from armnn.errors import (
    CancelledError,
    ClosedError,
    DeadlineExceededError,
    ExecutionError,
    InvalidArgumentError,
)
from armnn.runtime import NetworkProperties
from armnn.runtime.calls import tasks

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def accumulator() -> Network:
    """Return a network that adds its input to a state."""
    network = Network("accumulator")
    x, state = (network.add_input(name, TensorInfo((2, 3))) for name in ("x", "total"))
    network.add_output("total", network.add_addition(x, state, name="add"))
    return network


class Gate:
    """A layer that waits until the gate is open."""

    def __init__(self) -> None:
        self.inside, self.is_open, self.fails = (threading.Event() for _ in range(3))

    def pass_through(self) -> None:
        self.inside.set()
        assert self.is_open.wait(30)
        if self.fails.is_set():
            raise RuntimeError("out of order")


class BusyThreads:
    """Threads that run what is submitted on demand."""

    def __init__(self, started: list[Callable[[], Any]]) -> None:
        self._started = started

    def submit(self, run: Callable[[], Any]) -> Future[Any]:
        made: Future[Any] = Future()

        def start() -> None:
            try:
                made.set_result(run())
            except ExecutionError as error:
                made.set_exception(error)

        self._started.append(start)
        return made


class Gated(Workload):
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def bind(self, inputs: Any, outputs: Any) -> Step:
        def step() -> None:
            self._gate.pass_through()
            outputs[0].map()[...] = inputs[0].map() + inputs[1].map()

        return step


class ThreadTask(Task):
    """A step in a thread of its own."""

    def __init__(self, step: Any, deadline_ns: int | None) -> None:
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, args=(step,))
        self._deadline_ns = deadline_ns
        self._thread.start()

    def _work(self, step: Any) -> None:
        try:
            step()
        except Exception as error:
            self._error = error

    def wait(self, timeout: float | None = None) -> bool:
        if self._deadline_ns is not None and time.perf_counter_ns() > self._deadline_ns:
            raise DeadlineExceededError("too late")
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        if self._error is not None:
            raise ExecutionError("the step failed") from self._error
        return True

    def close(self) -> None:
        self._thread.join()


class Submits(AsyncExecution):
    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, step: Step, *, deadline_ns: int | None = None) -> Task:
        self.submitted += 1
        return ThreadTask(step, deadline_ns)


class Setting:
    """A model on a gated backend."""

    def __init__(self, make_backend: Any, make_runtime: Any, *, extends: bool) -> None:
        self.gate, self.extension = Gate(), Submits()
        self.heard: list[int] = []
        context_kind = type(
            "Listens",
            (BackendContext,),
            {"after_enqueue_workload": lambda _, network: self.heard.append(network)},
        )
        context = context_kind()
        kind = make_backend(
            "Gated",
            create_workload=lambda *_: Gated(self.gate),
            create_context=lambda *_: context,
            extension=lambda _, name: (
                self.extension if extends and name == ASYNC_EXECUTION else None
            ),
        )
        self.runtime = make_runtime(kind)
        self.model = self.runtime.load_model(accumulator(), ["Gated"])


@pytest.fixture(params=[False, True], ids=["thread", "backend"])
def setting(request, make_backend, make_runtime) -> Setting:
    return Setting(make_backend, make_runtime, extends=request.param)


def test_a_submitted_run_returns_what_run_does(setting) -> None:
    task = setting.model.submit({"x": X, "total": X})
    assert setting.gate.inside.wait(30)
    assert not task.is_done
    assert not task.wait(0)
    with pytest.raises(DeadlineExceededError, match="has not ended after 0 s"):
        task.result(0)
    setting.gate.is_open.set()
    np.testing.assert_array_equal(task.result(30)["total"], 2 * X)
    np.testing.assert_array_equal(task.result()["total"], 2 * X)
    assert task.is_done
    assert setting.heard == [setting.model.id]


def test_a_bound_call_is_submitted_to_a_backend_that_can(setting, request) -> None:
    call = setting.model.bind({"x": X})
    for count in (1, 2, 3):
        setting.gate.is_open.clear()
        setting.gate.inside.clear()
        task = call.submit()
        assert setting.gate.inside.wait(30)
        with pytest.raises(ExecutionError, match="runs already: it belongs to one thread at a"):
            call()
        with pytest.raises(ExecutionError, match="runs already: it belongs to one thread at a"):
            call.submit()
        setting.gate.is_open.set()
        assert task.result(30) is call.outputs
        np.testing.assert_array_equal(call.states["total"], count * X)
    by_backend = request.node.callspec.id == "backend"
    assert setting.extension.submitted == (3 if by_backend else 0)
    assert setting.heard == [setting.model.id] * 3
    call()
    np.testing.assert_array_equal(call.states["total"], 4 * X)


def test_a_failed_task_raises_and_leaves_the_states(setting) -> None:
    call = setting.model.bind({"x": X})
    setting.gate.is_open.set()
    call()
    setting.gate.fails.set()
    for task in (call.submit(), setting.model.submit({"x": X, "total": X})):
        with pytest.raises(ExecutionError):
            task.result(30)
        with pytest.raises(ExecutionError):
            task.result(30)
    setting.gate.fails.clear()
    call()
    np.testing.assert_array_equal(call.states["total"], 2 * X)


def test_tasks_are_awaited(setting) -> None:
    setting.gate.is_open.set()
    calls = [setting.model.bind({"x": X}) for _ in range(3)]

    async def both() -> list[Any]:
        runs = [setting.model.submit({"x": X, "total": X * n}) for n in range(40)]
        return [*await asyncio.gather(*map(awaited, runs)), [await c.submit() for c in calls]]

    async def awaited(task: Any) -> Any:
        return await task

    *runs, bound = asyncio.run(both())
    for number, made in enumerate(runs):
        np.testing.assert_array_equal(made["total"], X + number * X)
    assert bound == [{}, {}, {}]
    for call in calls:
        np.testing.assert_array_equal(call.states["total"], X)


def test_an_awaited_task_that_fails_raises(setting) -> None:
    setting.gate.is_open.set()
    setting.gate.fails.set()

    async def fail() -> None:
        await setting.model.submit({"x": X, "total": X})

    with pytest.raises(ExecutionError, match="out of order"):
        asyncio.run(fail())


def test_a_task_that_is_dropped_or_closed_gives_the_call_back(setting) -> None:
    setting.gate.is_open.set()
    call = setting.model.bind({"x": X})
    task = call.submit()
    del task
    gc.collect()
    with setting.model.bind({"x": X}) as other, other.submit() as task:
        task.wait(30)
    task = setting.model.bind({"x": X}).submit()
    task.wait(30)
    task.close()
    assert task.result() == {}
    setting.model.unload()
    for each in (call, call.submit):
        with pytest.raises(ClosedError, match="was closed before this call"):
            each()


def test_a_run_that_was_closed_before_its_end_says_so(setting) -> None:
    task = setting.model.submit({"x": X, "total": X})
    assert setting.gate.inside.wait(30)
    task.close()
    with pytest.raises(CancelledError, match="closed before its end"):
        task.result()
    setting.gate.is_open.set()


def test_a_backend_gets_the_deadline(make_backend, make_runtime) -> None:
    setting = Setting(make_backend, make_runtime, extends=True)
    setting.gate.is_open.set()
    call = setting.model.bind({"x": X})
    with pytest.raises(DeadlineExceededError, match="too late"):
        call.submit(timeout=-1).result()
    call()
    np.testing.assert_array_equal(call.states["total"], X)


def test_waiting_for_a_thread_counts_as_time_of_a_submitted_run(setting, monkeypatch) -> None:
    started: list[Callable[[], Any]] = []
    monkeypatch.setattr(tasks, "executor", lambda: BusyThreads(started))
    setting.gate.is_open.set()
    inputs = {"x": X, "total": X}
    late, early = (setting.model.submit(inputs, timeout=seconds) for seconds in (0.001, 1000))
    beginning = time.perf_counter()
    while time.perf_counter() < beginning + 0.002:  # in which no thread was free
        pass
    for each in started:
        each()
    with pytest.raises(DeadlineExceededError, match="the time was up before layer 'add'"):
        late.result()
    np.testing.assert_array_equal(early.result()["total"], 2 * X)


def test_submitting_can_be_ruled_out(setting) -> None:
    optimized = setting.runtime.optimize(accumulator(), ["Gated"])
    model = setting.runtime.load_network(optimized, NetworkProperties(async_enabled=False))
    with pytest.raises(InvalidArgumentError, match="loaded with async_enabled=False: use run"):
        model.submit({"x": X, "total": X})


def test_a_wrong_argument_fails_in_the_task(setting) -> None:
    with pytest.raises(InvalidArgumentError, match="there is no input 'z'"):
        setting.model.submit({"z": X}).result(30)
    call = setting.model.bind({"x": X})
    for submit in (call.submit, partial(setting.model.submit, {"x": X, "total": X})):
        with pytest.raises(InvalidArgumentError, match="the timeout is 'soon'"):
            submit(timeout="soon")
    setting.gate.is_open.set()
    call()
