# SPDX-License-Identifier: MIT
"""Memory that host and worker share: blocks, tensors in them, constants of networks.

The inputs of the host are in blocks that the worker can only map for reading, by the word of the
kernel (``F_SEAL_FUTURE_WRITE``). What the worker writes is in blocks of its own. No block can be
shrunk, which would end the host with SIGBUS.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends import (
    ALIGNMENT,
    HOST_FACTORY_ID,
    ArrayHandle,
    MemoryManager,
    TensorHandle,
    TensorHandleFactory,
)
from armnn.backends.memory import ComputedHandle
from armnn.backends.worker.connection import Link
from armnn.backends.worker.protocol import blob_of
from armnn.tensor import TensorInfo
from armnn.types import MemorySource

_FACTORY_ID: Final = "armnn.isolated"
PREFERENCES: Final = (_FACTORY_ID, HOST_FACTORY_ID)

_F_ADD_SEALS: Final = 1033
_SEAL_SEAL, _SEAL_SHRINK, _SEAL_GROW, _SEAL_FUTURE_WRITE = 1, 2, 4, 0x10


class Block:
    """Memory with a descriptor, written by this process.

    Attributes:
        size: In bytes.
        descriptor: What a worker maps.
        is_written_there: Whether a worker may map it for writing.
        bytes: The memory.
    """

    def __init__(self, size: int, *, is_written_there: bool = False) -> None:
        """Make it, with zeros.

        Raises:
            OSError: There is no memory or no descriptor left.
        """
        self.size = max(-(-size // mmap.PAGESIZE) * mmap.PAGESIZE, mmap.PAGESIZE)
        self.is_written_there = is_written_there
        self.descriptor = os.memfd_create("armnn", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        weakref.finalize(self, os.close, self.descriptor)
        os.ftruncate(self.descriptor, self.size)
        self.bytes: NDArray[np.uint8] = np.frombuffer(
            mmap.mmap(self.descriptor, self.size), np.uint8
        )
        seals = _SEAL_SEAL | _SEAL_SHRINK | _SEAL_GROW
        if not is_written_there:
            seals |= _SEAL_FUTURE_WRITE
        fcntl.fcntl(self.descriptor, _F_ADD_SEALS, seals)


def mapped(descriptor: int, size: int, *, is_written: bool) -> memoryview:
    """Map a block of the other side.

    Raises:
        OSError: It cannot be mapped so.
        ValueError: It is smaller.
    """
    protection = mmap.PROT_READ | (mmap.PROT_WRITE if is_written else 0)
    return memoryview(mmap.mmap(descriptor, size, mmap.MAP_SHARED, protection))


def tensor_in(memory: NDArray[np.uint8], offset: int, info: TensorInfo) -> NDArray[Any]:
    """Return the array of a tensor in a block.

    Raises:
        ValueError: It does not fit.
    """
    raw = memory[offset : offset + info.size_bytes]
    return raw.view(info.data_type.numpy_dtype).reshape(info.static_shape)


def _aligned(size: int) -> int:
    """Return the next multiple of a tensor's alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class SharedHandle(ArrayHandle):
    """A tensor that gets its place with a worker's step.

    Attributes:
        block: The memory that it is in, None if it is in plain memory.
        offset: Where in the block.
    """

    __slots__ = ("block", "offset")

    def __init__(self, info: TensorInfo) -> None:
        self.info = info
        self.memory_source = MemorySource.MEMFD
        self.block: Block | None = None
        self.offset = 0
        self._array: Any = None

    @property
    def is_placed(self) -> bool:
        """Whether it has memory."""
        return self._array is not None

    def place(self, block: Block, offset: int) -> None:
        """Give it a place in a block."""
        self.block, self.offset = block, offset
        self._array = tensor_in(block.bytes, offset, self.info)

    def map(self) -> NDArray[Any]:
        """Return the array; without a place it gets plain memory."""
        if self._array is None:
            self._array = np.empty(self.info.static_shape, self.info.data_type.numpy_dtype)
        found: NDArray[Any] = self._array
        return found


class SharedFactory(TensorHandleFactory):
    """Makes tensors in memory that a worker maps."""

    id = _FACTORY_ID

    def create(self, info: TensorInfo, memory: MemoryManager | None) -> TensorHandle:  # noqa: ARG002  # it has none
        """Return a tensor without a place."""
        return SharedHandle(info) if info.is_static else ComputedHandle(info)


def place_together(
    handles: Sequence[SharedHandle], head: int, gap: int, *, is_written_there: bool
) -> Block:
    """Return a block for tensors, a gap around each.

    Args:
        handles: The tensors.
        head: The bytes before all of them.
        gap: The bytes before and after each.
        is_written_there: Whether the worker writes them.
    """
    end = _aligned(head)
    offsets = []
    for handle in handles:
        end += gap
        offsets.append(end)
        end += _aligned(handle.info.size_bytes)
    block = Block(end + gap, is_written_there=is_written_there)
    for handle, offset in zip(handles, offsets, strict=True):
        handle.place(block, offset)
    return block


_SMALL: Final = 4096
"""Bytes of a constant that goes with each request instead."""

BlobPlace = tuple["SharedBytes", int, int]


class SharedBytes:
    """A block for a worker, by descriptor or as copy."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def create(self, link: Link) -> int:
        """Give it to a worker."""
        number, block = link.new_number(), self.block
        request = {
            "do": "block",
            "number": number,
            "size": block.size,
            "write": block.is_written_there,
        }
        if link.takes_descriptors:
            link.request(request, descriptors=[block.descriptor])
        else:
            link.request(request, [block.bytes.data])
        return number


class Constants:
    """Puts constants into shared memory, each once.

    A constant is known as long as its array lives.
    """

    def __init__(self) -> None:
        self._places: dict[int, tuple[weakref.ref[Any], BlobPlace]] = {}
        self._lock = threading.Lock()

    def placed(self, arrays: Sequence[NDArray[Any]]) -> list[BlobPlace | memoryview]:
        """Return each array's place, or its bytes if few."""
        with self._lock:
            large = {id(each): each for each in arrays if each.nbytes >= _SMALL}
            new = {key: each for key, each in large.items() if not self._is_known(key, each)}
            if new:
                self._add(new)
            return [
                self._places[id(each)][1] if id(each) in large else memoryview(bytes(blob_of(each)))
                for each in arrays
            ]

    def _is_known(self, key: int, array: NDArray[Any]) -> bool:
        known = self._places.get(key)
        return known is not None and known[0]() is array

    def _add(self, arrays: dict[int, NDArray[Any]]) -> None:
        block = Block(sum(_aligned(each.nbytes) for each in arrays.values()))
        shared, offset = SharedBytes(block), 0
        for key, each in arrays.items():
            block.bytes[offset : offset + each.nbytes] = blob_of(each)
            forget = weakref.ref(each, lambda _, key=key: self._places.pop(key, None))  # type: ignore[misc]  # mypy knows no default of a lambda
            self._places[key] = forget, (shared, offset, each.nbytes)
            offset += _aligned(each.nbytes)


def given_to(
    link: Link, placed: Sequence[BlobPlace | memoryview]
) -> tuple[list[Any], list[memoryview]]:
    """Return a worker's places of constants, and bytes to send."""
    places: list[Any] = []
    blobs: list[memoryview] = []
    for each in placed:
        if isinstance(each, memoryview):
            places.append(None)
            blobs.append(each)
        else:
            shared, offset, size = each
            places.append([link.number_of(shared), offset, size])
    return places, blobs
