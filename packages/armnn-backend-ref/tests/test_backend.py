# SPDX-License-Identifier: MIT
"""The backend class, submitted steps and shared memory."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Iterator

import numpy as np
import pytest

from armnn import Runtime
from armnn.backends import (
    ASYNC_EXECUTION,
    SHARED_MEMORY,
    AsyncExecution,
    Backend,
    ModelContext,
    SharedMemory,
)
from armnn.errors import (
    ClosedError,
    DeadlineExceededError,
    ExecutionError,
    InvalidArgumentError,
    ResourceExhaustedError,
)
from armnn.graph import Network
from armnn.tensor import TensorInfo
from armnn_backend_api import BACKEND_API_VERSION, is_compatible
from armnn_backend_ref.backend import RefBackend
from armnn_backend_ref.workload import RefWorkload


def test_cpuref_is_a_backend_that_this_core_can_use() -> None:
    backend = RefBackend()
    assert isinstance(backend, Backend)
    assert backend.id == "CpuRef"
    assert is_compatible(backend.api_version, BACKEND_API_VERSION)


def test_cpuref_works_in_host_memory() -> None:
    assert RefBackend().handle_factory_preferences == ()
    assert RefBackend().create_memory_manager() is None


def test_cpuref_takes_no_options() -> None:
    with pytest.raises(InvalidArgumentError, match="'CpuRef' has no options: got Threads"):
        RefBackend().create_model_context({"Threads": 2})


def test_a_supported_layer_gets_a_workload() -> None:
    network = Network("test")
    layer = network.add("Softmax", [network.add_input("x", TensorInfo((1, 2)))])
    backend, model = RefBackend(), ModelContext({})
    assert backend.supports(layer, model)
    assert isinstance(backend.create_workload(layer, model), RefWorkload)


def test_a_layer_that_is_not_supported_gets_a_reason() -> None:
    network = Network("test")
    layer = network.add("Softmax", [network.add_constant(np.array([1], np.int32))])
    support = RefBackend().supports(layer, ModelContext({}))
    assert not support
    assert support.reason.startswith("Softmax on CpuRef: the input 'input' is Signed32, expected")


X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def memory() -> SharedMemory:
    found = RefBackend().extension(SHARED_MEMORY)
    assert isinstance(found, SharedMemory)
    return found


@pytest.fixture
def submits() -> AsyncExecution:
    found = RefBackend().extension(ASYNC_EXECUTION)
    assert isinstance(found, AsyncExecution)
    return found


@pytest.fixture
def model() -> Iterator[object]:
    net = Network("doubled")
    x = net.add_input("x", TensorInfo((2, 3)))
    net.add_output("y", net.add_addition(x, x))
    with Runtime() as runtime:
        yield runtime.load_model(net, ["CpuRef"])


def test_a_bound_call_is_submitted_and_stands_on_shared_memory(memory, model) -> None:
    with memory.allocate(2 * X.nbytes) as buffer:
        x, y = buffer.array.view(np.float32).reshape(2, 2, 3)
        call = model.bind({"x": x}, {"y": y})
        fd, offset = buffer.export_fd()
        for values in (X, -X):
            os.pwrite(fd, values.tobytes(), offset)
            call.submit().result(30)
            np.testing.assert_array_equal(
                np.frombuffer(os.pread(fd, X.nbytes, offset + X.nbytes), np.float32),
                2 * values.ravel(),
            )
        os.close(fd)
    with pytest.raises(DeadlineExceededError, match="deadline of a step on CpuRef has passed"):
        call.submit(timeout=0.0).result(30)


def test_a_file_is_imported(memory) -> None:
    fd = os.memfd_create("bytes")
    os.ftruncate(fd, 2 * mmap.PAGESIZE)
    os.pwrite(fd, b"abcd", mmap.PAGESIZE)
    buffer = memory.import_fd(fd, 100, offset=mmap.PAGESIZE)
    os.close(fd)
    array = buffer.array
    assert bytes(array[:5]) == b"abcd\0"
    exported, offset = buffer.export_fd()
    buffer.close()
    buffer.close()
    array[0] = ord("z")
    assert os.pread(exported, 2, offset) == b"zb"
    os.close(exported)
    for use in (lambda: buffer.array, buffer.export_fd):
        with pytest.raises(ClosedError, match="shared buffer of 100 bytes was closed"):
            use()


def test_what_cannot_be_shared_is_refused(memory) -> None:
    fd = os.memfd_create("short")
    os.ftruncate(fd, 100)
    for size, offset, message in (
        (0, 0, "cannot share 0 bytes: expected at least 1"),
        (10, 7, "cannot import from offset 7: expected a multiple of"),
        (101, 0, "cannot map 101 bytes at 0 of file descriptor"),
        (2**70, 0, "cannot map"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            memory.import_fd(fd, size, offset=offset)
    read_only = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    with pytest.raises(InvalidArgumentError, match="Permission denied"):
        memory.import_fd(read_only, 100)
    os.close(read_only)
    os.close(fd)
    with pytest.raises(InvalidArgumentError, match="cannot import file descriptor"):
        memory.import_fd(fd, 100)
    with pytest.raises(InvalidArgumentError, match="cannot share -1 bytes"):
        memory.allocate(-1)
    with pytest.raises(ResourceExhaustedError, match="CpuRef cannot allocate"):
        memory.allocate(2**62)


def test_steps_of_others_are_refused(submits) -> None:
    with pytest.raises(InvalidArgumentError, match=r"'CpuRef' cannot submit .*: expected a step"):
        submits.submit(lambda: None)
    assert RefBackend().extension("armnn.async/2") is None


def test_a_step_that_fails_or_is_late_says_so(submits, monkeypatch) -> None:
    def fails() -> None:
        raise ZeroDivisionError("by zero")

    def passes() -> None:
        ran.append(True)

    ran: list[bool] = []
    for step in (fails, passes):
        monkeypatch.setattr(step, "__module__", "armnn_backend_ref.workload")
    task = submits.submit(fails)
    with pytest.raises(ExecutionError, match="a step failed on CpuRef: by zero"):
        task.wait()
    task.close()
    late = submits.submit(passes, deadline_ns=time.perf_counter_ns() - 1)
    with pytest.raises(DeadlineExceededError):
        late.wait()
    assert ran == []
    with submits.submit(passes) as task:
        assert task.wait(30)
        assert task.wait(0)
    assert ran == [True]
