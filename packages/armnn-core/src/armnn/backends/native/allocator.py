# SPDX-License-Identifier: MIT
"""The user's allocator as ``armnn_allocator``: memory of a backend comes from Python."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from armnn.backends.native.calls import guarded
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends.memory import Allocator


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
