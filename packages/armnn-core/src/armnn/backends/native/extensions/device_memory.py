# SPDX-License-Identifier: MIT
"""The extension ``armnn.device/1`` in C: tensors of a device."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends.ffi.errors import attempt, exception_of
from armnn.backends.ffi.values import tensor_of
from armnn.backends.memory import ArrayHandle, MemoryManager, TensorHandle, TensorHandleFactory
from armnn.backends.native.lifetimes import NativeObject
from armnn.errors import BackendError
from armnn.tensor import TensorInfo
from armnn.types import MemorySource
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.guarded import Failure
from armnn_backend_api.structs import Arena


def factory_id(backend_id: str) -> str:
    """Return the id of a backend's tensor-handle factory."""
    return f"{backend_id}.device"


class NativeHandleFactory(TensorHandleFactory):
    """Makes tensors in the memory of a C backend's device."""

    def __init__(self, backend: NativeObject, table: abi.DeviceMemory) -> None:
        self.id = factory_id(backend.library.id)
        self._backend = backend
        self._table = table
        self._import_host = table.import_host
        if self._import_host is not None:
            self.import_sources = frozenset({MemorySource.MALLOC})

    def create(self, info: TensorInfo, memory: MemoryManager | None = None) -> NativeHandle:  # noqa: ARG002  # C manages its own
        """Return a tensor in a buffer of its own.

        Raises:
            ResourceExhaustedError: The device has no memory left.
            ArmnnError: The backend failed otherwise.
        """
        action = f"allocate {info.size_bytes} bytes of device memory"
        made = self._made(action, self._table.allocate, max(1, info.size_bytes))
        if isinstance(made, Failure):
            raise exception_of(made, self._backend.library, action)
        return NativeHandle(info, made, self._backend, self._table)

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
        return NativeHandle(info, made, self._backend, self._table, array)

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


class NativeHandle(TensorHandle):
    """A tensor in the memory of a C backend's device.

    Attributes:
        backend: The C backend whose device it is.
    """

    __slots__ = ("_buffer", "_host", "_imported", "_table", "backend", "info")

    def __init__(
        self,
        info: TensorInfo,
        buffer: NativeObject,
        backend: NativeObject,
        table: abi.DeviceMemory,
        imported: NDArray[Any] | None = None,
    ) -> None:
        self.info = info
        self.backend = backend
        self._buffer = buffer
        self._table = table
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

    def describe(self, arena: Arena) -> abi.Tensor:
        """Return the tensor as ``execute`` takes it.

        Raises:
            BackendError: The backend gives no address.
        """
        address = self._table.data(self._buffer.pointer)
        if address is None:
            raise BackendError(
                f"backend {self.backend.library.id!r} ({self.backend.library.path}) gives NULL as "
                f"the data of a device buffer of {self.info.size_bytes} bytes"
            )
        like = np.empty(self.info.static_shape, self.info.data_type.numpy_dtype)
        tensor = tensor_of(like, arena)
        tensor.data = address
        tensor.device_type, tensor.device_id = self._table.device_type, self._table.device_id
        arena.hold(self)
        return tensor

    def _copy(self, direction: str, function: Any, array: NDArray[Any]) -> None:
        if array.nbytes:
            where = ctypes.c_void_p(array.ctypes.data)
            failure = attempt(function, self._buffer.pointer, where, array.nbytes)
            if failure is not None:
                action = f"copy {array.nbytes} bytes {direction} its device"
                raise exception_of(failure, self.backend.library, action)
