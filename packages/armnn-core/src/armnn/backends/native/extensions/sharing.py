# SPDX-License-Identifier: MIT
"""The extension ``armnn.memory/1`` in C: memory by file descriptor."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from armnn.backends.extensions import SharedBuffer, SharedMemory
from armnn.backends.ffi.errors import attempt, exception_of
from armnn.backends.native.lifetimes import NativeObject
from armnn.errors import BackendError, ClosedError, InvalidArgumentError
from armnn_backend_api import ctypes_mirror as abi


class NativeSharedMemory(SharedMemory):
    """Buffers of one backend."""

    def __init__(self, backend: NativeObject, table: abi.Memory) -> None:
        self._backend = backend
        self._table = table

    def allocate(self, size: int) -> NativeBuffer:
        """Return a new buffer of zeros.

        Raises:
            InvalidArgumentError: The size is not positive.
            ResourceExhaustedError: There is no memory left.
        """
        return self._made(f"allocate {size} bytes", size, self._table.allocate, size)

    def import_fd(self, fd: int, size: int, *, offset: int = 0) -> NativeBuffer:
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
    ) -> NativeBuffer:
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
        return NativeBuffer(made, self._table, size)


class NativeBuffer(SharedBuffer):
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
