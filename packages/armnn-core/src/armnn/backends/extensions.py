# SPDX-License-Identifier: MIT
"""Optional features of backends, returned by ``Backend.extension``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends.contract import Step
from armnn_backend_api.names import ASYNC_EXECUTION, SHARED_MEMORY

__all__ = ["KINDS", "AsyncExecution", "SharedBuffer", "SharedMemory", "Task"]


class Task(ABC):
    """A submitted step, for one thread at a time."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the step's end; return whether it has ended.

        Args:
            timeout: Seconds to wait at most; None for as long as it takes.

        Raises:
            DeadlineExceededError: The step was stopped at its deadline.
            ExecutionError: The step failed.
        """

    @abstractmethod
    def close(self) -> None:
        """Release the task; a running step is stopped first."""

    def __enter__(self) -> Task:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncExecution(ABC):
    """The extension ``armnn.async/1``: steps that run asynchronously.

    A step that is submitted ends at its deadline, whatever it is doing. So the runtime submits the
    steps of runs with a timeout, a token or a profiler.
    """

    @abstractmethod
    def submit(self, step: Step, *, deadline_ns: int | None = None) -> Task:
        """Start a step and return at once.

        Args:
            step: From ``bind`` of a workload of this backend. Until its task has ended it may not
                be called or submitted again, and its tensors are its own.
            deadline_ns: When it must have ended (``time.perf_counter_ns``), if ever.

        Raises:
            InvalidArgumentError: The step is not one of this backend.
            ExecutionError: It cannot be started.
        """


class SharedBuffer(ABC):
    """Host memory that others can share.

    It is closed when no step uses it any more.
    """

    @property
    @abstractmethod
    def array(self) -> NDArray[np.uint8]:
        """The bytes; views in tensor handles avoid copies."""

    @abstractmethod
    def export_fd(self) -> tuple[int, int]:
        """Return the memory's file descriptor and offset in bytes.

        The caller closes the descriptor; what is mapped from it stays valid after :meth:`close`.

        Raises:
            ArmnnError: The backend cannot give one.
        """

    @abstractmethod
    def close(self) -> None:
        """Give the memory back, once ``array`` is held no more."""

    def __enter__(self) -> SharedBuffer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class SharedMemory(ABC):
    """The extension ``armnn.memory/1``: buffers that are shared by file descriptor.

    The bytes of a camera's dma-buf, of another process's ``memfd_create`` and of a backend are then
    the same ones.
    """

    @abstractmethod
    def allocate(self, size: int) -> SharedBuffer:
        """Return a new buffer of zeros that can be exported.

        Args:
            size: In bytes, at least 1.

        Raises:
            InvalidArgumentError: The size is not positive.
            ResourceExhaustedError: There is no memory left.
        """

    @abstractmethod
    def import_fd(self, fd: int, size: int, *, offset: int = 0) -> SharedBuffer:
        """Return a buffer of bytes of a file.

        Args:
            fd: The file; it may be closed afterwards.
            size: In bytes, at least 1.
            offset: Where in the file it starts, a multiple of ``mmap.PAGESIZE``.

        Raises:
            InvalidArgumentError: The file is too short, or cannot be mapped for writing.
        """


KINDS: Final[dict[str, type[Any]]] = {
    ASYNC_EXECUTION: AsyncExecution,
    SHARED_MEMORY: SharedMemory,
}
"""The class that ``Backend.extension`` answers for each name that armnn knows."""
