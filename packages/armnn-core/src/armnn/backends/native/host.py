# SPDX-License-Identifier: MIT
"""What the host does for a backend: the ``armnn_host`` table, one per library.

Callbacks may come from any thread. None of them lets an exception through.
"""

from __future__ import annotations

import ctypes
import json
import logging
from typing import TYPE_CHECKING, Any, Final

from armnn.backends.native import parallel
from armnn.backends.native.calls import control_of, guarded, is_profiled, must_stop, note_compiled
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.names import HOST_PYTHON
from armnn_backend_api.structs import struct, text_of

if TYPE_CHECKING:
    from armnn.backends.base import OptionValue

_KINDS: Final = {
    abi.PROFILE_COMPILE: "compile",
    abi.PROFILE_KERNEL: "kernel",
    abi.PROFILE_COPY: "copy",
    abi.PROFILE_WAIT: "wait",
}
_LOWEST_ALIGNMENT: Final = ctypes.sizeof(ctypes.c_void_p)
_libc: Final = ctypes.CDLL(None)
_posix_memalign: Final = _libc.posix_memalign
_posix_memalign.argtypes = (ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_size_t)
_free: Final = _libc.free
_free.argtypes, _free.restype = (ctypes.c_void_p,), None


class Host:
    """The host's table for the backend of one library; lives as long as the process.

    Attributes:
        table: The ``armnn_host``.
    """

    def __init__(self, backend_id: str) -> None:
        self._id = backend_id
        self._log = logging.getLogger(f"armnn.backend.{backend_id}")
        self.table = struct(abi.Host)
        self.table.api_major, self.table.api_minor = abi.API_MAJOR, abi.API_MINOR
        self.table.log = abi.HostLog(guarded(None)(self._write_log))
        self.table.log_level = abi.HostLogLevel(guarded(abi.LOG_ERROR)(self._log_level))
        self.table.alloc = abi.HostAlloc(guarded(None)(_allocate))
        self.table.free = abi.HostFree(guarded(None)(_release))
        self.table.parallel_for = abi.HostParallelFor(guarded(None)(parallel.run_ranges))
        self.table.num_threads = abi.HostNumThreads(guarded(1)(parallel.count_workers))
        self.table.cancelled = abi.HostCancelled(guarded(1)(_is_cancelled))
        self.table.profiling = abi.HostProfiling(guarded(0)(_is_profiling))
        self.table.event = abi.HostEvent(guarded(None)(self._record))
        self.table.get_extension = abi.HostGetExtension(guarded(None)(_find_extension))

    def _write_log(
        self, _ctx: int | None, level: int, component: abi.String, text: abi.String
    ) -> None:
        if self._log.isEnabledFor(level):
            name = text_of(component)
            self._log.log(level, "%s%s", f"{name}: " if name else "", text_of(text))

    def _log_level(self, _ctx: int | None) -> int:
        return self._log.getEffectiveLevel()

    def _record(
        self,
        _ctx: int | None,
        call_id: int,
        kind: int,
        name: abi.String,
        begin_ns: int,
        end_ns: int,
        args_json: abi.String,
    ) -> None:
        said = _details_of(text_of(args_json))
        if kind == abi.PROFILE_COMPILE:
            note_compiled(said)
        control = control_of(call_id)
        if control is None or control.profiler is None:
            return
        details: dict[str, OptionValue] = {
            "category": _KINDS.get(kind, f"kind {kind}"),
            "backend": self._id,
        }
        control.profiler.event(text_of(name), begin_ns, end_ns, **details, **said)


def _allocate(_ctx: int | None, size: int, align: int) -> int | None:
    if align & (align - 1):
        raise ValueError(f"a backend asks for memory aligned to {align}: expected a power of two")
    memory = ctypes.c_void_p()
    status = _posix_memalign(ctypes.byref(memory), max(align, _LOWEST_ALIGNMENT), size)
    return None if status else memory.value


def _release(_ctx: int | None, memory: int | None) -> None:
    _free(memory)


def _is_cancelled(_ctx: int | None, call_id: int) -> int:
    return int(must_stop(call_id))


def _is_profiling(_ctx: int | None) -> int:
    return int(is_profiled())


def _details_of(text: str) -> dict[str, Any]:
    """Return the details of an event; what is not a flat JSON object is kept as a text."""
    if not text:
        return {}
    try:
        details = json.loads(text)
    except ValueError:
        return {"args": text}
    if not isinstance(details, dict):
        return {"args": text}
    return {
        str(key): value if isinstance(value, (bool, int, float, str)) else json.dumps(value)
        for key, value in details.items()
        if key not in ("name", "start_ns", "end_ns", "category", "backend")
    }


def _find_extension(_ctx: int | None, name: bytes | None) -> int | None:
    return None if name is None else host_extension(name.decode("utf-8", "replace"))


def host_extension(name: str) -> int | None:
    """Return the address of the table of a host's extension, None if there is none."""
    if name != HOST_PYTHON:
        return None
    # Imported late: only files that are Python inside ask for it.
    from armnn.backends.native.python_host import extension_address

    return extension_address()
