# SPDX-License-Identifier: MIT
"""The memory of tensors: allocators, handles and their factories."""

from __future__ import annotations

import mmap
import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Set
from enum import IntEnum
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import shown
from armnn.buffer import Buffer
from armnn.errors import BackendError, ExecutionError
from armnn.tensor import TensorInfo
from armnn.types import MemorySource

if TYPE_CHECKING:
    from armnn.backends.contract import Event

HOST_FACTORY_ID = "armnn.host"
"""The tensor handles of backends that work in host memory; nothing is copied between them."""

ALIGNMENT = 64
"""Bytes to which tensors in host memory are aligned: one cache line, one AVX-512 vector."""

HOST_SOURCES: tuple[MemorySource, ...] = (
    MemorySource.MALLOC,
    MemorySource.DMA_BUF,
    MemorySource.MEMFD,
)
"""The sources of memory that the host can read and write."""

FILE_SOURCES: tuple[MemorySource, ...] = (MemorySource.MEMFD, MemorySource.DMA_BUF)
"""The sources of memory that comes by a file descriptor, which can be mapped."""


def address_of(array: NDArray[Any]) -> int:
    """Return where an array begins, quicker than ``ctypes.data``."""
    address: int = array.__array_interface__["data"][0]
    return address


class MappedFile(mmap.mmap):
    """Pages of a file, with its descriptor, by which a device may import them.

    Attributes:
        fd: A duplicate of the descriptor, until the pages are dropped.
        begin: The offset of the first page in the file.
    """

    fd: int
    begin: int

    @classmethod
    def of(cls, fd: int, begin: int, size: int) -> MappedFile:
        """Map bytes of a file for reading and writing.

        Args:
            fd: The file; it may be closed afterwards.
            begin: A multiple of the page size.
            size: In bytes.

        Raises:
            OSError: They cannot be mapped.
            ValueError: The file is too short.
        """
        made = cls(fd, size, offset=begin)
        made.fd, made.begin = os.dup(fd), begin
        weakref.finalize(made, os.close, made.fd)
        return made


def file_behind(array: NDArray[Any]) -> tuple[MappedFile, int] | None:
    """Return the mapped file of an array and its offset there, None for other arrays."""
    base: object = array
    while isinstance(base, (np.ndarray, memoryview)):
        base = base.obj if isinstance(base, memoryview) else base.base
    if not isinstance(base, MappedFile):
        return None
    whole = np.frombuffer(base, np.uint8)
    return base, address_of(array) - address_of(whole)


def overlaps_itself(array: NDArray[Any]) -> bool:
    """Return whether elements of an array share memory, as strides of 0 let them.

    It is also True of strides that interleave axes, which no slice of an array has.
    """
    if array.flags.c_contiguous or not array.size:
        return False
    end = array.itemsize
    for step, size in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if size > 1:
            if step < end:
                return True
            end += step * (size - 1)
    return False


class Allocator(ABC):
    """Where working memory comes from (Arm NN: ``ICustomAllocator``).

    Attributes:
        memory_source: What kind of memory it is: backends with memory of their own import it if
            they import this kind.
    """

    memory_source: MemorySource = MemorySource.MALLOC

    @abstractmethod
    def allocate(self, size: int, alignment: int) -> NDArray[np.uint8]:
        """Return ``size`` bytes whose address is a multiple of ``alignment``.

        The memory is handed back by :meth:`free`, and is not touched afterwards.
        """

    def free(self, memory: NDArray[np.uint8]) -> None:
        """Free a block that :meth:`allocate` returned."""


class HostAllocator(Allocator):
    """NumPy's memory, freed with the last array on it."""

    def allocate(self, size: int, alignment: int) -> NDArray[np.uint8]:
        """Return ``size`` bytes of a larger array."""
        block = np.empty(size + alignment, np.uint8)
        start = -address_of(block) % alignment
        return block[start : start + size]


class MapAccess(IntEnum):
    """The way in which the host uses a tensor that it maps; the numbers are those of C."""

    READ = 1
    """The host reads."""
    WRITE = 2
    """The host reads and writes; elements that it does not write stay."""
    DISCARD = 3
    """The host writes all elements; those before are lost."""


class TensorHandle(ABC):
    """The memory of one tensor in one context.

    Counterpart of Arm NN's ``ITensorHandle``.

    Attributes:
        info: Shape, data type and quantization.
        memory_source: Where its memory comes from; since Backend API 1.2.
    """

    info: TensorInfo
    memory_source: MemorySource = MemorySource.MALLOC

    @abstractmethod
    def map(self) -> NDArray[Any]:
        """Return the tensor as an array, valid until :meth:`unmap`.

        It is in host memory. For host memory the array is valid as long as the handle, so a
        workload may map once, when it is bound.
        """

    def map_for(self, access: MapAccess) -> NDArray[Any]:
        """Return the tensor as :meth:`map` does, for one use.

        A tensor that the host cannot reach copies less: nothing back that was read only, and
        nothing from the device that is written as a whole. Since Backend API 1.3. By default it is
        :meth:`map`.
        """
        return self.map()

    def unmap(self) -> None:
        """End a :meth:`map`; writes have reached the tensor then."""

    def copy_from(self, array: NDArray[Any]) -> None:
        """Copy an array of host memory into the tensor.

        Arm NN: ``CopyInFrom``. Since Backend API 1.2. A tensor that the host cannot reach copies
        here what :meth:`map` would copy twice.
        """
        try:
            np.copyto(self.map_for(MapAccess.DISCARD), array)
        finally:
            self.unmap()

    def copy_to(self, array: NDArray[Any]) -> None:
        """Copy the tensor into an array of host memory.

        Arm NN: ``CopyOutTo``. Since Backend API 1.2.
        """
        try:
            mapped = self.map_for(MapAccess.READ)
            if not isinstance(mapped, np.ndarray):  # NumPy would fill the array with a number
                raise BackendError(f"map() returned {shown(mapped)}: expected an array {self.info}")
            np.copyto(array, mapped)
        finally:
            self.unmap()

    def copy_on_device(self, source: TensorHandle) -> bool:
        """Copy another tensor of the same size into this one without the host, if that can be.

        Since Backend API 1.3. By default it cannot.

        Args:
            source: A tensor of any backend.

        Returns:
            Whether it did, or enqueued it; the runtime else copies through host memory.
        """
        return False

    def written(self) -> Event | None:
        """Return the event of the work enqueued for the tensor so far, None if it has ended.

        The runtime asks the tensors that a queue of another backend goes on with, and outputs on
        memory of a caller's. By default the host waits here, as it maps and unmaps; a backend whose
        steps return before their work has ended overrides it. Since Backend API 1.3.
        """
        try:
            self.map()
        finally:
            self.unmap()
        return None

    def as_buffer(self) -> Buffer | None:
        """Return the tensor's memory as the buffer that other libraries take by DLPack.

        Since Backend API 1.3. It is on the tensor's device, contiguous, and of the info's shape and
        type; None if nothing but :meth:`map` reaches it.
        """
        return None

    def assign(self, array: NDArray[Any]) -> None:
        """Set a tensor whose shape was unknown before computation.

        Raises:
            BackendError: The shape of this tensor is fixed.
        """
        raise BackendError(
            f"a tensor of the fixed shape {self.info} cannot be assigned: write to map() instead"
        )


class ArrayHandle(TensorHandle):
    """A tensor in host memory."""

    __slots__ = ("_array", "info", "memory_source")

    def __init__(
        self,
        info: TensorInfo,
        array: NDArray[Any],
        memory_source: MemorySource = MemorySource.MALLOC,
    ) -> None:
        self.info = info
        self.memory_source = memory_source
        self._array = array

    def map(self) -> NDArray[Any]:
        """Return the array, the same one each time."""
        return self._array

    def written(self) -> None:
        """Return None: host memory is written at once."""

    def as_buffer(self) -> Buffer:
        """Return the array's memory."""
        return Buffer.from_numpy(self.map())


class PlacedHandle(ArrayHandle):
    """A tensor in an arena of host memory.

    Attributes:
        address: Where it begins, at a multiple of :data:`ALIGNMENT`.
    """

    __slots__ = ("address",)

    address: int

    def copy_from(self, array: NDArray[Any]) -> None:
        """Copy an array into the tensor."""
        np.copyto(self._array, array)

    def copy_to(self, array: NDArray[Any]) -> None:
        """Copy the tensor into an array."""
        np.copyto(array, self._array)


class ForeignHandle(TensorHandle):
    """A tensor in memory of a caller's, on whatever device."""

    def __init__(self, info: TensorInfo, buffer: Buffer) -> None:
        self.info = info
        self._buffer = buffer

    def map(self) -> NDArray[Any]:
        """Return an array on the memory.

        Raises:
            MemoryImportError: The host does not reach it.
        """
        return self._buffer.numpy()

    def as_buffer(self) -> Buffer:
        """Return the caller's buffer."""
        return self._buffer


class ComputedHandle(TensorHandle):
    """A tensor whose shape its producer computes."""

    def __init__(self, info: TensorInfo) -> None:
        self.info = info
        self._array: NDArray[Any] | None = None

    def map(self) -> NDArray[Any]:
        """Return the array that was assigned last.

        Raises:
            ExecutionError: Nothing was.
        """
        if self._array is None:
            raise ExecutionError(f"a tensor {self.info} was read before it was computed")
        return self._array

    def assign(self, array: NDArray[Any]) -> None:
        """Take the data, whose shape must fit the info.

        Raises:
            ExecutionError: It does not have the type or the known dimensions.
        """
        dtype = self.info.data_type.numpy_dtype
        if array.dtype != dtype or not self.info.accepts(array.shape):
            raise ExecutionError(
                f"a layer computed {array.dtype} of shape {list(array.shape)}: expected {self.info}"
            )
        self._array = array


class MemoryManager(ABC):
    """Owns the memory of a backend's handles (``IMemoryManager``).

    One per execution context; those of a stream whose states are on the device, of which one runs
    at a time, share one. The runtime calls :meth:`acquire` before a run and :meth:`release`
    after it; a manager may give its memory away in between.
    """

    @abstractmethod
    def acquire(self) -> None:
        """Make the memory of all handles valid."""

    @abstractmethod
    def release(self) -> None:
        """Let the memory go until the next :meth:`acquire`."""

    def wait_for(self, event: Event) -> None:
        """Let later work in this context's queue begin after an event.

        The runtime calls it where a tensor of another queue is read, or its memory written. A
        backend whose queue takes events of this kind puts the wait there and returns at once; by
        default the host waits. Since Backend API 1.3.

        Raises:
            Exception: See :meth:`Event.wait`.
        """
        event.wait()

    def __enter__(self) -> MemoryManager:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


class TensorHandleFactory(ABC):
    """Makes tensor handles of one memory kind (``ITensorHandleFactory``).

    Attributes:
        id: Its name. Backends that name the same factory share tensors without a copy.
        import_sources: Kinds of foreign memory that its handles can stand on.
        export_sources: Kinds of memory that its handles offer to others.
        import_devices: The devices, as DLPack numbers them, whose memory its handles can stand on.
            Between factories with a common one, other than ``kDLExtDev``, tensors are not copied
            where the reader's imports them. Since Backend API 1.3.
        block_alignment: What the offsets of tensors in a block are multiples of, in bytes, a power
            of two. 0: each tensor has memory of its own, and there are no blocks. Since Backend
            API 1.3.
    """

    id: str
    import_sources: frozenset[MemorySource] = frozenset()
    export_sources: frozenset[MemorySource] = frozenset()
    import_devices: frozenset[tuple[int, int]] = frozenset()
    block_alignment: int = 0

    @abstractmethod
    def create(self, info: TensorInfo, memory: MemoryManager | None) -> TensorHandle:
        """Return the handle of a new tensor.

        Args:
            info: What the tensor is; its shape is known in full.
            memory: The memory manager of the backend for this execution context, if it has one.
                None for a constant: it belongs to all contexts and must always be valid.
        """

    def create_block(self, size: int, memory: MemoryManager | None) -> object:
        """Return memory that the tensors of one execution context are placed in.

        It is asked for once per context, where :attr:`block_alignment` is not 0: tensors that do
        not live at the same time share bytes of it. It lives as long as a tensor in it, and is
        any object but None. Since Backend API 1.3.

        Args:
            size: In bytes, at least 1.
            memory: As for :meth:`create`.
        """
        raise BackendError(f"the factory {self.id!r} makes no blocks: its block_alignment is 0")

    def create_in(self, info: TensorInfo, block: object, offset: int) -> TensorHandle:
        """Return the handle of a tensor in a block.

        Since Backend API 1.3.

        Args:
            info: As for :meth:`create`.
            block: What :meth:`create_block` returned.
            offset: Where in the block it begins, in bytes, a multiple of :attr:`block_alignment`.
        """
        raise BackendError(f"the factory {self.id!r} makes no blocks: its block_alignment is 0")

    def import_memory(self, info: TensorInfo, handle: TensorHandle) -> TensorHandle | None:
        """Return a handle on another factory's memory, or None.

        None is for memory that cannot be imported. Memory of a device in :attr:`import_devices`
        comes as a handle whose :meth:`TensorHandle.as_buffer` says where it is.
        """
        return None

    def import_in(
        self,
        info: TensorInfo,
        handle: TensorHandle,
        memory: MemoryManager | None,
    ) -> TensorHandle | None:
        """Return a handle on another factory's memory in one execution context, or None.

        The runtime calls it; by default it is :meth:`import_memory`. A backend whose contexts have
        queues of their own learns here which one orders the use of the memory. Since Backend API
        1.3.

        Args:
            info: As for :meth:`create`.
            handle: The memory, as for :meth:`import_memory`.
            memory: The memory manager of the backend for this execution context, if it has one.
        """
        return self.import_memory(info, handle)


class TensorHandleFactories(Mapping[str, TensorHandleFactory]):
    """The tensor-handle factories of a runtime's backends, by id."""

    def __init__(self) -> None:
        self._factories: dict[str, TensorHandleFactory] = {}
        self._pairs: dict[str, str] = {}

    def register(self, factory: TensorHandleFactory) -> None:
        """Add a factory; the first of an id stays.

        Counterpart of Arm NN's ``RegisterFactory``.

        Raises:
            BackendError: It is not a factory, has no text as id, devices that are none, or an
                alignment of blocks that is not a power of two.
        """
        if not isinstance(factory, TensorHandleFactory):
            raise BackendError(
                f"the tensor-handle factory to register is {shown(factory)}: expected a "
                "TensorHandleFactory"
            )
        if not isinstance(getattr(factory, "id", None), str):
            raise BackendError(
                f"the tensor-handle factory to register, {type(factory).__name__}, has "
                f"{shown(getattr(factory, 'id', None))} as id: expected a text"
            )
        devices: object = factory.import_devices
        if not isinstance(devices, Set) or not all(map(_is_device, devices)):
            raise BackendError(
                f"the tensor-handle factory {factory.id!r} has {shown(devices)} as "
                "import_devices: expected a set of devices as DLPack numbers them, such as {(2, 0)}"
            )
        alignment = factory.block_alignment
        if type(alignment) is not int or alignment < 0 or alignment & (alignment - 1):
            raise BackendError(
                f"the tensor-handle factory {factory.id!r} has {shown(alignment)} as "
                "block_alignment: expected 0 or a power of two"
            )
        self._factories.setdefault(factory.id, factory)

    def register_copy_and_import_pair(self, copy_id: str, import_id: str) -> None:
        """Name the factory that imports the tensors that another one copies.

        Counterpart of Arm NN's ``RegisterCopyAndImportFactoryPair``. Since Backend API 1.2.
        """
        self._pairs[copy_id] = import_id

    def import_factory(self, factory_id: str) -> TensorHandleFactory | None:
        """Return the factory that imports memory for tensors of another.

        By default it is the same one; None for host memory. Since Backend API 1.2.
        """
        return self._factories.get(self._pairs.get(factory_id, factory_id))

    def __getitem__(self, factory_id: str) -> TensorHandleFactory:
        return self._factories[factory_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def __len__(self) -> int:
        return len(self._factories)


def _is_device(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(each) is int for each in value)


def allocated(backend_id: str, allocator: Allocator, size: int) -> NDArray[np.uint8]:
    """Return working memory of a backend.

    Raises:
        BackendError: The allocator returned something else.
        Exception: It failed; a note names the backend.
    """
    block: Any
    try:
        block = allocator.allocate(size, ALIGNMENT)
    except Exception as error:
        kind = type(allocator).__name__
        error.add_note(f"raised by the allocator of backend {backend_id!r}, {kind}")
        raise
    if type(allocator) is HostAllocator:
        return cast("NDArray[np.uint8]", block)
    is_array = isinstance(block, np.ndarray) and block.dtype == np.uint8 and block.shape == (size,)
    if is_array and block.flags.writeable and (not size or address_of(block) % ALIGNMENT == 0):
        return cast("NDArray[np.uint8]", block)
    raise BackendError(
        f"the allocator of backend {backend_id!r}, {type(allocator).__name__}, returned "
        f"{shown(block)}: expected a writable array of uint8[{size}] at a multiple of {ALIGNMENT} "
        "bytes"
    )


def handle_at(
    arena: NDArray[np.uint8],
    offset: int,
    info: TensorInfo,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    source: MemorySource,
    start: int,
) -> PlacedHandle:
    """Return the handle of a tensor in an arena.

    Args:
        arena: The arena, from :func:`allocated`.
        offset: Where the tensor begins in it.
        info: The tensor's description.
        shape: The info's.
        dtype: NumPy's type of its elements.
        source: The kind of memory.
        start: The address of the arena.
    """
    array: NDArray[Any] = np.ndarray(shape, dtype, arena, offset)
    made = PlacedHandle(info, array, source)
    made.address = start + offset
    return made
