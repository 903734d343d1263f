# SPDX-License-Identifier: MIT
"""The extension ``armnn.async/1`` in C: asynchronous programs."""

from __future__ import annotations

import ctypes
import time
from typing import Final, Protocol, cast

from armnn.backends.base import Step
from armnn.backends.extensions import AsyncExecution, Task
from armnn.backends.ffi.calls import NOBODY, raise_stored
from armnn.backends.ffi.library import Library
from armnn.backends.native.lifetimes import NativeObject
from armnn.backends.native.programs.program import check_open
from armnn.errors import ArmnnError, BackendError, InvalidArgumentError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import new_error

NEVER: Final = 0
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
        deadline = NEVER if deadline_ns is None else deadline_ns
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
