# SPDX-License-Identifier: MIT
"""Tensors in the memory of a backend's device (``armnn.device/1``), for callers of its C table.

The probe and the conformance kit hand such tensors to ``execute`` where it takes no others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.memory import UnmappedError, read_memory
from armnn_backend_api.names import DEVICE_MEMORY

if TYPE_CHECKING:
    from typing import Self

__all__ = ["DeviceMemory", "DeviceTableError"]

_SINCE_MINOR: Final = 2
_NEEDED: Final = ("allocate", "data", "copy_in", "copy_out", "buffer_destroy")

Caller: TypeAlias = Callable[..., None]
"""Calls a function of a table whose last argument is an error; raises if it fails."""


class DeviceTableError(Exception):
    """The table of the extension is not what the header describes; the text says why."""


class DeviceMemory:
    """The memory of a device that the host does not reach.

    Attributes:
        device_type: Of its tensors, as in ``armnn_tensor``.
        device_id: As above.
    """

    def __init__(self, memory: abi.DeviceMemory, backend: ctypes.c_void_p, call: Caller) -> None:
        self.device_type, self.device_id = memory.device_type, memory.device_id
        self._memory, self._backend, self._call = memory, backend, call

    @classmethod
    def needed_by(
        cls, table: abi.BackendApi, backend: ctypes.c_void_p, call: Caller
    ) -> Self | None:
        """Return the device whose tensors ``execute`` needs, None if it takes host memory.

        Args:
            table: Of the backend; one that declares less than Backend API 1.2 is not asked.
            backend: What ``create`` made.
            call: How functions of the extension are called.

        Raises:
            DeviceTableError: The extension is not what the header describes.
        """
        if table.api_minor < _SINCE_MINOR or not bool(table.get_extension):
            return None
        address = table.get_extension(DEVICE_MEMORY.encode())
        if not address:
            return None
        try:
            memory = abi.DeviceMemory.from_buffer_copy(
                read_memory(address, ctypes.sizeof(abi.DeviceMemory))
            )
        except UnmappedError as error:
            why = f"answers {DEVICE_MEMORY!r} with a stale table: {error}"
            raise DeviceTableError(why) from None
        if memory.takes_host_memory:
            return None
        missing = [name for name in _NEEDED if not bool(getattr(memory, name))]
        if missing:
            raise DeviceTableError(
                f"answers {DEVICE_MEMORY!r} with NULL for {', '.join(missing)}, expected a function"
            )
        if memory.device_type == abi.DEVICE_CPU:
            raise DeviceTableError(
                f"answers {DEVICE_MEMORY!r} with the device type {abi.DEVICE_CPU} of host memory, "
                "expected that of a device"
            )
        return cls(memory, backend, call)

    def move(self, tensor: abi.Tensor, size: int) -> DeviceTensor:
        """Make a tensor in host memory one of the device.

        Args:
            tensor: Is changed; its elements are still in host memory only, see
                :meth:`DeviceTensor.send`.
            size: In bytes.
        """
        made = DeviceTensor(self._memory, self._call, size, (tensor.data or 0) + tensor.byte_offset)
        self._call(self._memory.allocate, self._backend, max(size, 1), ctypes.byref(made.buffer))
        if not made.buffer.value:
            raise DeviceTableError("answers ARMNN_OK from allocate, but makes no buffer")
        tensor.data, tensor.byte_offset = self._memory.data(made.buffer), 0
        if not tensor.data:
            raise DeviceTableError(f"answers NULL as the data of a device buffer of {size} bytes")
        tensor.device_type, tensor.device_id = self.device_type, self.device_id
        return made


class DeviceTensor:
    """A tensor of a device, and where its elements are in host memory.

    Attributes:
        buffer: The ``armnn_device_buffer``.
    """

    def __init__(self, memory: Any, call: Caller, size: int, address: int) -> None:
        self.buffer = ctypes.c_void_p()
        self._memory, self._call, self._size, self._address = memory, call, size, address

    def send(self) -> None:
        """Copy the elements from host memory to the device."""
        if self._size:
            self._call(self._memory.copy_in, self.buffer, self._address, self._size)

    def fetch(self) -> None:
        """Copy the elements from the device to host memory."""
        if self._size:
            self._call(self._memory.copy_out, self.buffer, self._address, self._size)

    def read(self) -> bytes:
        """Return the elements on the device, and leave those in host memory as they are."""
        content = ctypes.create_string_buffer(max(self._size, 1))
        if self._size:
            self._call(self._memory.copy_out, self.buffer, content, self._size)
        return content.raw[: self._size]

    def close(self) -> None:
        """Destroy the buffer."""
        if self.buffer.value:
            self._memory.buffer_destroy(self.buffer)
            self.buffer = ctypes.c_void_p()
