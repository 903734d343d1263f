# SPDX-License-Identifier: MIT
"""The optional extensions of the C table: device memory, shared memory, asynchronous programs."""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from armnn.backends.capi.calls import (
    NOBODY,
    Library,
    attempt,
    exception_of,
    name_deadline,
    raise_stored,
    watched_call,
)
from armnn.backends.capi.library import NativeObject
from armnn.backends.capi.programs import check_open
from armnn.backends.capi.values import tensor_of
from armnn.backends.contract import Step
from armnn.backends.extensions import AsyncExecution, SharedBuffer, SharedMemory, Task
from armnn.backends.memory import ArrayHandle, MemoryManager, TensorHandle, TensorHandleFactory
from armnn.buffer import Buffer, Device
from armnn.errors import ArmnnError, BackendError, ClosedError, InvalidArgumentError
from armnn.tensor import TensorInfo
from armnn.types import MemorySource
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.guarded import Failure
from armnn_backend_api.structs import Arena, new_error

_LARGEST_ALIGNMENT: Final = 1 << 20


def factory_id(backend_id: str) -> str:
    """Return the id of a backend's tensor-handle factory."""
    return f"{backend_id}.device"


class NativeHandleFactory(TensorHandleFactory):
    """Makes tensors in the memory of a C backend's device."""

    def __init__(self, backend: NativeObject, table: abi.DeviceMemory | abi.DeviceMemory2) -> None:
        self.id = factory_id(backend.library.id)
        self._backend = backend
        self._table = table
        self._import_host = table.import_host
        if self._import_host is not None:
            self.import_sources = frozenset({MemorySource.MALLOC})
        self.block_alignment = _alignment_of(backend.library, table)

    def create(self, info: TensorInfo, memory: MemoryManager | None = None) -> NativeHandle:  # noqa: ARG002  # C manages its own
        """Return a tensor in a buffer of its own.

        Raises:
            ResourceExhaustedError: The device has no memory left.
            ArmnnError: The backend failed otherwise.
        """
        return self.create_in(info, self.create_block(max(1, info.size_bytes)), 0)

    def create_block(self, size: int, memory: MemoryManager | None = None) -> NativeObject:  # noqa: ARG002  # as above
        """Return a buffer of the device.

        Raises:
            ResourceExhaustedError: The device has no memory left.
            ArmnnError: The backend failed otherwise.
        """
        action = f"allocate {size} bytes of device memory"
        made = self._made(action, self._table.allocate, size)
        if isinstance(made, Failure):
            raise exception_of(made, self._backend.library, action)
        return made

    def create_in(self, info: TensorInfo, block: object, offset: int) -> NativeHandle:
        """Return a tensor in a buffer of :meth:`create_block`."""
        buffer = cast("NativeObject", block)
        return NativeHandle(info, buffer, self._backend, self._table, offset)

    def import_memory(self, info: TensorInfo, handle: TensorHandle) -> NativeHandle | None:
        """Return a tensor on host memory, None if unreachable."""
        if not isinstance(handle, ArrayHandle) or self._import_host is None:
            return None
        array = handle.map()
        if not array.flags.c_contiguous or not array.nbytes:
            return None
        where, size = ctypes.c_void_p(array.ctypes.data), array.nbytes
        made = self._made("import host memory", self._import_host, where, size)
        if isinstance(made, Failure):
            return None
        made.hold(array)
        return NativeHandle(info, made, self._backend, self._table, imported=array)

    def _made(self, action: str, make: Any, *args: object) -> NativeObject | Failure:
        backend, pointer = self._backend, ctypes.c_void_p()
        failure = attempt(make, backend.pointer, *args, ctypes.byref(pointer))
        if failure is not None:
            return failure
        if pointer.value is None:
            raise BackendError(
                f"backend {backend.library.id!r} ({backend.library.path}) failed to {action}: it "
                "returned neither a buffer nor an error"
            )
        destroy = self._table.buffer_destroy
        return NativeObject(backend.library, pointer.value, destroy, backend)


def _alignment_of(library: Library, table: abi.DeviceMemory | abi.DeviceMemory2) -> int:
    """Return the alignment of offsets in a buffer; 0 where it holds one tensor.

    Raises:
        BackendError: The backend says no power of two.
    """
    if table.header.struct_id != abi.STRUCT_IDS[abi.DeviceMemory2]:
        return 0
    alignment = int(cast("abi.DeviceMemory2", table).alignment)
    if not 0 < alignment <= _LARGEST_ALIGNMENT or alignment & (alignment - 1):
        raise BackendError(
            f"backend {library.id!r} ({library.path}) aligns tensors of its device to {alignment} "
            f"bytes: expected a power of two up to {_LARGEST_ALIGNMENT}"
        )
    return alignment


class NativeHandle(TensorHandle):
    """A tensor in the memory of a C backend's device.

    Attributes:
        backend: The C backend whose device it is.
    """

    __slots__ = ("_buffer", "_host", "_imported", "_offset", "_table", "backend", "info")

    def __init__(
        self,
        info: TensorInfo,
        buffer: NativeObject,
        backend: NativeObject,
        table: abi.DeviceMemory | abi.DeviceMemory2,
        offset: int = 0,
        imported: NDArray[Any] | None = None,
    ) -> None:
        self.info = info
        self.backend = backend
        self._buffer = buffer
        self._table = table
        self._offset = offset
        self._imported = imported
        self._host: NDArray[Any] | None = None

    def map(self) -> NDArray[Any]:
        """Return a copy, or the imported memory itself."""
        if self._imported is not None:
            return self._imported
        if self._host is None:
            self._host = np.empty(self.info.static_shape, self.info.data_type.numpy_dtype)
        self.copy_to(self._host)
        return self._host

    def unmap(self) -> None:
        """Copy back what :meth:`map` returned."""
        if self._host is not None:
            self.copy_from(self._host)

    def copy_from(self, array: NDArray[Any]) -> None:
        """Copy an array into the device's memory.

        Raises:
            ArmnnError: The backend failed.
        """
        if self._imported is not None:
            np.copyto(self._imported, array)
            return
        data = np.ascontiguousarray(array, self.info.data_type.numpy_dtype)
        self._copy("to", self._table.copy_in, data)

    def copy_to(self, array: NDArray[Any]) -> None:
        """Copy the device's memory into an array.

        Raises:
            ArmnnError: The backend failed.
        """
        if self._imported is not None:
            np.copyto(array, self._imported)
        elif array.flags.c_contiguous and array.dtype == self.info.data_type.numpy_dtype:
            self._copy("from", self._table.copy_out, array)
        else:
            np.copyto(array, self.map())

    def as_buffer(self) -> Buffer:
        """Return the tensor's memory, which keeps the device's buffer.

        Raises:
            BackendError: The backend gives no address.
        """
        if self._imported is not None:
            return Buffer.from_numpy(self._imported)
        table, end = self._table, self._offset + self.info.size_bytes
        device = Device(table.device_type, table.device_id)
        whole = Buffer(device, end, self._buffer, data=self._address())
        return whole.tensor(self.info, self._offset)

    def describe(self, arena: Arena) -> abi.Tensor:
        """Return the tensor as ``execute`` takes it.

        Raises:
            BackendError: The backend gives no address.
        """
        address = self._address()
        like = np.empty(self.info.static_shape, self.info.data_type.numpy_dtype)
        tensor = tensor_of(like, arena)
        tensor.data, tensor.byte_offset = address, self._offset
        tensor.device_type, tensor.device_id = self._table.device_type, self._table.device_id
        arena.hold(self)
        return tensor

    def _address(self) -> int:
        """Return the address of the device's buffer, or its handle there."""
        address: int | None = self._table.data(self._buffer.pointer)
        if address is None:
            raise BackendError(
                f"backend {self.backend.library.id!r} ({self.backend.library.path}) gives NULL as "
                f"the data of a device buffer of {self.info.size_bytes} bytes"
            )
        return address

    def _copy(self, direction: str, function: Any, array: NDArray[Any]) -> None:
        if not array.nbytes:
            return
        buffer, where = self._buffer.pointer, ctypes.c_void_p(array.ctypes.data)
        if self._is_placed:
            with watched_call() as (call_id, _):
                failure = attempt(function, buffer, self._offset, where, array.nbytes, call_id)
            raise_stored()
            name_deadline(failure)
        else:
            failure = attempt(function, buffer, where, array.nbytes)
        if failure is not None:
            action = f"copy {array.nbytes} bytes {direction} its device"
            raise exception_of(failure, self.backend.library, action)

    @property
    def _is_placed(self) -> bool:
        """Whether its functions are those of armnn.device/2."""
        return self._table.header.struct_id == abi.STRUCT_IDS[abi.DeviceMemory2]


class NativeSharedMemory(SharedMemory):
    """Buffers of one backend."""

    def __init__(self, backend: NativeObject, table: abi.Memory) -> None:
        self._backend = backend
        self._table = table

    def allocate(self, size: int) -> _NativeBuffer:
        """Return a new buffer of zeros.

        Raises:
            InvalidArgumentError: The size is not positive.
            ResourceExhaustedError: There is no memory left.
        """
        return self._made(f"allocate {size} bytes", size, self._table.allocate, size)

    def import_fd(self, fd: int, size: int, *, offset: int = 0) -> _NativeBuffer:
        """Return a buffer of bytes of a file.

        Raises:
            InvalidArgumentError: Size or offset is not allowed, the file is too short, or it cannot
                be mapped for writing.
        """
        if offset < 0 or offset % mmap.PAGESIZE:
            raise InvalidArgumentError(
                f"backend {self._backend.library.id!r} cannot import from offset {offset}: "
                f"expected a multiple of {mmap.PAGESIZE}"
            )
        action = f"import {size} bytes of file descriptor {fd}"
        return self._made(action, size, self._table.import_fd, fd, offset, size)

    def _made(
        self, action: str, size: int, make: Callable[..., int], *args: object
    ) -> _NativeBuffer:
        library, pointer = self._backend.library, ctypes.c_void_p()
        if size < 1:
            raise InvalidArgumentError(
                f"backend {library.id!r} cannot {action}: expected at least 1"
            )
        failure = attempt(make, self._backend.pointer, *args, ctypes.byref(pointer))
        if failure is not None:
            raise exception_of(failure, library, action)
        if pointer.value is None:
            raise BackendError(
                f"backend {library.id!r} ({library.path}) failed to {action}: it returned neither "
                "a buffer nor an error"
            )
        buffer_destroy = self._table.buffer_destroy
        made = NativeObject(library, pointer.value, buffer_destroy, self._backend)
        return _NativeBuffer(made, self._table, size)


class _NativeBuffer(SharedBuffer):
    """A C backend's buffer, freed after its last array."""

    def __init__(self, buffer: NativeObject, table: abi.Memory, size: int) -> None:
        self._buffer: NativeObject | None = buffer
        self._table = table
        self._size = size

    @property
    def array(self) -> NDArray[np.uint8]:
        """Its bytes.

        Raises:
            BackendError: The backend gives no address.
            ClosedError: The buffer was closed.
        """
        buffer = self._open()
        address = self._table.address(buffer.pointer)
        if address is None:
            raise BackendError(
                f"backend {buffer.library.id!r} ({buffer.library.path}) gives NULL as the address "
                f"of a buffer of {self._size} bytes"
            )
        return np.asarray(_Bytes(buffer, address, self._size))

    def export_fd(self) -> tuple[int, int]:
        """Return the memory's file descriptor and offset.

        Raises:
            ArmnnError: The backend cannot give one.
        """
        buffer, fd, offset = self._open(), ctypes.c_int32(-1), ctypes.c_uint64()
        into = ctypes.byref(fd), ctypes.byref(offset)
        failure = attempt(self._table.export_fd, buffer.pointer, *into)
        if failure is not None:
            raise exception_of(failure, buffer.library, f"export a buffer of {self._size} bytes")
        return fd.value, offset.value

    def close(self) -> None:
        """Release the memory after its last array."""
        self._buffer = None

    def _open(self) -> NativeObject:
        if self._buffer is None:
            raise ClosedError(f"the shared buffer of {self._size} bytes was closed")
        return self._buffer


class _Bytes:
    """A buffer's memory for NumPy arrays, which keep it."""

    def __init__(self, buffer: NativeObject, address: int, size: int) -> None:
        self.buffer = buffer
        self.__array_interface__ = {
            "data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3,
        }  # fmt: skip


_NEVER: Final = 0
"""The deadline of what may take as long as it likes."""

_SLICE: Final = 0.05
"""Seconds after which Python looks up from waiting, so that Ctrl-C works."""


class BoundProgram(Protocol):
    """A task's program, with its own context and tensors."""

    library: Library
    context: NativeObject
    args: abi.ExecuteArgs

    def enter(self) -> None:
        """Take the context for one call, and bring the inputs."""

    def leave(self) -> None:
        """Take the outputs away, and give the context back."""

    def failure(self, code: int, error: abi.Error) -> ArmnnError:
        """Return the exception of a call that failed."""


class NativeAsyncExecution(AsyncExecution):
    """Submits the programs of one library."""

    def __init__(self, library: Library, table: abi.Async) -> None:
        self._library = library
        self._table = table

    def submit(self, step: Step, *, deadline_ns: int | None = None) -> NativeTask:
        """Start a program.

        Raises:
            InvalidArgumentError: The step is not one of this backend.
            ExecutionError: It runs already, or cannot be started.
        """
        program = getattr(step, "__self__", None)
        if getattr(program, "library", None) is not self._library:
            raise InvalidArgumentError(
                f"backend {self._library.id!r} cannot submit {step!r}: expected a step that a "
                "workload of this backend was bound to"
            )
        deadline = _NEVER if deadline_ns is None else deadline_ns
        return NativeTask(self._table, cast("BoundProgram", program), NOBODY, deadline)


class NativeTask(Task):
    """A program that was submitted."""

    def __init__(
        self, table: abi.Async, program: BoundProgram, call_id: int, deadline_ns: int
    ) -> None:
        """Submit a program.

        Args:
            table: The extension of its library.
            program: It is in use until the task has ended.
            call_id: Under which callbacks find the control; 0 if there is none.
            deadline_ns: When it must have ended; 0 for never.

        Raises:
            ExecutionError: It runs already, or cannot be started.
        """
        self._table = table
        self._program = program
        self._error = new_error()
        check_open(program.library)
        program.enter()
        self._end = _End(program)
        program.args.call_id, program.args.deadline_ns = call_id, deadline_ns
        try:
            self._task: NativeObject | None = self._submitted()
        except BaseException:
            self._end()
            raise

    def _submitted(self) -> NativeObject:
        program, pointer = self._program, ctypes.c_void_p()
        where, into = program.context.pointer, ctypes.byref(pointer)
        code = self._table.submit(where, program.args, into, self._error)
        if code:
            raise program.failure(code, self._error)
        raise_stored()
        if pointer.value is None:
            raise BackendError(
                f"backend {program.library.id!r} ({program.library.path}) submitted a program and "
                "returned neither a task nor an error"
            )
        table, end = self._table, self._end

        def release(task: int) -> None:
            table.release(task)
            end()

        made = NativeObject(program.library, pointer.value, release, program.context)
        made.hold(program)
        return made

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the program's end; return whether it has ended.

        Raises:
            DeadlineExceededError: It was stopped at its deadline.
            ExecutionError: It failed.
        """
        end = None if timeout is None else time.perf_counter_ns() + int(timeout * 1e9)
        while self._task is not None:
            now = time.perf_counter_ns()
            until = now + int(_SLICE * 1e9)
            if end is not None:
                until = max(1, min(until, end))
            if self._has_ended(self._task, until):
                break
            if end is not None and time.perf_counter_ns() >= end:
                return False
        return True

    def _has_ended(self, task: NativeObject, until_ns: int) -> bool:
        has_ended = ctypes.c_int32()
        code = self._table.wait(task.pointer, until_ns, ctypes.byref(has_ended), self._error)
        if code == abi.OK and not has_ended.value:
            raise_stored()
            return False
        try:
            if code:
                raise self._program.failure(code, self._error)
            raise_stored()
        finally:
            self.close()
        return True

    def close(self) -> None:
        """Release the task; a running program is stopped first."""
        task, self._task = self._task, None
        if task is not None:
            task.end()


class _End:
    """Gives the context of a program back, once."""

    def __init__(self, program: BoundProgram) -> None:
        self._program: BoundProgram | None = program

    def __call__(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.args.call_id = program.args.deadline_ns = 0
            program.leave()
