# SPDX-License-Identifier: MIT
"""A native backend's context: events and the user's allocator."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from armnn.backends.base import BackendContext
from armnn.backends.ffi.calls import guarded
from armnn.backends.ffi.errors import call
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends.memory import Allocator
    from armnn.backends.native.lifetimes import NativeObject


class NativeAllocator:
    """Hands a Python allocator's memory to C.

    Attributes:
        allocator: The user's.
        table: The ``armnn_allocator``; it lives as long as the backend that uses it.
    """

    def __init__(self, allocator: Allocator) -> None:
        self.allocator = allocator
        self._blocks: dict[int, NDArray[Any]] = {}
        self._lock = threading.Lock()
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
            raise LookupError(f"a backend frees {memory:#x}, which is not the allocator's")
        self.allocator.free(block)


class NativeBackendContext(BackendContext):
    """Sends a native backend the events of a runtime's networks."""

    def __init__(
        self, backend: NativeObject, when_closed: Callable[[], None] | None = None
    ) -> None:
        self._backend = backend
        self._when_closed = when_closed

    def close(self) -> None:
        """Leave the allocator of the runtime to itself."""
        if self._when_closed is not None:
            self._when_closed()

    def before_load_network(self, network_id: int) -> None:
        """Ask whether the network may be loaded.

        Raises:
            ArmnnError: The backend refuses.
        """
        self._tell(abi.BEFORE_LOAD, network_id, "load")

    def after_load_network(self, network_id: int) -> None:
        """Say that the network was loaded."""
        self._tell(abi.AFTER_LOAD, network_id, "finish the loading of")

    def before_unload_network(self, network_id: int) -> None:
        """Say that the network goes."""
        self._tell(abi.BEFORE_UNLOAD, network_id, "prepare the unloading of")

    def after_unload_network(self, network_id: int) -> None:
        """Say that the network is gone."""
        self._tell(abi.AFTER_UNLOAD, network_id, "finish the unloading of")

    def _tell(self, event: int, network_id: int, action: str) -> None:
        library = self._backend.library
        if library.function("network_event") is not None and not library.has_ended:
            action = f"{action} network {network_id}"
            call(library, "network_event", action, self._backend.pointer, event, network_id)


class NotifiedBackendContext(NativeBackendContext):
    """Sends the event of a run's end, too.

    It is for backends that declare Backend API 1.2: a call per run costs a microsecond.
    """

    def after_enqueue_workload(self, network_id: int) -> None:
        """Say that a run has ended, on its thread."""
        self._tell(abi.AFTER_ENQUEUE, network_id, "take note of a run of")
