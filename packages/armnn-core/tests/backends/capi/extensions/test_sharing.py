# SPDX-License-Identifier: MIT
"""armnn.memory/1: shared bytes by file descriptor.

Host, backend and others work on them.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import SHARED_MEMORY, ArrayHandle, ModelContext, SharedBuffer, SharedMemory
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn.errors import ClosedError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = mmap.PAGESIZE
INFO = TensorInfo((4,))
BYTES = INFO.size_bytes


@pytest.fixture
def backend(build: Callable[..., Path]) -> NativeBackend:
    return NativeBackend(NativeLibrary.open(build("sharing.c", "-pthread")))


@pytest.fixture
def memory(backend: NativeBackend) -> Iterator[SharedMemory]:
    found = backend.extension(SHARED_MEMORY)
    assert isinstance(found, SharedMemory)
    yield found
    gc.collect()
    assert buffers(backend) == 0


def buffers(backend: NativeBackend) -> int:
    """Return how many buffers the backend has open."""
    address = backend.extension("test.gate/1")
    assert isinstance(address, int)
    return (ctypes.c_longlong * 3).from_address(address)[2]


@pytest.fixture
def memfd() -> Iterator[int]:
    """Yield a file descriptor of two pages of memory."""
    fd = os.memfd_create("camera")
    os.ftruncate(fd, 2 * PAGE)
    yield fd
    os.close(fd)


def handle(buffer: SharedBuffer) -> ArrayHandle:
    return ArrayHandle(INFO, buffer.array.view(np.float32))


def test_a_step_works_on_memory_of_the_host_without_a_copy(
    backend: NativeBackend, memory: SharedMemory, memfd: int
) -> None:
    network = Network("sum")
    x = network.add_input("x", INFO)
    network.add_output("y", network.add_addition(x, x))
    (layer,) = (layer for layer in network.layers if layer.type == "Addition")
    workload = backend.create_workload(layer, ModelContext({}))
    with (
        mmap.mmap(memfd, 2 * PAGE) as mine,
        memory.import_fd(memfd, BYTES) as source,
        memory.import_fd(memfd, BYTES, offset=PAGE) as target,
    ):
        step = workload.bind([handle(source), handle(source)], [handle(target)])
        for picture in ([1, 2, 3, 4], [-1, 0.5, 8, 0]):
            mine[:BYTES] = np.array(picture, np.float32).tobytes()  # as a camera would
            step()
            doubled = np.frombuffer(mine[PAGE : PAGE + BYTES], np.float32)
            assert doubled.tolist() == [2 * number for number in picture]


def test_a_buffer_of_the_backend_is_seen_by_whom_it_is_exported_to(memory: SharedMemory) -> None:
    with memory.allocate(100) as buffer:
        array = buffer.array
        assert array.shape == (100,)
        assert not array.any()
        fd, offset = buffer.export_fd()
        assert offset % PAGE == 0
        with mmap.mmap(fd, 100, offset=offset) as theirs:
            theirs[99] = 7
            assert array[99] == 7
            array[0] = 5
            assert theirs[0] == 5
        os.close(fd)


def test_two_backends_share_what_one_exports(memory: SharedMemory) -> None:
    with memory.allocate(8) as first:
        fd, offset = first.export_fd()
        with memory.import_fd(fd, 8, offset=offset) as second:
            os.close(fd)  # the second one needs it no more
            first.array[3] = 9
            assert second.array.tolist() == [0, 0, 0, 9, 0, 0, 0, 0]


def test_the_memory_lives_as_long_as_an_array_of_it(
    backend: NativeBackend, memory: SharedMemory
) -> None:
    buffer = memory.allocate(4)
    array = buffer.array[1:]
    buffer.close()
    gc.collect()
    assert buffers(backend) == 1
    array[0] = 3
    assert array.tolist() == [3, 0, 0]
    del array
    assert buffers(backend) == 0


def test_a_closed_buffer_gives_nothing(memory: SharedMemory) -> None:
    buffer = memory.allocate(4)
    buffer.close()
    buffer.close()
    with pytest.raises(ClosedError, match="the shared buffer of 4 bytes was closed"):
        _ = buffer.array
    with pytest.raises(ClosedError, match="the shared buffer of 4 bytes was closed"):
        buffer.export_fd()


@pytest.mark.parametrize("size", [0, -1])
def test_a_buffer_has_at_least_one_byte(memory: SharedMemory, memfd: int, size: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"cannot allocate {size} bytes: expected at"):
        memory.allocate(size)
    with pytest.raises(InvalidArgumentError, match=f"cannot import {size} bytes of file descrip"):
        memory.import_fd(memfd, size)


@pytest.mark.parametrize("offset", [-PAGE, 1, PAGE + 8])
def test_an_import_starts_at_a_page(memory: SharedMemory, memfd: int, offset: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"from offset {offset}: expected a multiple"):
        memory.import_fd(memfd, 8, offset=offset)


def test_a_file_that_is_too_short_is_not_imported(memory: SharedMemory, memfd: int) -> None:
    assert memory.import_fd(memfd, 2 * PAGE).array.size == 2 * PAGE
    with pytest.raises(InvalidArgumentError, match=r"failed to import .*: the file is too short"):
        memory.import_fd(memfd, 2 * PAGE + 1)


def test_a_file_that_cannot_be_written_is_not_imported(memory: SharedMemory) -> None:
    with Path(__file__).open("rb") as file:
        action = f"failed to import 8 bytes of file descriptor {file.fileno()}: "
        with pytest.raises(InvalidArgumentError, match=action):
            memory.import_fd(file.fileno(), 8)
