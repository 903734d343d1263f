# SPDX-License-Identifier: MIT
"""Memory that host and worker share: blocks, tensors in them, constants of networks.

The inputs of the host are in blocks that the worker can only map for reading, by the word of the
kernel (``F_SEAL_FUTURE_WRITE``). What the worker writes is in blocks of its own; where a step reads
such a tensor and does not write it, its worker maps the block once more, for reading. No block can
be shrunk, which would end the host with SIGBUS.
"""

from __future__ import annotations

import ctypes
import fcntl
import math
import mmap
import os
import resource
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
from armnn.backends.worker.connection import WorkerConnection
from armnn.backends.worker.protocol import blob_of
from armnn.tensor import TensorInfo
from armnn.types import MemorySource

_FACTORY_ID: Final = "armnn.isolated"
PREFERENCES: Final = (_FACTORY_ID, HOST_FACTORY_ID)

_F_ADD_SEALS: Final = 1033
_SEAL_SEAL, _SEAL_SHRINK, _SEAL_GROW, _SEAL_FUTURE_WRITE = 1, 2, 4, 0x10
_MAP_FIXED: Final = 0x10


GAP_BYTES: Final = 64
"""Bytes around each tensor that a worker writes; the host checks them after each run."""
GAP: Final = b"\xa5" * GAP_BYTES


class Mapped:
    """Pages of a descriptor's memory, until the last array on them is gone.

    ``mmap.mmap`` would hold a descriptor of its own for each.

    Attributes:
        size: In bytes.
        address: Where they are.
        bytes: A new array on all of them.
    """

    def __init__(self, descriptor: int, size: int, *, is_written: bool) -> None:
        """Map them.

        Args:
            descriptor: The descriptor of the memory; it may be closed afterwards.
            size: In bytes.
            is_written: Whether this process may write them.

        Raises:
            OSError: They cannot be mapped so.
            ValueError: The memory is smaller.
        """
        there = os.fstat(descriptor).st_size
        if not 0 < size <= there:
            raise ValueError(f"memory of {there} bytes cannot be mapped as {size} bytes")
        self.size = size
        self.address = _mapped(0, size, is_written, mmap.MAP_SHARED, descriptor)
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (self.address, not is_written),
            "version": 3,
        }
        unmap = weakref.finalize(self, _LIBRARY.munmap, self.address, size)
        unmap.atexit = False  # a thread may still read them

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """The memory."""
        return np.asarray(self)


def _mapped(address: int, size: int, is_written: bool, flags: int, descriptor: int) -> int:
    protection = mmap.PROT_READ | (mmap.PROT_WRITE if is_written else 0)
    made: int | None = _LIBRARY.mmap(address, size, protection, flags, descriptor, 0)
    if made is None or made == _MAP_FAILED:
        error = ctypes.get_errno()
        raise OSError(error, f"{size} bytes of memory cannot be mapped: {os.strerror(error)}")
    return made


_MAP_FAILED: Final = ctypes.c_void_p(-1).value
_LIBRARY: Final = ctypes.CDLL(None, use_errno=True)
_LIBRARY.mmap.restype = ctypes.c_void_p
_LIBRARY.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t),
    *(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long),
)
_LIBRARY.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class Block(Mapped):
    """Memory with a descriptor, written by this process.

    The arrays in it keep it; :func:`place_of` finds it from an array. A forked copy of this
    process gets a private mapping, so that what it writes changes nothing here or in a worker.

    Attributes:
        descriptor: The descriptor that a worker maps.
        is_written_there: Whether a worker may map it for writing.
        places: The bytes of each tensor in it, by its offset.
    """

    def __init__(self, size: int, *, is_written_there: bool = False) -> None:
        """Make a block of zeros.

        Raises:
            OSError: There is no memory or no descriptor left.
        """
        size = max(-(-size // mmap.PAGESIZE) * mmap.PAGESIZE, mmap.PAGESIZE)
        self.descriptor = os.memfd_create("armnn", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        weakref.finalize(self, os.close, self.descriptor)
        os.ftruncate(self.descriptor, size)
        super().__init__(self.descriptor, size, is_written=True)
        seals = _SEAL_SEAL | _SEAL_SHRINK | _SEAL_GROW
        if not is_written_there:
            seals |= _SEAL_FUTURE_WRITE
        fcntl.fcntl(self.descriptor, _F_ADD_SEALS, seals)
        self.is_written_there = is_written_there
        self.places: dict[int, int] = {}
        _blocks.add(self)

    def gaps(self, offset: int) -> tuple[memoryview, memoryview]:
        """Return the bytes before and behind a tensor."""
        memory, end = self.bytes.data, offset + self.places[offset]
        return memory[offset - GAP_BYTES : offset], memory[end : end + GAP_BYTES]


_blocks: Final[weakref.WeakSet[Block]] = weakref.WeakSet()


def _keep_apart() -> None:
    """Map all blocks of a forked process anew, in the same place, so that it writes copies."""
    for block in tuple(_blocks):
        flags = mmap.MAP_PRIVATE | _MAP_FIXED
        _mapped(block.address, block.size, True, flags, block.descriptor)


os.register_at_fork(after_in_child=_keep_apart)


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
        """Give the tensor a place in a block."""
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
    import_sources = frozenset({MemorySource.MEMFD})

    def create(self, info: TensorInfo, memory: MemoryManager | None) -> TensorHandle:  # noqa: ARG002  # it has none
        """Return a tensor without a place."""
        return SharedHandle(info) if info.is_static else ComputedHandle(info)

    def import_memory(self, info: TensorInfo, handle: TensorHandle) -> TensorHandle | None:
        """Return a tensor where another one is, if that is in a block."""
        return handle_on(info, handle.map()) if isinstance(handle, ArrayHandle) else None


def handle_on(info: TensorInfo, array: NDArray[Any]) -> SharedHandle | None:
    """Return a tensor on an array's memory, None if the array has no place in a block."""
    place = place_of(array)
    if place is None:
        return None
    made = SharedHandle(info)
    made.place(*place)
    return made


def place_of(array: NDArray[Any]) -> tuple[Block, int] | None:
    """Return the block and the offset where an array is, None if it begins no place in a block."""
    block: object = array
    while isinstance(block, np.ndarray):
        block = block.base
    if not isinstance(block, Block) or not array.flags.c_contiguous:
        return None
    offset = array.ctypes.data - block.address
    return (block, offset) if array.nbytes <= block.places.get(offset, -1) else None


def place_together(handles: Sequence[SharedHandle], head: int, *, is_written_there: bool) -> Block:
    """Return a block for tensors; a gap is around each that a worker writes.

    Args:
        handles: The tensors.
        head: The bytes before all of them.
        is_written_there: Whether the worker writes them.
    """
    sizes = [each.info.size_bytes for each in handles]
    block = _block_for(sizes, head, is_written_there=is_written_there)
    for handle, offset in zip(handles, block.places, strict=True):
        handle.place(block, offset)
    return block


def shared_arrays(
    kinds: Sequence[tuple[np.dtype[Any], Sequence[int]]], *, is_written_there: bool = True
) -> list[NDArray[Any]]:
    """Return arrays of zeros in one block, which steps of workers use where they are.

    Args:
        kinds: The type and the shape of each.
        is_written_there: Whether workers write them.

    Raises:
        OSError: There is no memory or no descriptor left.
    """
    sizes = [dtype.itemsize * math.prod(shape) for dtype, shape in kinds]
    block = _block_for(sizes, 0, is_written_there=is_written_there)
    memory = block.bytes
    return [
        memory[offset : offset + size].view(dtype).reshape(shape)
        for (dtype, shape), (offset, size) in zip(kinds, block.places.items(), strict=True)
    ]


def has_descriptors_left() -> bool:
    """Return whether more than half of the descriptors that this process may have are free."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit == resource.RLIM_INFINITY or 2 * len(os.listdir("/proc/self/fd")) < limit


def _block_for(sizes: Sequence[int], head: int, *, is_written_there: bool) -> Block:
    """Return a block with places of some sizes, the gaps filled."""
    gap = GAP_BYTES if is_written_there else 0
    end = _aligned(head)
    places: dict[int, int] = {}
    for size in sizes:
        end += gap
        places[end] = size
        end += _aligned(max(size, 1))  # so that each has an offset of its own
    block = Block(end + gap, is_written_there=is_written_there)
    block.places.update(places)
    for offset in places if gap else ():
        for each in block.gaps(offset):
            each[:] = GAP
    return block


_SMALL: Final = 4096
"""Bytes of a constant that goes with each request instead."""

BlobRange = tuple["SharedBytes", int, int]
"""Where a constant is in shared memory: the block, the offset and the size."""


class SharedBytes:
    """A block for a worker, by descriptor or as copy.

    Args:
        block: The block.
        is_written: Whether the worker maps it for writing.
    """

    def __init__(self, block: Block, *, is_written: bool = False) -> None:
        self.block = block
        self.is_written = is_written

    def create(self, link: WorkerConnection) -> int:
        """Give the block to a worker; return its number there."""
        number, block = link.new_number(), self.block
        request = {
            "do": "block",
            "number": number,
            "size": block.size,
            "write": self.is_written,
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
        self._places: dict[int, tuple[weakref.ref[Any], BlobRange]] = {}
        self._lock = threading.Lock()

    def placed(self, arrays: Sequence[NDArray[Any]]) -> list[BlobRange | memoryview]:
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
    link: WorkerConnection, placed: Sequence[BlobRange | memoryview]
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
