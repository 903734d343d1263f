# SPDX-License-Identifier: MIT
"""Shared memory by file descriptor, and runs that are submitted."""

from __future__ import annotations

import asyncio
import mmap
import os
import signal
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from armnn import Network, Runtime, TensorInfo
from armnn.backends import ASYNC_EXECUTION, SHARED_MEMORY, AsyncExecution, SharedMemory
from armnn.errors import (
    ArmnnError,
    CancelledError,
    DeadlineExceededError,
    ExecutionError,
    InvalidArgumentError,
)
from armnn.profiling import Recorder

SHAPE = (32, 32)
X = np.linspace(-1, 1, 1024, dtype=np.float32).reshape(SHAPE)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    with Runtime() as made:
        yield made


@pytest.fixture(scope="module")
def memory(runtime: Runtime) -> SharedMemory:
    found = runtime.registry.get("CpuAcc").extension(SHARED_MEMORY)
    assert isinstance(found, SharedMemory)
    return found


def doubled() -> Network:
    """Return x + x."""
    net = Network("doubled")
    x = net.add_input("x", TensorInfo(SHAPE))
    net.add_output("y", net.add_addition(x, x))
    return net


def powers(count: int) -> Network:
    """Return products of matrices one after the other."""
    net = Network("powers")
    value = x = net.add_input("x", TensorInfo(SHAPE))
    for _ in range(count):
        value = net.add_batch_mat_mul(value, x)
        value = net.add_activation(value, function="TanH", a=1.0, b=1.0)
    net.add_output("y", value)
    return net


def test_unknown_extensions_are_not_there(runtime: Runtime) -> None:
    backend = runtime.registry.get("CpuAcc")
    assert backend.extension("armnn.async/2") is None
    assert isinstance(backend.extension(ASYNC_EXECUTION), AsyncExecution)


def test_buffers_are_zeros_that_others_can_map(memory: SharedMemory) -> None:
    with memory.allocate(10_000) as buffer:
        assert buffer.array.shape == (10_000,)
        assert not buffer.array.any()
        fd, offset = buffer.export_fd()
        with mmap.mmap(fd, 10_000, offset=offset) as pages:
            os.close(fd)
            pages[:4] = b"abcd"
            assert bytes(buffer.array[:5]) == b"abcd\0"
            buffer.array[9_999] = 7
            assert pages[9_999] == 7


def test_a_model_reads_and_writes_memory_of_a_file(runtime: Runtime, memory: SharedMemory) -> None:
    fd = os.memfd_create("frames")
    os.ftruncate(fd, mmap.PAGESIZE + 2 * X.nbytes)
    os.pwrite(fd, X.tobytes(), mmap.PAGESIZE)
    with memory.import_fd(fd, 2 * X.nbytes, offset=mmap.PAGESIZE) as buffer:
        x, y = buffer.array.view(np.float32).reshape(2, *SHAPE)
        call = runtime.load_model(doubled(), ["CpuAcc"]).bind({"x": x}, {"y": y})
        assert call.copied == ()
        call()
        written = os.pread(fd, X.nbytes, mmap.PAGESIZE + X.nbytes)
        np.testing.assert_array_equal(np.frombuffer(written, np.float32).reshape(SHAPE), 2 * X)
    os.close(fd)


def test_files_that_do_not_fit_are_refused(memory: SharedMemory) -> None:
    fd = os.memfd_create("short")
    os.ftruncate(fd, 100)
    with pytest.raises(InvalidArgumentError, match="the file has 100 bytes, expected 101 from 0"):
        memory.import_fd(fd, 101)
    with pytest.raises(InvalidArgumentError, match="the file has 100 bytes, expected 1 from 4096"):
        memory.import_fd(fd, 1, offset=mmap.PAGESIZE)
    read_only = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    with pytest.raises(InvalidArgumentError, match="mmap: Permission denied"):
        memory.import_fd(read_only, 100)
    os.close(read_only)
    os.close(fd)
    with pytest.raises(InvalidArgumentError, match="fstat: Bad file descriptor"):
        memory.import_fd(fd, 100)
    with pytest.raises(ArmnnError, match=r"ftruncate|mmap"):
        memory.allocate(2**62)


def test_submitted_calls_compute_what_runs_do(runtime: Runtime) -> None:
    model = runtime.load_model(powers(6), ["CpuAcc"])
    calls = [(model.bind({"x": x}), x) for x in (X, -X, X / 2, X.T.copy())]
    for _ in range(3):
        tasks = [(call.submit(), x) for call, x in calls]
        for task, x in tasks:
            np.testing.assert_array_equal(task.result(30)["y"], model.run({"x": x})["y"])


def test_submitted_calls_are_awaited(runtime: Runtime) -> None:
    call = runtime.load_model(doubled(), ["CpuAcc"]).bind({"x": X})

    async def made() -> Any:
        return await call.submit()

    np.testing.assert_array_equal(asyncio.run(made())["y"], 2 * X)


def test_a_call_stops_at_its_deadline(runtime: Runtime) -> None:
    call = runtime.load_model(powers(2000), ["CpuAcc"]).bind({"x": X})
    with pytest.raises(DeadlineExceededError):
        call.submit(timeout=0.0).result(30)
    expected = call()["y"].copy()
    np.testing.assert_array_equal(call.submit(timeout=30).result()["y"], expected)


def test_a_task_that_is_closed_stops_and_gives_the_call_back(runtime: Runtime) -> None:
    call = runtime.load_model(powers(2000), ["CpuAcc"]).bind({"x": X})
    expected = call()["y"].copy()
    task = call.submit()
    with pytest.raises(ExecutionError, match="runs already"):
        call()
    task.close()
    with pytest.raises(CancelledError, match="closed before its end"):
        task.result()
    np.testing.assert_array_equal(call()["y"], expected)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_child_after_a_fork_runs_beside_the_tasks_of_its_parent(runtime: Runtime) -> None:
    model = runtime.load_model(powers(2000), ["CpuAcc"])
    call, other = model.bind({"x": X}), model.bind({"x": X})
    expected = call()["y"].copy()
    task = call.submit()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            with pytest.raises(ExecutionError, match="task runs in the process from which"):
                task.result()
            task.close()
            same = np.array_equal(other()["y"], expected)
            same = same and np.array_equal(model.run({"x": X})["y"], expected)
            os._exit(0 if same else 1)
        except BaseException:
            traceback.print_exc()
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(task.result(30)["y"], expected)


def test_watched_runs_are_timed_and_cancelled_as_tasks(runtime: Runtime) -> None:
    model = runtime.load_model(powers(3), ["CpuAcc"])
    recorder = Recorder()
    watched = model.run({"x": X}, timeout=30, profiler=recorder)
    np.testing.assert_array_equal(watched["y"], model.run({"x": X})["y"])
    assert sum(event.details.get("category") == "kernel" for event in recorder.events) >= 3
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(CancelledError):
        model.run({"x": X}, cancel=cancelled)
