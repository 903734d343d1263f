# SPDX-License-Identifier: MIT
"""Devices and capabilities of a backend, and networks' devices."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from armnn._dataclasses import dataclass
from armnn.backends.base import ModelContext
from armnn.backends.ffi.errors import call
from armnn.backends.ffi.values import option_array, value_of
from armnn.errors import BackendError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, copied, end_of, shown_text

if TYPE_CHECKING:
    from armnn.backends.ffi.library import Library
    from armnn.backends.native.lifetimes import NativeObject
    from armnn.backends.options import OptionValue

DEVICE_OPTION: Final = "Device"
"""The option that selects a device by its id; the host reads it, the backend does not get it."""

COUNT_LIMIT: Final = 1024
"""Devices or capabilities at most; a larger count comes from a stale pointer."""

_SMALLEST: Final = end_of(abi.Device, "num_info")


@dataclass(frozen=True, slots=True)
class NativeDevice:
    """A device that a backend can run on.

    Attributes:
        id: What the user selects it by, as in the option ``Device``.
        name: As in "Mali-G710".
        kind: "cpu", "gpu", "npu" or the vendor's word.
        memory_bytes: Its memory; 0 if that is not known.
        fingerprint: What a serialised program depends on.
        info: Further facts.
        address: Where the backend's own description is.
    """

    id: str
    name: str
    kind: str
    memory_bytes: int
    fingerprint: str
    info: Mapping[str, OptionValue]
    address: int


class NativeModelContext(ModelContext):
    """The options of one network for a native backend.

    Attributes:
        device: The device that the user selected; None for the backend's first.
        defaults: The options of the runtime, which the backend got when it was created.
    """

    def __init__(
        self,
        options: Mapping[str, OptionValue],
        device: NativeDevice | None = None,
        defaults: Mapping[str, OptionValue] | None = None,
    ) -> None:
        super().__init__(options)
        self.device = device
        self.defaults = dict(defaults or {})
        self._arena = Arena()

    @functools.cached_property
    def option_array(self) -> Any:
        """Its options as ``armnn_option[]``; every compilation reads them."""
        return option_array(self.options, self._arena)


def read_devices(backend: NativeObject) -> tuple[NativeDevice, ...]:
    """Return a backend's devices, best first; none if unreported.

    Raises:
        ArmnnError: The backend failed to tell.
    """
    library = backend.library
    if library.function("devices") is None:
        return ()
    pointers, count = ctypes.POINTER(ctypes.POINTER(abi.Device))(), ctypes.c_uint64()
    call(library, "devices", "list its devices", backend.pointer, pointers, count)
    addresses = _elements(library, "devices", pointers, count.value)
    return tuple(_device(library, element) for element in addresses)


def read_capabilities(backend: NativeObject) -> dict[str, OptionValue]:
    """Return the capabilities of a backend by name.

    Raises:
        ArmnnError: The backend failed to tell.
    """
    library = backend.library
    if library.function("capabilities") is None:
        return {}
    options, count = ctypes.POINTER(abi.Option)(), ctypes.c_uint64()
    call(library, "capabilities", "list its capabilities", backend.pointer, options, count)
    return _facts(library, "capabilities", options, count.value)


def device_pointer(device: NativeDevice | None) -> ctypes._Pointer[abi.Device] | None:
    """Return the backend's reference to a device.

    None is its first one.
    """
    if device is None:
        return None
    return ctypes.cast(device.address, ctypes.POINTER(abi.Device))


def _device(library: Library, pointer: ctypes._Pointer[abi.Device]) -> NativeDevice:
    if not bool(pointer):
        raise BackendError(f"backend {library.id!r} ({library.path}) lists a device that is NULL")
    address = ctypes.addressof(pointer.contents)
    header, expected = pointer.contents.header, abi.STRUCT_IDS[abi.Device]
    if header.struct_id != expected or header.struct_size < _SMALLEST:
        raise BackendError(
            f"backend {library.id!r} ({library.path}) lists a device with struct_id "
            f"{header.struct_id:#x} and struct_size {header.struct_size}: expected {expected:#x} "
            f"and at least {_SMALLEST}"
        )
    device = copied(abi.Device, address)
    return NativeDevice(
        id=shown_text(device.id),
        name=shown_text(device.name),
        kind=shown_text(device.kind),
        memory_bytes=device.memory_bytes,
        fingerprint=shown_text(device.fingerprint),
        info=_facts(library, "facts about a device", device.info, device.num_info),
        address=address,
    )


def _facts(
    library: Library, what: str, options: ctypes._Pointer[abi.Option], count: int
) -> dict[str, OptionValue]:
    rows = _elements(library, what, options, count)
    return {shown_text(row.key): value_of(shown_text(row.value)) for row in rows}


def _elements(library: Library, what: str, array: Any, count: int) -> list[Any]:
    if not count:
        return []
    if count > COUNT_LIMIT or not bool(array):
        where = "the array is NULL" if count <= COUNT_LIMIT else f"at most {COUNT_LIMIT} expected"
        raise BackendError(f"backend {library.id!r} ({library.path}) lists {count} {what}: {where}")
    return [array[index] for index in range(count)]
