# SPDX-License-Identifier: MIT
"""The backend class of CpuRef, with submitted steps and shared memory; the entry point names it."""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from armnn.backends import (
    ASYNC_EXECUTION,
    SHARED_MEMORY,
    AsyncExecution,
    Backend,
    BackendVersion,
    ModelContext,
    OptionValue,
    SharedBuffer,
    SharedMemory,
    Step,
    Support,
    Task,
    Workload,
)
from armnn.errors import (
    ClosedError,
    DeadlineExceededError,
    ExecutionError,
    InvalidArgumentError,
    ResourceExhaustedError,
)

if TYPE_CHECKING:
    from armnn.graph import Layer


class _AsyncExecution(AsyncExecution):
    """Runs each submitted step in a thread.

    NumPy cannot be interrupted: a step that its deadline finds running ends first.
    """

    def submit(self, step: Step, *, deadline_ns: int | None = None) -> Task:
        """Start a step and return at once.

        Raises:
            InvalidArgumentError: The step is not one of CpuRef.
            ExecutionError: There is no thread left.
        """
        from armnn_backend_ref.workload import RefWorkload  # late: a prepared load does without

        if getattr(step, "__module__", None) != RefWorkload.__module__:
            raise InvalidArgumentError(
                f"backend 'CpuRef' cannot submit {step!r}: expected a step that a workload of this "
                "backend was bound to"
            )
        return _RefTask(step, deadline_ns)


class _RefTask(Task):
    """A step in a thread."""

    def __init__(self, step: Step, deadline_ns: int | None) -> None:
        self._step = step
        self._deadline_ns = deadline_ns
        self._is_closed = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="CpuRef-task")
        try:
            self._thread.start()
        except RuntimeError as error:
            raise ExecutionError(f"CpuRef cannot start a thread for a step: {error}") from error

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the step's end; return whether it has ended.

        Raises:
            DeadlineExceededError: It ended after its deadline.
            ExecutionError: It failed.
        """
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        if self._error is not None:
            raise self._error
        return True

    def close(self) -> None:
        """Wait for a step that has begun, and forget it."""
        self._is_closed = True
        self._thread.join()

    def _work(self) -> None:
        try:
            if not self._is_closed and not self._is_late():
                self._step()
            if self._is_late():
                raise DeadlineExceededError("the deadline of a step on CpuRef has passed")
        except ExecutionError as error:
            self._error = error
        except Exception as error:
            self._error = ExecutionError(f"a step failed on CpuRef: {error}")
            self._error.__cause__ = error

    def _is_late(self) -> bool:
        return self._deadline_ns is not None and time.perf_counter_ns() > self._deadline_ns


class _SharedMemory(SharedMemory):
    """Buffers of files that ``memfd_create`` or others made."""

    def allocate(self, size: int) -> SharedBuffer:
        """Return a new buffer of zeros.

        Raises:
            InvalidArgumentError: The size is not positive.
            ResourceExhaustedError: There is no memory left.
        """
        _check_size(size)
        fd = os.memfd_create("CpuRef")
        try:
            os.ftruncate(fd, size)
            return _RefBuffer(fd, 0, size)
        except (OSError, OverflowError, MemoryError) as error:
            os.close(fd)
            raise ResourceExhaustedError(f"CpuRef cannot allocate {size} bytes: {error}") from error

    def import_fd(self, fd: int, size: int, *, offset: int = 0) -> SharedBuffer:
        """Return a buffer of bytes of a file.

        Raises:
            InvalidArgumentError: Size or offset is not allowed, the file is too short, or it cannot
                be mapped for writing.
        """
        _check_size(size)
        if offset < 0 or offset % mmap.PAGESIZE:
            raise InvalidArgumentError(
                f"CpuRef cannot import from offset {offset}: expected a multiple of {mmap.PAGESIZE}"
            )
        try:
            own = os.dup(fd)
        except (OSError, OverflowError) as error:
            raise InvalidArgumentError(
                f"CpuRef cannot import file descriptor {fd}: {error}"
            ) from error
        try:
            return _RefBuffer(own, offset, size)
        except (OSError, ValueError, OverflowError) as error:
            os.close(own)
            raise InvalidArgumentError(
                f"CpuRef cannot map {size} bytes at {offset} of file descriptor {fd}: {error}"
            ) from error


class _RefBuffer(SharedBuffer):
    """Mapped bytes of a file."""

    def __init__(self, fd: int, offset: int, size: int) -> None:
        self._pages: mmap.mmap | None = mmap.mmap(fd, size, offset=offset)
        self._fd, self._offset, self._size = fd, offset, size

    @property
    def array(self) -> NDArray[np.uint8]:
        """The bytes, which live as long as their arrays.

        Raises:
            ClosedError: The buffer was closed.
        """
        return np.frombuffer(self._open(), np.uint8, self._size)

    def export_fd(self) -> tuple[int, int]:
        """Return the file's descriptor, to be closed, and the offset.

        Raises:
            ClosedError: The buffer was closed.
        """
        self._open()
        return os.dup(self._fd), self._offset

    def close(self) -> None:
        """Release the memory after its last array."""
        if self._pages is not None:
            self._pages = None
            os.close(self._fd)

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            self.close()

    def _open(self) -> mmap.mmap:
        if self._pages is None:
            raise ClosedError(f"the shared buffer of {self._size} bytes was closed")
        return self._pages


def _check_size(size: int) -> None:
    if size < 1:
        raise InvalidArgumentError(f"CpuRef cannot share {size} bytes: expected at least 1")


class RefBackend(Backend):
    """The reference backend: every layer, every data type, plain NumPy.

    It works in host memory, keeps nothing and takes no options.
    """

    id: ClassVar[str] = "CpuRef"
    api_version: ClassVar[BackendVersion] = BackendVersion(1, 2)

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """The capabilities of CpuRef, by Arm NN's names."""
        return {
            "NonConstWeights": True,
            "AsyncExecution": self.extension(ASYNC_EXECUTION) is not None,
            "ProtectedContentAllocation": False,
            "ConstantTensorsAsInputs": True,
            "PreImportIOTensors": True,
            "ExternallyManagedMemory": True,
            "MultiAxisPacking": True,
            "SingleAxisPacking": True,
            "HasFp16": True,
            "PropagatesNaN": True,
            "KeepsExtremes": True,
        }

    def supports(self, layer: Layer, model: ModelContext) -> Support:  # noqa: ARG002  # no options
        """Say whether CpuRef runs a layer."""
        from armnn_backend_ref.support import support_of  # late: a prepared load does without

        return support_of(layer)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a layer."""
        from armnn_backend_ref.workload import RefWorkload  # late: a prepared load does without

        return RefWorkload(layer, model)

    def extension(self, name: str) -> object | None:
        """Return "armnn.async/1" or "armnn.memory/1", else None."""
        if name not in (ASYNC_EXECUTION, SHARED_MEMORY):
            return None
        return _AsyncExecution() if name == ASYNC_EXECUTION else _SharedMemory()
