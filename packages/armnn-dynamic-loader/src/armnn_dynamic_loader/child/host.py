# SPDX-License-Identifier: MIT
"""The host of a probe: quiet, with one thread."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.names import HOST_PYTHON
from armnn_backend_api.structs import struct


class ProbingHost:
    """The services for one backend.

    Attributes:
        table: The table that ``create`` receives.
    """

    def __init__(self, search_path: Sequence[str]) -> None:
        """Make the table.

        Args:
            search_path: Where the core can be imported from if the backend asks for the extension
                by which a backend in Python answers for it.
        """
        self._search_path = search_path
        self._libc = ctypes.CDLL(None)
        self._libc.aligned_alloc.restype = ctypes.c_void_p
        self._libc.aligned_alloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
        self._libc.free.argtypes = (ctypes.c_void_p,)
        self.table = struct(abi.Host)
        self.table.api_major, self.table.api_minor = abi.API_MAJOR, abi.API_MINOR
        self.table.log = abi.HostLog(lambda *_: None)
        self.table.log_level = abi.HostLogLevel(lambda _: abi.LOG_ERROR)
        self.table.alloc = abi.HostAlloc(self._allocate)
        self.table.free = abi.HostFree(lambda _, memory: self._libc.free(memory))
        self.table.parallel_for = abi.HostParallelFor(
            lambda _, count, grain, body, arg: body(arg, 0, count) if count else None  # noqa: ARG005  # the signature is C's
        )
        self.table.num_threads = abi.HostNumThreads(lambda _: 1)
        self.table.cancelled = abi.HostCancelled(lambda *_: 0)
        self.table.profiling = abi.HostProfiling(lambda _: 0)
        self.table.event = abi.HostEvent(lambda *_: None)
        self.table.get_extension = abi.HostGetExtension(self._extension)

    def _allocate(self, _: int | None, size: int, alignment: int) -> int | None:
        whole = -(-max(size, 1) // alignment) * alignment  # as C11 asks of aligned_alloc
        address: int | None = self._libc.aligned_alloc(alignment, whole)
        return address

    def _extension(self, _: int | None, name: bytes) -> int | None:
        if name != HOST_PYTHON.encode():
            return None
        sys.path += [folder for folder in self._search_path if folder not in sys.path]
        # Late: few files need it, and it imports the core.
        from armnn.backends.native import host_extension

        return host_extension(HOST_PYTHON)
