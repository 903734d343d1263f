# SPDX-License-Identifier: MIT
"""The host's services for a library: the ``armnn_host`` table.

Callbacks may come from any thread. None of them lets an exception through. ``parallel_for`` serves
backends that have no threads of their own; a call costs tens of microseconds.
"""

from __future__ import annotations

import ctypes
import json
import logging
import math
import os
import threading
from typing import TYPE_CHECKING, Any, Final

from armnn.backends.ffi.calls import control_of, guarded, is_profiled, must_stop, note_compiled
from armnn.backends.options import OptionValue
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.memory import printable
from armnn_backend_api.names import HOST_PYTHON
from armnn_backend_api.structs import shown_text, struct, text_of

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


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
    """The host's table for one library's backend, never freed.

    It lives as long as the process.

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
        self.table.parallel_for = abi.HostParallelFor(guarded(None)(run_ranges))
        self.table.num_threads = abi.HostNumThreads(guarded(1)(count_workers))
        self.table.cancelled = abi.HostCancelled(guarded(1)(_is_cancelled))
        self.table.profiling = abi.HostProfiling(guarded(0)(_is_profiling))
        self.table.event = abi.HostEvent(guarded(None)(self._record))
        self.table.get_extension = abi.HostGetExtension(guarded(None)(_find_extension))

    def _write_log(
        self, _ctx: int | None, level: int, component: abi.String, text: abi.String
    ) -> None:
        if level >= self._log.getEffectiveLevel():
            name = shown_text(component)
            self._log.log(level, "%s%s", f"{name}: " if name else "", shown_text(text))

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
        event = _details_of(text_of(args_json))
        if kind == abi.PROFILE_COMPILE:
            note_compiled(event)
        control = control_of(call_id)
        if control is None or control.profiler is None:
            return
        details: dict[str, OptionValue] = {
            "category": _KINDS.get(kind, f"kind {kind}"),
            "backend": self._id,
        }
        control.profiler.event(shown_text(name), begin_ns, end_ns, **details, **event)


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
    """Return an event's details; invalid JSON stays a text.

    Only flat JSON objects are valid.
    """
    if not text:
        return {}
    try:
        details = json.loads(text)
        if not isinstance(details, dict):
            return {"args": printable(text)}
        return {
            key if key.isidentifier() else printable(key): _flat(value)
            for key, value in details.items()
            if key not in ("name", "start_ns", "end_ns", "category", "backend")
        }
    except (ValueError, RecursionError):  # the latter where it is nested too deeply
        return {"args": printable(text)}


def _flat(value: object) -> OptionValue:
    if type(value) is int:  # as most are
        return value
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # which JSON files of profiles cannot hold
    if isinstance(value, (bool, int, float)):
        return value
    return json.dumps(value)


def _find_extension(_ctx: int | None, name: bytes | None) -> int | None:
    return None if name is None else host_extension(name.decode("utf-8", "replace"))


def host_extension(name: str) -> int | None:
    """Return the address of a host extension's table, or None."""
    if name != HOST_PYTHON:
        return None
    # Imported late: only files that are Python inside ask for it.
    from armnn.backends.python.host import extension_address

    return extension_address()


WORKERS_LIMIT: Final = 8
"""Threads at most: what needs more has a thread pool of its own."""

_in_worker: Final = threading.local()
_lock: Final = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def count_workers(_ctx: int | None = None) -> int:
    """Return how many ranges run at once."""
    return min(len(os.sched_getaffinity(0)), WORKERS_LIMIT)


def run_ranges(_ctx: int | None, count: int, grain: int, body: Any, arg: int | None) -> None:
    """Run ``body(arg, begin, end)`` over [0, count), then return.

    Called from within a body, it runs in the same thread: the others are busy.
    """
    from concurrent.futures import wait  # imported late: few backends have no threads of their own

    workers = 1 if getattr(_in_worker, "is_one", False) else count_workers()
    step = max(grain, -(-count // workers), 1)
    starts = range(0, count, step)
    ranges = [(start, min(start + step, count)) for start in starts]
    if not ranges:
        return
    (begin, end), *others = ranges
    running = _start(body, arg, others) if others else []
    body(arg, begin, end)
    wait(running)


def _start(body: Any, arg: int | None, ranges: list[tuple[int, int]]) -> list[Future[Any]]:
    pool = _executor()
    running = []
    for begin, end in ranges:
        try:
            running.append(pool.submit(body, arg, begin, end))
        except RuntimeError:  # the interpreter is shutting down and starts nothing any more
            body(arg, begin, end)
    return running


def _executor() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # imported late, as above

    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(count_workers(), "armnn-parallel", _mark_worker)
        return _pool


def _mark_worker() -> None:
    _in_worker.is_one = True


def _forget_pool() -> None:
    """Forget the pool after a fork.

    Threads do not survive it: the child makes its own.
    """
    global _pool
    _pool = None


os.register_at_fork(after_in_child=_forget_pool)
