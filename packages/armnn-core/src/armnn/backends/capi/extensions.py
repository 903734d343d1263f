# SPDX-License-Identifier: MIT
"""The optional extensions of the C table: shared memory, asynchronous programs."""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable
from typing import Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from armnn.backends.capi.calls import (
    NOBODY,
    Library,
    attempt,
    check_open,
    exception_of,
    raise_stored,
)
from armnn.backends.capi.library import NativeObject
from armnn.backends.contract import Step
from armnn.backends.extensions import AsyncExecution, SharedBuffer, SharedMemory, Task
from armnn.errors import ArmnnError, BackendError, ClosedError, InvalidArgumentError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import new_error


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
        failure = attempt(library, make, self._backend.pointer, *args, ctypes.byref(pointer))
        if failure is not None:
            raise exception_of(failure, library, action)
        if pointer.value is None:
            raise BackendError(
                f"backend {library.id!r} ({library.path}) failed to {action}: it returned neither "
                "a buffer nor an error"
            )
        buffer_destroy = self._table.buffer_destroy
        made = NativeObject(library, pointer.value, buffer_destroy, self._backend)
        made.is_memory = True
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
        failure = attempt(buffer.library, self._table.export_fd, buffer.pointer, *into)
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
"""The deadline of work without a limit."""

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
