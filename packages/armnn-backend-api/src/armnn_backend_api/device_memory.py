# SPDX-License-Identifier: MIT
"""Tensors in the memory of a backend's device, for callers of its C table.

They are in buffers of ``armnn.device/1``, or at an offset in those of ``armnn.device/2``. The probe
and the conformance kit hand such tensors to ``execute`` where it takes no others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.memory import UnmappedError, read_memory
from armnn_backend_api.names import DEVICE_MEMORY, PLACED_DEVICE_MEMORY
from armnn_backend_api.structs import struct

if TYPE_CHECKING:
    from typing import Self

__all__ = ["DeviceMemory", "DeviceTableError"]

_VERSIONS: Final[tuple[tuple[str, type[Any], int], ...]] = (
    (PLACED_DEVICE_MEMORY, abi.DeviceMemory2, 3),
    (DEVICE_MEMORY, abi.DeviceMemory, 2),
)
"""The versions of the extension, the newest first, and the minor since when each is."""

_NOBODY: Final = 0
"""The call_id of a copy that nobody stops."""

_NO_STREAM: Final = None
"""The stream of a copy that waits for all that was executed before."""

_FIRST_DEVICE: Final = None

_NEEDED: Final = ("allocate", "data", "copy_in", "copy_out", "buffer_destroy")

Caller: TypeAlias = Callable[..., None]
"""Calls a function of a table whose last argument is an error; raises if it fails."""


class DeviceTableError(Exception):
    """The table of the extension does not fit the header; the text says why."""


class DeviceMemory:
    """The memory of a device that the host does not reach.

    Attributes:
        device_type: The device type of its tensors, as in ``armnn_tensor``.
        device_id: As above.
    """

    def __init__(self, memory: Any, backend: ctypes.c_void_p, call: Caller) -> None:
        self._memory, self._call = memory, call
        self._before: tuple[Any, ...] = (backend,)
        self._offset: int | None = None
        self.device_type = memory.device_type
        if not isinstance(memory, abi.DeviceMemory2):
            self.device_id = memory.device_id
            return
        self._before = (backend, _FIRST_DEVICE)
        limits = struct(abi.DeviceLimits)
        call(memory.limits, *self._before, ctypes.byref(limits))
        self.device_id, self._offset = limits.device_id, limits.alignment

    @classmethod
    def needed_by(
        cls, table: abi.BackendApi, backend: ctypes.c_void_p, call: Caller
    ) -> Self | None:
        """Return the device whose tensors ``execute`` needs, None if it takes host memory.

        Args:
            table: The backend's table, of which functions of its Backend API are used.
            backend: The object that ``create`` made.
            call: How functions of the extension are called.

        Raises:
            DeviceTableError: The extension is not what the header describes.
        """
        if not bool(table.get_extension):
            return None
        for name, kind, since in _VERSIONS:
            address = table.get_extension(name.encode()) if table.api_minor >= since else None
            if address:
                memory = _checked(name, kind, address)
                return None if memory.takes_host_memory else cls(memory, backend, call)
        return None

    def move(self, tensor: abi.Tensor, size: int) -> DeviceTensor:
        """Make a tensor in host memory one of the device.

        Args:
            tensor: Is changed; its elements are still in host memory only, see
                :meth:`DeviceTensor.send`.
            size: In bytes.
        """
        offset = self._offset
        address = (tensor.data or 0) + tensor.byte_offset
        made = DeviceTensor(self._memory, self._call, size, address, offset)
        whole = max(size, 1) + (offset or 0)
        self._call(self._memory.allocate, *self._before, whole, ctypes.byref(made.buffer))
        if not made.buffer.value:
            raise DeviceTableError("answers ARMNN_OK from allocate, but makes no buffer")
        tensor.data, tensor.byte_offset = self._memory.data(made.buffer), offset or 0
        if not tensor.data:
            raise DeviceTableError(f"answers NULL as the data of a device buffer of {whole} bytes")
        tensor.device_type, tensor.device_id = self.device_type, self.device_id
        return made


def _checked(name: str, kind: type[Any], address: int) -> Any:
    """Return the table of the extension.

    Raises:
        DeviceTableError: It is not what the header describes.
    """
    try:
        memory = kind.from_buffer_copy(read_memory(address, ctypes.sizeof(kind)))
    except UnmappedError as error:
        raise DeviceTableError(f"answers {name!r} with a stale table: {error}") from None
    needed = (*_NEEDED, "limits") if kind is abi.DeviceMemory2 else _NEEDED
    missing = [each for each in needed if not bool(getattr(memory, each))]
    if missing:
        raise DeviceTableError(
            f"answers {name!r} with NULL for {', '.join(missing)}, expected a function"
        )
    if memory.device_type == abi.DEVICE_CPU:
        raise DeviceTableError(
            f"answers {name!r} with the device type {abi.DEVICE_CPU} of host memory, expected that "
            "of a device"
        )
    return memory


class DeviceTensor:
    """A tensor of a device, and where its elements are in host memory.

    Attributes:
        buffer: The ``armnn_device_buffer``.
    """

    def __init__(
        self, memory: Any, call: Caller, size: int, address: int, offset: int | None
    ) -> None:
        """Note where it is.

        Args:
            memory: The table of the extension.
            call: How its functions are called.
            size: In bytes.
            address: In host memory.
            offset: In the buffer; None if that holds one tensor.
        """
        self.buffer = ctypes.c_void_p()
        self._memory, self._call, self._size, self._address = memory, call, size, address
        self._before: tuple[int, ...] = () if offset is None else (offset,)
        self._behind: tuple[int | None, ...] = () if offset is None else (_NO_STREAM, _NOBODY)

    def send(self) -> None:
        """Copy the elements from host memory to the device."""
        self._copy(self._memory.copy_in, self._address)

    def fetch(self) -> None:
        """Copy the elements from the device to host memory."""
        self._copy(self._memory.copy_out, self._address)

    def read(self) -> bytes:
        """Return the elements on the device, and leave those in host memory as they are."""
        content = ctypes.create_string_buffer(max(self._size, 1))
        self._copy(self._memory.copy_out, content)
        return content.raw[: self._size]

    def _copy(self, function: Callable[..., int], host: object) -> None:
        if self._size:
            self._call(function, self.buffer, *self._before, host, self._size, *self._behind)

    def close(self) -> None:
        """Destroy the buffer."""
        if self.buffer.value:
            self._memory.buffer_destroy(self.buffer)
            self.buffer = ctypes.c_void_p()
