# SPDX-License-Identifier: MIT
"""armnn.async/1 in C: submit, wait and deadline.

It is used directly and through a run.
"""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import Network, Runtime, TensorInfo
from armnn.backends import (
    ASYNC_EXECUTION,
    SHARED_MEMORY,
    ArrayHandle,
    AsyncExecution,
    ModelContext,
    Step,
)
from armnn.backends.capi import workload
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn.errors import (
    BackendError,
    CancelledError,
    DeadlineExceededError,
    ExecutionError,
    InvalidArgumentError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

X, Y = np.array([1.5, -2.0], np.float32), np.array([0.25, 4.0], np.float32)
SUM = [1.75, 2.0]
INFO = TensorInfo((2,))
OLD = "-pthread"


class Gate(ctypes.Structure):
    """The tests' shared gate with sharing.c: tasks wait for it."""

    is_open: int
    tasks: int
    buffers: int


Gate._fields_ = [(name, ctypes.c_longlong) for name in ("is_open", "tasks", "buffers")]


@pytest.fixture
def library(build: Callable[..., Path]) -> NativeLibrary:
    return NativeLibrary.open(build("sharing.c", OLD))


@pytest.fixture
def gate(library: NativeLibrary) -> Iterator[Gate]:
    get_extension = library.function("get_extension")
    assert get_extension is not None
    found = Gate.from_address(get_extension(b"test.gate/1"))
    found.is_open = 0
    yield found
    gc.collect()
    assert (found.tasks, found.buffers) == (0, 0)


def network() -> Network:
    made = Network("sum")
    x, y = (made.add_input(name, INFO) for name in "xy")
    made.add_output("out", made.add_addition(x, y))
    return made


@pytest.fixture
def execution(library: NativeLibrary) -> AsyncExecution:
    found = NativeBackend(library).extension(ASYNC_EXECUTION)
    assert isinstance(found, AsyncExecution)
    return found


def bound(library: NativeLibrary, out: Any) -> Step:
    (layer,) = (layer for layer in network().layers if layer.type == "Addition")
    workload = NativeBackend(library).create_workload(layer, ModelContext({}))
    inputs = [ArrayHandle(INFO, array) for array in (X, Y)]
    return workload.bind(inputs, [ArrayHandle(INFO, out)])


def test_a_task_runs_while_its_caller_does_something_else(
    library: NativeLibrary, gate: Gate, execution: AsyncExecution
) -> None:
    out = np.zeros(2, np.float32)
    with execution.submit(bound(library, out)) as task:
        assert not task.wait(0)
        assert not task.wait(0.001)
        assert out.tolist() == [0, 0]
        gate.is_open = 1
        assert task.wait()
        assert out.tolist() == SUM
        assert task.wait()  # the same answer


def test_a_step_is_free_again_once_its_task_has_ended(
    library: NativeLibrary, gate: Gate, execution: AsyncExecution
) -> None:
    out = np.zeros(2, np.float32)
    step = bound(library, out)
    gate.is_open = 1
    for _ in range(2):
        out[...] = 0
        assert execution.submit(step).wait()
        assert out.tolist() == SUM
    step()


def test_a_step_that_was_submitted_can_be_neither_called_nor_submitted(
    library: NativeLibrary, gate: Gate, execution: AsyncExecution
) -> None:
    step = bound(library, np.zeros(2, np.float32))
    with execution.submit(step):
        with pytest.raises(ExecutionError, match="runs already in this execution context"):
            step()
        with pytest.raises(ExecutionError, match="runs already in this execution context"):
            execution.submit(step)


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_task_that_is_given_back_early_is_stopped(
    library: NativeLibrary, gate: Gate, execution: AsyncExecution, forgotten: bool
) -> None:
    out = np.zeros(2, np.float32)
    step = bound(library, out)
    task = execution.submit(step)
    assert gate.tasks == 1
    if not forgotten:
        task.close()
    del task
    gc.collect()
    assert gate.tasks == 0
    assert out.tolist() == [0, 0]
    gate.is_open = 1
    step()
    assert out.tolist() == SUM


def test_a_task_ends_at_its_deadline(
    library: NativeLibrary, gate: Gate, execution: AsyncExecution
) -> None:
    step = bound(library, np.zeros(2, np.float32))
    task = execution.submit(step, deadline_ns=time.perf_counter_ns() + 1_000_000)
    with pytest.raises(DeadlineExceededError, match=r"failed to execute .* the gate stayed shut"):
        task.wait()
    gate.is_open = 1
    assert execution.submit(step, deadline_ns=time.perf_counter_ns() + 10**12).wait()


def test_a_step_of_another_backend_is_not_submitted(
    mock: NativeLibrary, execution: AsyncExecution
) -> None:
    with pytest.raises(InvalidArgumentError, match=r"'Sharing' cannot submit .*: expected a step"):
        execution.submit(bound(mock, np.zeros(2, np.float32)))
    with pytest.raises(InvalidArgumentError, match=r"'Sharing' cannot submit .*: expected a step"):
        execution.submit(print)


@pytest.fixture
def runtime(make_native_runtime: Callable[..., Runtime], library: NativeLibrary) -> Runtime:
    return make_native_runtime(library)


def test_a_run_that_nobody_watches_is_not_submitted(runtime: Runtime, gate: Gate) -> None:
    loaded = runtime.load_network(runtime.optimize(network(), backends=["Sharing"]))
    assert loaded.run({"x": X, "y": Y})["out"].tolist() == SUM  # the gate is shut


def test_a_run_with_a_timeout_is_submitted_and_ends_in_time(runtime: Runtime, gate: Gate) -> None:
    loaded = runtime.load_network(runtime.optimize(network(), backends=["Sharing"]))
    with pytest.raises(DeadlineExceededError, match="the gate stayed shut"):
        loaded.run({"x": X, "y": Y}, timeout=0.2)
    gate.is_open = 1
    assert loaded.run({"x": X, "y": Y}, timeout=1000)["out"].tolist() == SUM


def test_a_run_that_was_quick_before_is_not_submitted(
    runtime: Runtime, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload, "_QUICK_NS", 10**12)
    loaded = runtime.load_network(runtime.optimize(network(), backends=["Sharing"]))
    gate.is_open = 1
    assert loaded.run({"x": X, "y": Y}, timeout=1000)["out"].tolist() == SUM
    gate.is_open = 0
    assert loaded.run({"x": X, "y": Y}, timeout=1000)["out"].tolist() == SUM
    monkeypatch.setattr(workload, "_QUICK_NS", 0)
    with pytest.raises(DeadlineExceededError, match="the gate stayed shut"):
        loaded.run({"x": X, "y": Y}, timeout=0.2)


def test_a_quick_run_that_its_deadline_would_end_is_submitted(
    runtime: Runtime, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload, "_QUICK_NS", 10**12)
    loaded = runtime.load_network(runtime.optimize(network(), backends=["Sharing"]))
    threading.Timer(0.3, lambda: setattr(gate, "is_open", 1)).start()
    assert loaded.run({"x": X, "y": Y}, timeout=1000)["out"].tolist() == SUM
    gate.is_open = 0
    with pytest.raises(DeadlineExceededError, match="the gate stayed shut"):
        loaded.run({"x": X, "y": Y}, timeout=0.2)  # the last run took 0.3 s


def test_a_run_with_a_token_is_cancelled(runtime: Runtime, gate: Gate) -> None:
    loaded = runtime.load_network(runtime.optimize(network(), backends=["Sharing"]))
    cancel = threading.Event()
    threading.Timer(0.05, cancel.set).start()
    with pytest.raises(CancelledError, match="the gate stayed shut"):
        loaded.run({"x": X, "y": Y}, cancel=cancel)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("-DASYNC_SIZE=24", "'armnn.async/1' with a table of id 0x59534141 and 24 bytes, expected"),
        ("-DASYNC_WAIT=NULL", "'armnn.async/1' with NULL for wait, expected a function"),
    ],
)
def test_a_table_that_is_not_whole_is_refused(
    build: Callable[..., Path], flags: str, message: str
) -> None:
    broken = NativeBackend(NativeLibrary.open(build("sharing.c", OLD, flags)))
    with pytest.raises(BackendError, match=message):
        broken.extension(ASYNC_EXECUTION)


def test_a_backend_that_lacks_an_extension_says_so(
    mock: NativeLibrary, library: NativeLibrary, gate: Gate
) -> None:
    assert NativeBackend(mock).extension(ASYNC_EXECUTION) is None
    assert NativeBackend(mock).extension(SHARED_MEMORY) is None
    assert NativeBackend(library).extension("acme.sort/1") is None
    # What only a vendor knows is handed on as it is.
    assert NativeBackend(library).extension("test.gate/1") == ctypes.addressof(gate)
