# SPDX-License-Identifier: MIT
"""Contexts of a native backend: of runtimes, of networks; devices."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from numpy.typing import NDArray

from armnn.backends.capi.calls import Library, call, ended_run, guarded
from armnn.backends.capi.library import NativeObject
from armnn.backends.capi.values import option_array, value_of
from armnn.backends.contract import (
    BackendContext,
    ModelContext,
    ProfilingContext,
    ProfilingSink,
)
from armnn.backends.memory import Allocator
from armnn.backends.options import OptionValue
from armnn.errors import BackendError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, copied, end_of, shown_text, struct


class NativeAllocator:
    """Hands a Python allocator's memory to C.

    Attributes:
        allocator: The user's.
        table: The ``armnn_allocator``; it lives as long as the backend that uses it.
    """

    def __init__(self, allocator: Allocator) -> None:
        self.allocator = allocator
        self._blocks: dict[int, NDArray[Any]] = {}
        self._lock = threading.RLock()  # the collector may free a block while one is allocated
        self.table = struct(abi.Allocator)
        self.table.allocate = abi.AllocatorAllocate(guarded(None)(self._allocate))
        self.table.free = abi.AllocatorFree(guarded(None)(self._free))
        self.table.device_type = abi.DEVICE_CPU

    def _allocate(self, _ctx: int | None, size: int, align: int) -> int | None:
        block = self.allocator.allocate(size, max(align, 1))
        address: int = block.ctypes.data
        with self._lock:
            self._blocks[address] = block
        return address

    def _free(self, _ctx: int | None, memory: int | None) -> None:
        if memory is None:
            return
        with self._lock:
            block = self._blocks.pop(memory, None)
        if block is None:
            raise LookupError(f"a backend frees {memory:#x}, which this allocator did not allocate")
        self.allocator.free(block)


class NativeBackendContext(BackendContext):
    """A runtime's context of a native backend that takes no events."""

    def __init__(
        self, backend: NativeObject, when_closed: Callable[[], None] | None = None
    ) -> None:
        self._backend = backend
        self._when_closed = when_closed

    def close(self) -> None:
        """Leave the allocator of the runtime to itself."""
        if self._when_closed is not None:
            self._when_closed()


class EventfulBackendContext(NativeBackendContext):
    """Sends a native backend the events of a runtime's networks."""

    def before_load_network(self, network_id: int) -> None:
        """Ask whether the network may be loaded.

        Raises:
            ArmnnError: The backend refuses.
        """
        self._tell(abi.BEFORE_LOAD, network_id, "load")

    def after_load_network(self, network_id: int) -> None:
        """Tell the backend that the network was loaded."""
        self._tell(abi.AFTER_LOAD, network_id, "finish the loading of")

    def before_unload_network(self, network_id: int) -> None:
        """Tell the backend that the network is about to be unloaded."""
        self._tell(abi.BEFORE_UNLOAD, network_id, "prepare the unloading of")

    def after_unload_network(self, network_id: int) -> None:
        """Tell the backend that the network was unloaded."""
        self._tell(abi.AFTER_UNLOAD, network_id, "finish the unloading of")

    def trim(self) -> None:
        """Ask for memory that is kept for later; those before Backend API 1.3 know no such event.

        Raises:
            ArmnnError: The backend failed.
        """
        version = self._backend.library.api_version
        if (version.major, version.minor) >= (1, 3):
            self._event(abi.TRIM, 0, "give memory back")

    def _tell(self, event: int, network_id: int, action: str) -> None:
        self._event(event, network_id, f"{action} network {network_id}")

    def _event(self, event: int, network_id: int, action: str) -> None:
        library = self._backend.library
        if not library.has_ended:
            call(library, "network_event", action, self._backend.pointer, event, network_id)


class NotifiedBackendContext(EventfulBackendContext):
    """Sends the event of a run's end, too.

    It is for backends that declare Backend API 1.2: a call per run costs a microsecond.
    """

    def after_enqueue_workload(self, network_id: int) -> None:
        """Tell the backend that a run has ended, on the run's thread."""
        self._tell(abi.AFTER_ENQUEUE, network_id, "take note of a run of")


class NativeProfilingContext(ProfilingContext):
    """Asks a native backend for the kernels of a run's queue when the run has ended."""

    def __init__(self, backend: NativeObject, sink: ProfilingSink) -> None:
        self._backend = backend
        self._sink = sink

    def end_run(self, network_id: int) -> None:
        """Say that a profiled run has ended, on its thread.

        Raises:
            ArmnnError: The backend failed.
        """
        library, token = self._backend.library, ended_run.set(self._sink)
        event = abi.AFTER_PROFILED_RUN
        try:
            if not library.has_ended:
                action = f"tell of the kernels of network {network_id}"
                call(library, "network_event", action, self._backend.pointer, event, network_id)
        finally:
            ended_run.reset(token)


DEVICE_OPTION: Final = "Device"
"""The option that selects a device by its id; the host reads it, the backend does not get it."""

COUNT_LIMIT: Final = 1024
"""Devices or capabilities at most; a larger count comes from a stale pointer."""

_SMALLEST: Final = end_of(abi.Device, "num_info")


@dataclass(frozen=True, slots=True)
class NativeDevice:
    """A device that a backend can run on.

    Attributes:
        id: The id by which the user selects it, as in the option ``Device``.
        name: As in "Mali-G710".
        kind: "cpu", "gpu", "npu" or the vendor's word.
        memory_bytes: Its memory; 0 if that is not known.
        fingerprint: The facts that a serialized program depends on.
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

    def as_dict(self) -> dict[str, Any]:
        """Return the device, without its id, as data for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "memory_bytes": self.memory_bytes,
            "fingerprint": self.fingerprint,
            "info": dict(self.info),
        }


class NativeModelContext(ModelContext):
    """The options of one network for a native backend.

    Attributes:
        device: The device that the user selected; None for the backend's first.
        defaults: The options of the runtime, which the backend got when it was created.
        asked: The :class:`NativeGraph` of the last query, until something is compiled.
    """

    def __init__(
        self,
        options: Mapping[str, OptionValue],
        device: NativeDevice | None = None,
        defaults: Mapping[str, OptionValue] | None = None,
        factories: Sequence[str] | None = None,
    ) -> None:
        super().__init__(options)
        self.device = device
        self.handle_factory_preferences = factories
        self.defaults = dict(defaults or {})
        self.asked: Any = None
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
