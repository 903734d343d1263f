# SPDX-License-Identifier: MIT
"""The memory of a C backend's devices and their streams: ``armnn.device`` and ``armnn.stream``.

A stream is the queue of one execution context. What is enqueued there runs in order, so the host
waits only where it reads or writes the memory itself, or where another queue goes on; each of these
waits ends when the run must.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from armnn.backends.capi.calls import (
    Library,
    attempt,
    call_of,
    exception_of,
    name_deadline,
    raise_stored,
    watched_call,
)
from armnn.backends.capi.contexts import NativeDevice, device_pointer
from armnn.backends.capi.library import NativeObject
from armnn.backends.capi.values import tensor_of
from armnn.backends.contract import Event, raise_if_stopped
from armnn.backends.memory import (
    FILE_SOURCES,
    ArrayHandle,
    ForeignHandle,
    MapAccess,
    MappedFile,
    MemoryManager,
    TensorHandle,
    TensorHandleFactory,
    file_behind,
)
from armnn.buffer import Buffer, Device
from armnn.errors import (
    BackendError,
    MemoryImportError,
    ResourceExhaustedError,
    UnimplementedError,
)
from armnn.tensor import TensorInfo
from armnn.types import MemorySource
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.guarded import Failure
from armnn_backend_api.structs import Arena, struct

_LARGEST_ALIGNMENT: Final = 1 << 20

_SLICE_NS: Final = 50_000_000
"""After which Python looks up from waiting, so that Ctrl-C works."""

_POLL_NS: Final = 2_000_000
"""Nanoseconds after which Python looks up where the run can be stopped."""


class NativeEvent(Event):
    """The end of work in a stream.

    Attributes:
        backend: The C backend whose stream it was.
        pointer: The event.
    """

    def __init__(self, event: NativeObject, table: abi.Streams, backend: NativeObject) -> None:
        self.backend = backend
        self._event = event
        self._table = table

    @property
    def pointer(self) -> int:
        """The handle in C."""
        return self._event.pointer

    @property
    def is_done(self) -> bool:
        """Whether the work has ended.

        Raises:
            ArmnnError: It failed.
        """
        return self._has_ended(1)

    def wait(self) -> None:
        """Wait until the work has ended, or the run must end.

        Raises:
            CancelledError: The run was cancelled meanwhile.
            DeadlineExceededError: The time of the run is up.
            ArmnnError: The work failed.
        """
        while True:
            step = _POLL_NS if raise_if_stopped() else _SLICE_NS
            if self._has_ended(time.perf_counter_ns() + step):
                return

    def _has_ended(self, until_ns: int) -> bool:
        has_ended = ctypes.c_int32()
        where = ctypes.byref(has_ended)
        call_of(
            self.backend.library,
            self._table.event_wait,
            "wait for its device",
            self._event.pointer,
            until_ns,
            where,
        )
        return bool(has_ended.value)


class NativeQueue(MemoryManager):
    """The stream of one execution context, made on the device of its first tensor.

    Attributes:
        backend: The C backend.
    """

    def __init__(self, backend: NativeObject, table: abi.Streams) -> None:
        self.backend = backend
        self._table = table
        self._stream: NativeObject | None = None

    def open(self, device: NativeDevice | None) -> None:
        """Make the stream, if it is not there yet.

        Raises:
            ArmnnError: The backend failed.
        """
        if self._stream is None:
            where = self.backend.pointer, device_pointer(device)
            self._stream = _made(
                self.backend, "make a stream", self._table.destroy, self._table.create, *where
            )

    @property
    def stream(self) -> NativeObject:
        """The stream, once a tensor is on its device."""
        assert self._stream is not None
        return self._stream

    def acquire(self) -> None:
        """Do nothing: memory stays where it is between runs."""

    def release(self) -> None:
        """Do nothing, as above."""

    def event(self) -> NativeEvent | None:
        """Return the event of the commands enqueued so far; None if there are none.

        Raises:
            ArmnnError: The backend failed.
        """
        if self._stream is None:
            return None
        table, where = self._table, self._stream.pointer
        action = "record an event"
        made = _made(self.backend, action, table.event_destroy, table.record, where)
        made.hold(self._stream)
        return NativeEvent(made, table, self.backend)

    def finish(self) -> None:
        """Wait for the commands that were enqueued; see :meth:`NativeEvent.wait`."""
        event = self.event()
        if event is not None:
            event.wait()

    def wait_for(self, event: Event) -> None:
        """Let the next commands begin after an event.

        One of the same C backend is awaited by the device, any other by the host.
        """
        is_own = isinstance(event, NativeEvent) and event.backend is self.backend
        if self._stream is None or not is_own:
            event.wait()
            return
        pointers = self._stream.pointer, cast("NativeEvent", event).pointer
        library = self.backend.library
        call_of(library, self._table.wait_event, "wait for another stream", *pointers)


def _made(
    backend: NativeObject,
    action: str,
    destroy: Callable[[int], object],
    make: Callable[..., int],
    *args: object,
) -> NativeObject:
    """Return the object that a C function makes; it is destroyed with the Python object.

    Raises:
        ArmnnError: It failed, or made nothing.
    """
    made = _attempted(backend, action, destroy, make, *args)
    if isinstance(made, Failure):
        raise exception_of(made, backend.library, action)
    return made


def _attempted(
    backend: NativeObject,
    action: str,
    destroy: Callable[[int], object],
    make: Callable[..., int],
    *args: object,
) -> NativeObject | Failure:
    """Return the object that a C function makes, or its failure."""
    pointer = ctypes.c_void_p()
    failure = attempt(backend.library, make, *args, ctypes.byref(pointer))
    if failure is not None:
        return failure
    if pointer.value is None:
        raise BackendError(
            f"backend {backend.library.id!r} ({backend.library.path}) failed to {action}: it "
            "returned neither that nor an error"
        )
    return NativeObject(backend.library, pointer.value, destroy, backend)


class DeviceMemory:
    """The memory of one device of a C backend, by either version of the extension.

    Attributes:
        backend: The C backend.
        device: The device that the user selected; None for the backend's first.
        where: The device as DLPack numbers it.
        alignment: The alignment of offsets in a buffer; 0 where a buffer holds one tensor.
        is_placed: Whether it is ``armnn.device/2``.
        max_contexts: How many runs of a network have a context at a time; 0 for any number.
        has_streams: Whether its work is enqueued in streams.
    """

    def __init__(self, backend: NativeObject, device: NativeDevice | None) -> None:
        """Ask for the limits.

        Raises:
            BackendError: The backend says an alignment that is not a power of two.
            ArmnnError: It failed.
        """
        table = backend.library.device_memory
        assert table is not None
        self.backend, self.device, self._table = backend, device, table
        self.is_placed = backend.library.has_placed_memory
        self.has_streams = backend.library.streams is not None
        self._before: tuple[Any, ...] = (backend.pointer,)
        self.alignment, self._max_bytes, self.max_contexts = 0, 0, 0
        if not self.is_placed:
            self.where = Device(table.device_type, cast("abi.DeviceMemory", table).device_id)
            return
        self._before = (backend.pointer, device_pointer(device))
        limits = struct(abi.DeviceLimits)
        action = "describe the memory of its device"
        placed = cast("abi.DeviceMemory2", table)
        call_of(backend.library, placed.limits, action, *self._before, ctypes.byref(limits))
        self.where = Device(table.device_type, limits.device_id)
        self.alignment = _checked_alignment(backend.library, int(limits.alignment))
        self._max_bytes = int(limits.max_bytes)
        self.max_contexts = int(limits.max_contexts)

    def has(self, name: str) -> bool:
        """Return whether an optional function is there."""
        return getattr(self._table, name, None) is not None

    def allocated(self, size: int) -> NativeObject:
        """Return a new buffer.

        Raises:
            ResourceExhaustedError: It has no memory left, or allows no such buffer.
            ArmnnError: The backend failed otherwise.
        """
        action = f"allocate {size} bytes of device memory"
        if 0 < self._max_bytes < size:
            library = self.backend.library
            raise ResourceExhaustedError(
                f"backend {library.id!r} failed to {action}: {self.where} allows buffers of "
                f"{self._max_bytes} bytes; its file is {str(library.path)!r}"
            )
        destroy = self._table.buffer_destroy
        made = _made(self.backend, action, destroy, self._table.allocate, *self._before, size)
        made.is_memory = True
        return made

    def imported(self, name: str, *args: object) -> NativeObject | Failure:
        """Return a buffer on memory of others, or why there is none.

        Args:
            name: The name of the function, which is there.
            args: Its arguments behind backend and device.
        """
        make = getattr(self._table, name)
        destroy = self._table.buffer_destroy
        return _attempted(self.backend, "import memory", destroy, make, *self._before, *args)

    def data(self, buffer: NativeObject) -> int:
        """Return a buffer's address, or its handle there.

        Raises:
            BackendError: The buffer has no address.
        """
        address: int | None = self._table.data(buffer.pointer)
        if address is None:
            library = self.backend.library
            raise BackendError(
                f"backend {library.id!r} ({library.path}) gives NULL as the data of a buffer of "
                "its device"
            )
        return address

    def copy(
        self,
        buffer: NativeObject,
        offset: int,
        array: NDArray[Any],
        queue: NativeQueue | None,
        *,
        is_read: bool,
    ) -> None:
        """Copy bytes between a buffer and an array of the host, after earlier commands.

        Raises:
            ArmnnError: The backend failed, or the run must end.
        """
        if queue is not None:
            queue.finish()
        function = self._table.copy_out if is_read else self._table.copy_in
        place = (buffer.pointer, offset) if self.is_placed else (buffer.pointer,)
        where = ctypes.c_void_p(array.ctypes.data)
        action = f"copy {array.nbytes} bytes {'from' if is_read else 'to'} its device"
        self._watched(function, action, queue, *place, where, array.nbytes)

    def copy_between(
        self,
        source: NativeObject,
        source_offset: int,
        target: NativeObject,
        target_offset: int,
        size: int,
        queue: NativeQueue | None,
    ) -> bool:
        """Copy bytes between two buffers, in the order of the queue; return whether that can be.

        Raises:
            ArmnnError: The backend failed, or the run must end.
        """
        function = cast("abi.DeviceMemory2", self._table).copy_between
        places = source.pointer, source_offset, target.pointer, target_offset
        try:
            self._watched(function, f"copy {size} bytes on its device", queue, *places, size)
        except UnimplementedError:
            return False
        return True

    def mapped(
        self,
        buffer: NativeObject,
        offset: int,
        size: int,
        access: MapAccess,
        queue: NativeQueue | None,
    ) -> int:
        """Let the host reach a part of a buffer; return its address.

        Raises:
            ArmnnError: The backend failed, or the run must end.
        """
        if queue is not None:
            queue.finish()
        address = ctypes.c_void_p()
        table = cast("abi.DeviceMemory2", self._table)
        what = buffer.pointer, offset, size, int(access)
        action = f"map {size} bytes of its device"
        self._watched(table.map, action, queue, *what, behind=(ctypes.byref(address),))
        if address.value is None:
            library = self.backend.library
            raise BackendError(
                f"backend {library.id!r} ({library.path}) failed to {action}: it returned neither "
                "an address nor an error"
            )
        return address.value

    def unmap(self, buffer: NativeObject, address: int, queue: NativeQueue | None) -> None:
        """End :meth:`mapped`.

        Raises:
            ArmnnError: The backend failed.
        """
        table = cast("abi.DeviceMemory2", self._table)
        given = buffer.pointer, address, _stream_of(queue)
        call_of(self.backend.library, table.unmap, "unmap memory of its device", *given)

    def _watched(
        self,
        function: Callable[..., int],
        action: str,
        queue: NativeQueue | None,
        *args: object,
        behind: tuple[object, ...] = (),
    ) -> None:
        """Call a function that may wait; of armnn.device/2 it learns whether to stop."""
        library = self.backend.library
        if self.is_placed:
            with watched_call() as (call_id, _):
                failure = attempt(library, function, *args, _stream_of(queue), call_id, *behind)
            raise_stored()
            name_deadline(failure)
        else:
            failure = attempt(library, function, *args)
        if failure is not None:
            raise exception_of(failure, library, action)


def _stream_of(queue: NativeQueue | None) -> int | None:
    return None if queue is None else queue.stream.pointer


def _checked_alignment(library: Library, alignment: int) -> int:
    """Return an alignment of offsets in a buffer.

    Raises:
        BackendError: It is not a power of two.
    """
    if not 0 < alignment <= _LARGEST_ALIGNMENT or alignment & (alignment - 1):
        raise BackendError(
            f"backend {library.id!r} ({library.path}) aligns tensors of its device to {alignment} "
            f"bytes: expected a power of two up to {_LARGEST_ALIGNMENT}"
        )
    return alignment


def factory_id(backend_id: str, device: NativeDevice | None = None) -> str:
    """Return the id of the tensor-handle factory of a backend's device, by default its first."""
    return f"{backend_id}.device" + ("" if device is None else f":{device.id}")


class NativeHandleFactory(TensorHandleFactory):
    """Makes tensors in the memory of a device of a C backend."""

    def __init__(self, backend: NativeObject, device: NativeDevice | None = None) -> None:
        """Ask the backend about the memory.

        Args:
            backend: The backend.
            device: One of its devices; None for the first.

        Raises:
            ArmnnError: See :class:`DeviceMemory`.
        """
        self.id = factory_id(backend.library.id, device)
        self._memory = memory = DeviceMemory(backend, device)
        if memory.has("import_host"):
            self.import_sources |= {MemorySource.MALLOC}
        if memory.has("import_fd"):
            self.import_sources |= frozenset(FILE_SOURCES)
        if memory.is_placed:
            self.import_devices = frozenset({(memory.where.type, memory.where.id)})
        self.block_alignment = memory.alignment

    def create(self, info: TensorInfo, memory: MemoryManager | None = None) -> NativeHandle:
        """Return a tensor in a buffer of its own.

        Raises:
            ResourceExhaustedError: The device has no memory left.
            ArmnnError: The backend failed otherwise.
        """
        return self.create_in(info, self.create_block(max(1, info.size_bytes), memory), 0)

    def create_block(
        self, size: int, memory: MemoryManager | None = None
    ) -> tuple[NativeObject, NativeQueue | None]:
        """Return a buffer of the device, and the queue that orders its use.

        Raises:
            ResourceExhaustedError: The device has no memory left.
            ArmnnError: The backend failed otherwise.
        """
        return self._memory.allocated(size), self._queue(memory)

    def create_in(self, info: TensorInfo, block: object, offset: int) -> NativeHandle:
        """Return a tensor in a buffer of :meth:`create_block`."""
        buffer, queue = cast("tuple[NativeObject, NativeQueue | None]", block)
        return NativeHandle(info, self._memory, buffer, offset, queue)

    def import_in(
        self, info: TensorInfo, handle: TensorHandle, memory: MemoryManager | None
    ) -> NativeHandle | None:
        """Return a tensor on other memory, None if the device does not reach it.

        Raises:
            MemoryImportError: It is memory of a caller's on the device or behind a descriptor, and
                the backend refuses it.
        """
        queue = self._queue(memory)
        if isinstance(handle, NativeHandle) and handle.backend is self._memory.backend:
            return handle.in_queue(queue)
        if isinstance(handle, ArrayHandle):
            array = handle.map()
            file = file_behind(array) if handle.memory_source in FILE_SOURCES else None
            if file is not None and self._memory.has("import_fd"):
                return self._on_file(info, *file, queue)
            return self._on_host(info, array, queue)
        given = handle.as_buffer()
        if given is None or given.device != self._memory.where:
            return None
        made = self._on_device(info, given, queue)
        if isinstance(made, NativeHandle):
            return made
        if isinstance(handle, ForeignHandle):
            raise MemoryImportError(
                f"backend {self._memory.backend.library.id!r} does not take memory of another "
                f"library on {given.device}: {made}"
            )
        return None

    def _on_host(
        self, info: TensorInfo, array: NDArray[Any], queue: NativeQueue | None
    ) -> NativeHandle | None:
        if not self._memory.has("import_host") or not array.flags.c_contiguous or not array.nbytes:
            return None
        where = ctypes.c_void_p(array.ctypes.data)
        made = self._memory.imported("import_host", where, array.nbytes)
        if isinstance(made, Failure):
            return None
        made.hold(array)
        return NativeHandle(info, self._memory, made, 0, queue, imported=array)

    def _on_file(
        self, info: TensorInfo, file: MappedFile, offset: int, queue: NativeQueue | None
    ) -> NativeHandle:
        """Return a tensor on memory behind a descriptor.

        Raises:
            MemoryImportError: The backend refuses it.
        """
        library, end = self._memory.backend.library, offset + info.size_bytes
        problem = f"it begins at byte {offset}: expected a multiple of {self.block_alignment}"
        if offset % max(self.block_alignment, 1) == 0:
            made = self._memory.imported("import_fd", file.fd, file.begin, end)
            if isinstance(made, NativeObject):
                made.hold(file)
                return NativeHandle(info, self._memory, made, offset, queue)
            problem = made.text or f"import_fd failed with code {made.code}"
        raise MemoryImportError(
            f"backend {library.id!r} does not take memory behind a file descriptor: {problem}"
        )

    def _on_device(
        self, info: TensorInfo, given: Buffer, queue: NativeQueue | None
    ) -> NativeHandle | str:
        """Return a tensor on memory of another library, or why there cannot be one."""
        memory = self._memory
        if not memory.has("import_data"):
            return "its table has no import_data"
        if not given.is_contiguous:
            return f"its strides are {list(given.strides)}: expected elements in C order"
        if given.offset % max(memory.alignment, 1):
            return f"it begins at byte {given.offset}: expected a multiple of {memory.alignment}"
        if not given.nbytes:
            return "it is empty"
        made = memory.imported("import_data", given.data, given.offset + given.nbytes)
        if isinstance(made, Failure):
            return made.text or f"import_data failed with code {made.code}"
        made.hold(given)
        return NativeHandle(info, memory, made, given.offset, queue)

    def _queue(self, memory: MemoryManager | None) -> NativeQueue | None:
        """Return the queue of an execution context, with its stream; None for a constant."""
        if not isinstance(memory, NativeQueue):
            return None
        memory.open(self._memory.device)
        return memory


class NativeHandle(TensorHandle):
    """A tensor in the memory of a C backend's device.

    Attributes:
        memory: The device.
        queue: The queue that orders its use; None for a constant, and without streams.
    """

    __slots__ = (
        "_buffer",
        "_host",
        "_imported",
        "_is_written",
        "_mapped",
        "_offset",
        "info",
        "memory",
        "queue",
    )

    def __init__(
        self,
        info: TensorInfo,
        memory: DeviceMemory,
        buffer: NativeObject,
        offset: int,
        queue: NativeQueue | None = None,
        *,
        imported: NDArray[Any] | None = None,
    ) -> None:
        self.info = info
        self.memory = memory
        self.queue = queue
        self._buffer = buffer
        self._offset = offset
        self._imported = imported
        self._host: NDArray[Any] | None = None
        self._mapped: int | None = None
        self._is_written = False

    @property
    def backend(self) -> NativeObject:
        """The C backend whose device it is."""
        return self.memory.backend

    def in_queue(self, queue: NativeQueue | None) -> NativeHandle:
        """Return the same tensor, used by another execution context."""
        made = NativeHandle(self.info, self.memory, self._buffer, self._offset, queue)
        made._imported = self._imported
        return made

    def map(self) -> NDArray[Any]:
        """Return the tensor to be read and written; see :meth:`map_for`."""
        return self.map_for(MapAccess.WRITE)

    def map_for(self, access: MapAccess) -> NDArray[Any]:
        """Return the tensor where the host reaches it, else a copy.

        Raises:
            ArmnnError: The backend failed, or the run must end.
        """
        if self._imported is not None:
            self._finish()
            return self._imported
        shape, dtype = self.info.static_shape, self.info.data_type.numpy_dtype
        if self.info.size_bytes and self.memory.has("map"):
            size = self.info.size_bytes
            if self._mapped is None:
                where = self._buffer, self._offset, size
                self._mapped = self.memory.mapped(*where, access, self.queue)
            reached = memoryview((ctypes.c_ubyte * size).from_address(self._mapped))
            array: NDArray[Any] = np.ndarray(shape, dtype, reached)
            return array
        if self._host is None:
            self._host = np.empty(shape, dtype)
        if access is not MapAccess.DISCARD:
            self.copy_to(self._host)
        self._is_written = access is not MapAccess.READ
        return self._host

    def unmap(self) -> None:
        """End :meth:`map`; a copy that may have been written is copied back."""
        if self._mapped is not None:
            address, self._mapped = self._mapped, None
            self.memory.unmap(self._buffer, address, self.queue)
        elif self._host is not None and self._is_written:
            self._is_written = False
            self.copy_from(self._host)

    def copy_from(self, array: NDArray[Any]) -> None:
        """Copy an array into the device's memory.

        Raises:
            ArmnnError: The backend failed, or the run must end.
        """
        if self._imported is not None:
            self._finish()
            np.copyto(self._imported, array)
            return
        data = np.ascontiguousarray(array, self.info.data_type.numpy_dtype)
        if data.nbytes:
            self.memory.copy(self._buffer, self._offset, data, self.queue, is_read=False)

    def copy_to(self, array: NDArray[Any]) -> None:
        """Copy the device's memory into an array.

        Raises:
            ArmnnError: The backend failed, or the run must end.
        """
        if self._imported is not None:
            self._finish()
            np.copyto(array, self._imported)
        elif not array.flags.c_contiguous or array.dtype != self.info.data_type.numpy_dtype:
            between: NDArray[Any] = np.empty(
                self.info.static_shape, self.info.data_type.numpy_dtype
            )
            self.copy_to(between)
            np.copyto(array, between)
        elif array.nbytes:
            self.memory.copy(self._buffer, self._offset, array, self.queue, is_read=True)

    def copy_on_device(self, source: TensorHandle) -> bool:
        """Copy another tensor of the same C backend into this one; return whether that can be.

        Raises:
            ArmnnError: The backend failed, or the run must end.
        """
        if not isinstance(source, NativeHandle) or source.backend is not self.backend:
            return False
        if self._imported is not None or source._imported is not None:
            return False
        if not self.memory.has("copy_between"):
            return False
        if source.queue is not None and source.queue is not self.queue:
            event = source.written()
            if event is not None:
                if self.queue is None:
                    event.wait()
                else:
                    self.queue.wait_for(event)
        return not self.info.size_bytes or self.memory.copy_between(
            source._buffer,
            source._offset,
            self._buffer,
            self._offset,
            self.info.size_bytes,
            self.queue,
        )

    def written(self) -> NativeEvent | None:
        """Return the event of the commands enqueued so far; without streams, wait for them.

        Raises:
            ArmnnError: The backend failed, or the run must end.
        """
        if self.queue is not None:
            return self.queue.event()
        is_enqueued = self.memory.is_placed and not self.memory.has_streams
        if is_enqueued and self._buffer.is_memory:  # imported memory is written at once
            self.map_for(MapAccess.READ)  # waits for what was executed before
            self.unmap()
        return None

    def as_buffer(self) -> Buffer:
        """Return the tensor's memory, which keeps the device's buffer.

        Raises:
            BackendError: The backend gives no address.
        """
        if self._imported is not None:
            return Buffer.from_numpy(self._imported)
        end = self._offset + self.info.size_bytes
        whole = Buffer(self.memory.where, end, self._buffer, data=self.memory.data(self._buffer))
        return whole.tensor(self.info, self._offset)

    def describe(self, arena: Arena) -> abi.Tensor:
        """Return the tensor as ``execute`` takes it.

        Raises:
            BackendError: The backend gives no address.
        """
        address = self.memory.data(self._buffer)
        like = np.empty(self.info.static_shape, self.info.data_type.numpy_dtype)
        tensor = tensor_of(like, arena)
        tensor.data, tensor.byte_offset = address, self._offset
        tensor.device_type, tensor.device_id = self.memory.where
        arena.hold(self)
        return tensor

    def _finish(self) -> None:
        if self.queue is not None:
            self.queue.finish()
