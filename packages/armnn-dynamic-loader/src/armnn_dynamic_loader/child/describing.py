# SPDX-License-Identifier: MIT
"""Reads the facts of a backend that a host reads besides layers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.memory import UnmappedError, read_memory
from armnn_backend_api.names import (
    ASYNC_EXECUTION,
    DEVICE_MEMORY,
    PLACED_DEVICE_MEMORY,
    SHARED_MEMORY,
    STREAMS,
)
from armnn_backend_api.process_state import disturbed_by
from armnn_backend_api.structs import MESSAGE_LIMIT, copied, end_of, new_error
from armnn_dynamic_loader.child.calls import DefectError

_COUNT_LIMIT: Final = 1024
_EXTENSIONS: Final = {
    ASYNC_EXECUTION: abi.Async,
    SHARED_MEMORY: abi.Memory,
    DEVICE_MEMORY: abi.DeviceMemory,
    PLACED_DEVICE_MEMORY: abi.DeviceMemory2,
    STREAMS: abi.Streams,
}
_MADE_UP_EXTENSION: Final = "armnn.probe.made_up/1"
_EVENTS: Final = (abi.BEFORE_LOAD, abi.AFTER_LOAD, abi.BEFORE_UNLOAD, abi.AFTER_UNLOAD)
_NETWORK: Final = 1


def describe(table: abi.BackendApi, backend: ctypes.c_void_p) -> None:
    """Read devices, capabilities and extensions; tell of a network.

    An error that the backend answers is not a defect here.

    Raises:
        DefectError: It points to memory that is not as the header describes it.
    """
    try:
        _read_devices(table, backend)
        _read_capabilities(table, backend)
        _read_extensions(table)
    except UnmappedError as error:
        raise DefectError(f"points to memory that is not there: {error}") from None
    if bool(table.network_event):
        for event in _EVENTS:
            _answers(table.network_event, backend, event, _NETWORK)


def stated_disturbances(table: abi.BackendApi, backend: ctypes.c_void_p) -> list[str]:
    """Return the disturbances by its driver that the backend states as its capability Disturbs.

    Raises:
        DefectError: The value is not one that a backend may report.
    """
    try:
        options = _read_capabilities(table, backend)
    except UnmappedError as error:
        raise DefectError(f"points to memory that is not there: {error}") from None
    try:
        return disturbed_by(options.get("Disturbs"))
    except ValueError as error:
        raise DefectError(f"has a defect: {error}") from None


def _read_devices(table: abi.BackendApi, backend: ctypes.c_void_p) -> None:
    pointers, count = ctypes.c_void_p(), ctypes.c_uint64()
    devices: Any = ctypes.cast(ctypes.byref(pointers), _type_of(table.devices, 1))
    if not bool(table.devices) or not _answers(table.devices, backend, devices, count):
        return
    for address in _array(pointers.value, count.value, "devices"):
        header = abi.Header.from_buffer_copy(read_memory(address, ctypes.sizeof(abi.Header)))
        least = end_of(abi.Device, "num_info")
        if header.struct_id != abi.STRUCT_IDS[abi.Device] or header.struct_size < least:
            raise DefectError(
                f"lists a device with struct_id {header.struct_id:#x} and struct_size "
                f"{header.struct_size}, expected {abi.STRUCT_IDS[abi.Device]:#x} and at least "
                f"{least}"
            )
        read_memory(address, min(header.struct_size, ctypes.sizeof(abi.Device)))
        device = copied(abi.Device, address)
        for name in ("id", "name", "kind", "fingerprint"):
            _read_text(getattr(device, name))
        _read_options(ctypes.cast(device.info, ctypes.c_void_p).value, device.num_info)


def _read_capabilities(table: abi.BackendApi, backend: ctypes.c_void_p) -> dict[str, str]:
    rows, count = ctypes.c_void_p(), ctypes.c_uint64()
    options: Any = ctypes.cast(ctypes.byref(rows), _type_of(table.capabilities, 1))
    if bool(table.capabilities) and _answers(table.capabilities, backend, options, count):
        return _read_options(rows.value, count.value)
    return {}


def _read_options(address: int | None, count: int) -> dict[str, str]:
    _check_count(address, count, "options")
    size = ctypes.sizeof(abi.Option)
    found = {}
    for index in range(count):
        row = abi.Option.from_buffer_copy(read_memory((address or 0) + index * size, size))
        found[_read_text(row.key)] = _read_text(row.value)
    return found


def _read_extensions(table: abi.BackendApi) -> None:
    if not bool(table.get_extension):
        return
    if table.get_extension(_MADE_UP_EXTENSION.encode()):
        raise DefectError(f"has the extension {_MADE_UP_EXTENSION!r}, which does not exist")
    for name, kind in _EXTENSIONS.items():
        address = table.get_extension(name.encode())
        if address:
            header = abi.Header.from_buffer_copy(read_memory(address, ctypes.sizeof(kind)))
            if header.struct_id != abi.STRUCT_IDS[kind]:
                raise DefectError(
                    f"answers {name!r} with a table of id {header.struct_id:#x}, expected "
                    f"{abi.STRUCT_IDS[kind]:#x}"
                )


def _array(address: int | None, count: int, what: str) -> list[int]:
    """Return the addresses in an array of pointers."""
    _check_count(address, count, what)
    if not count or address is None:
        return []
    size = ctypes.sizeof(ctypes.c_void_p)
    found = (ctypes.c_void_p * count).from_buffer_copy(read_memory(address, count * size))
    if not all(found):
        raise DefectError(f"lists {count} {what}, one of which is NULL")
    return [each for each in found if each]


def _check_count(address: int | None, count: int, what: str) -> None:
    if count > _COUNT_LIMIT:
        raise DefectError(f"lists {count} {what}, expected at most {_COUNT_LIMIT}")
    if count and address is None:
        raise DefectError(f"lists {count} {what} at NULL")


def _read_text(text: abi.String) -> str:
    if not text.size or not text.data:
        return ""
    return read_memory(text.data, min(text.size, MESSAGE_LIMIT)).decode(errors="replace")


def _type_of(function: Any, argument: int) -> Any:
    return type(function)._argtypes_[argument]


def _answers(function: Callable[..., int], *arguments: object) -> bool:
    """Call a function; return whether it answers ARMNN_OK."""
    error = new_error()
    code = function(*arguments, error)
    if code != abi.OK and error.message.size and error.message.data:
        read_memory(error.message.data, min(error.message.size, MESSAGE_LIMIT))
    if bool(error.release):
        error.release(error)
    return code == abi.OK
