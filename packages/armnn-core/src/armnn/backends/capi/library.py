# SPDX-License-Identifier: MIT
"""Shared libraries as backends: opened once, the services of the host, lifetimes of objects.

A context keeps its program, a program its backend, a backend its library, and a library is kept
until the process ends. Then what is left is destroyed in the same order, and the ``shutdown`` of
each file comes last.

Callbacks of the ``armnn_host`` table may come from any thread. None of them lets an exception
through. ``parallel_for`` serves backends that have no threads of their own; a call costs tens of
microseconds.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import itertools
import json
import logging
import math
import os
import threading
import time
import weakref
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from armnn.backends.capi.calls import (
    Library,
    NativeLoadError,
    control_of,
    ended_run,
    guarded,
    in_callbacks,
    is_profiled,
    must_stop,
    note_compiled,
)
from armnn.backends.options import OptionValue
from armnn.errors import ClosedError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.memory import printable
from armnn_backend_api.names import HOST_BLOBS, HOST_PYTHON
from armnn_backend_api.structs import shown_text, struct, text_of

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


class NativeObject:
    """A backend, program or context in C.

    Attributes:
        pointer: The handle.
        library: Whose it is.
        is_running: Whether a thread is inside of a call that cannot be interrupted.
        is_memory: Whether others may use its memory, such as arrays or tensors of other libraries,
            as long as it is held.
    """

    __slots__ = ("__weakref__", "_guard", "_held", "is_memory", "is_running", "library", "pointer")

    def __init__(
        self,
        library: Library,
        pointer: int,
        destroy: Callable[[int], object],
        parent: NativeObject | None,
    ) -> None:
        """Own a handle.

        Args:
            library: Whose it is.
            pointer: The handle.
            destroy: Called once with the handle, when no reference to this object is left.
            parent: The object that must outlive it.
        """
        self.library = library
        self.pointer = pointer
        self.is_running = self.is_memory = False
        self._held: list[object] = []
        self._guard = _keeper.add(self, destroy, parent, self._held)

    def hold(self, thing: object) -> None:
        """Keep a host object alive until this one is destroyed."""
        self._held.append(thing)

    def end(self) -> None:
        """Destroy it now, even if references to it exist.

        It must not be used afterwards.
        """
        _keeper.destroy(self._guard)

    def end_with_children(self) -> None:
        """Destroy it now, after all that was made of it; using those raises ClosedError.

        Memory that is still held stays until it is dropped, and so does this object then.
        """
        _keeper.destroy_with_children(self)

    def __getattr__(self, name: str) -> NoReturn:
        # Python comes here for a pointer that was taken away.
        if name != "pointer":
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        raise ClosedError(
            f"backend {self.library.id!r} was closed with the last runtime that used it"
        )


class _Guard(weakref.ref["NativeObject"]):
    """A reference with all that the object's end needs.

    It holds the parent, so that even a garbage cycle is taken down in order. Each new shape has two
    of them: ``weakref.finalize`` takes three times as long.
    """

    __slots__ = ("destroy", "held", "library", "number", "parent", "pointer")

    destroy: Callable[[int], object]
    held: list[object]
    library: Library
    number: int
    parent: NativeObject | None
    pointer: int


class _Keeper:
    """Destroys dropped objects, and the rest at process exit.

    Nothing is destroyed within a callback of the host, where the collector may find a dropped
    object too: a backend's thread that calls the host would wait for its own end if that object is
    its stream.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._guards: dict[int, _Guard] = {}
        self._libraries: dict[Library, None] = {}
        self._lock = threading.RLock()
        self._begin()

    def _begin(self) -> None:
        """Begin with nothing that is being destroyed."""
        self._postponed: deque[_Guard] = deque()
        self._destroying: dict[tuple[int, int], _Guard] = {}  # by thread and number

    def add(
        self,
        made: NativeObject,
        destroy: Callable[[int], object],
        parent: NativeObject | None,
        held: list[object],
    ) -> _Guard:
        guard = _Guard(made, self.destroy)
        guard.library, guard.pointer, guard.destroy = made.library, made.pointer, destroy
        guard.parent, guard.held = parent, held
        guard.number = number = next(self._numbers)
        self._guards[number] = guard
        return guard

    def add_library(self, library: Library) -> None:
        self._libraries[library] = None

    def destroy(self, guard: _Guard) -> None:
        """Destroy a guarded object, if that was not done."""
        if guard.number not in self._guards:
            return  # also when modules are taken down, behind end()
        thread = threading.get_ident()
        if thread in in_callbacks:
            self._postponed.append(guard)
            with contextlib.suppress(RuntimeError):  # the process is ending, and so end() comes
                start_new_thread(self._destroy_postponed, ())
            return
        place = thread, guard.number
        self._destroying[place] = guard
        try:
            known = self._guards.pop(guard.number, None)
            if known is not None and not guard.library.has_ended:
                guard.destroy(guard.pointer)
        finally:
            del self._destroying[place]

    def _destroy_postponed(self) -> None:
        """Destroy the objects that were dropped within callbacks, in a thread of its own."""
        while self._postponed:
            try:
                guard = self._postponed.popleft()
            except IndexError:  # another thread took the last one
                return
            self.destroy(guard)

    def destroy_with_children(self, root: NativeObject) -> None:
        """Destroy an object and those made of it, youngest first, but for memory that is held."""
        with self._lock:
            of_root = [n for n, guard in tuple(self._guards.items()) if _is_of(guard, root)]
            numbers = sorted(of_root, reverse=True)
            guards = [guard for guard in map(self._guards.get, numbers) if guard is not None]
            if any((made := guard()) is not None and made.is_running for guard in guards):
                return  # a thread is in there: the last reference destroys it
            kept = [g for g in guards if (made := g()) is not None and made.is_memory]
            for guard in guards:
                made = guard()
                if guard in kept or (made is root and kept):
                    continue
                if made is not None:
                    made.is_running = True  # nothing starts a call of it any more
                    del made.pointer
                if made is root:
                    self._wait_for_children(root)
                self.destroy(guard)

    def _wait_for_children(self, root: NativeObject) -> None:
        """Wait for other threads that destroy objects made of this one."""
        thread = threading.get_ident()
        while any(
            by != thread and _is_of(guard, root)
            for (by, _), guard in tuple(self._destroying.items())
        ):
            time.sleep(_DESTROYED_SECONDS)

    def forked(self) -> None:
        """Let nothing that does not survive a fork be called in the child."""
        self._lock = threading.RLock()
        self._begin()
        for library in self._libraries:
            if library.has_created and not library.is_fork_safe:
                library.has_ended = library.is_forked = True

    def end(self) -> None:
        """Destroy the rest, youngest first, then shut files down."""
        running: dict[Library, None] = {}
        with self._lock:
            for library in self._libraries:
                library.has_ended = True
                if library.is_forked:
                    running[library] = None  # the parent process has it
            for guard in tuple(self._guards.values()):
                made = guard()
                if made is not None and made.is_running:
                    # A daemon thread is in there: its memory must stay until the process is gone.
                    running[made.library] = None
            thread, patience = threading.get_ident(), time.monotonic() + _PATIENCE_SECONDS
            while others := [
                guard for (by, _), guard in tuple(self._destroying.items()) if by != thread
            ]:
                if time.monotonic() > patience:
                    running.update((guard.library, None) for guard in others)  # as above
                    break
                time.sleep(_DESTROYED_SECONDS)
            for number in sorted(self._guards, reverse=True):
                last = self._guards.pop(number, None)
                if last is not None and last.library not in running:
                    last.destroy(last.pointer)
            for library in self._libraries:
                shutdown = library.function("shutdown")
                if shutdown is not None and library not in running:
                    shutdown()


_DESTROYED_SECONDS: Final = 0.0005
"""The time between two checks of objects that other threads destroy."""

_PATIENCE_SECONDS: Final = 2.0
"""How long the end of the process waits for these threads."""


def _is_of(guard: _Guard, root: NativeObject) -> bool:
    """Return whether an object is another one, or was made of it."""
    if guard is root._guard:
        return True
    parent = guard.parent
    while parent is not None and parent is not root:
        parent = parent._guard.parent
    return parent is root


_keeper: Final = _Keeper()
os.register_at_fork(after_in_child=_keeper.forked)
# Registered before any backend can register anything, so it runs after all of them.
atexit.register(_keeper.end)


def shut_down_at_exit(library: Library) -> None:
    """Call the library's ``shutdown`` last, at process exit."""
    _keeper.add_library(library)


_KINDS: Final = {
    abi.PROFILE_COMPILE: "compile",
    abi.PROFILE_KERNEL: "kernel",
    abi.PROFILE_COPY: "copy",
    abi.PROFILE_WAIT: "wait",
    abi.PROFILE_DEVICE: "device",
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
        sink = None if control is None else control.profiler
        if kind == abi.PROFILE_DEVICE:
            sink = ended_run.get()
        if sink is None:
            return
        details: dict[str, OptionValue] = {
            "category": _KINDS.get(kind, f"kind {kind}"),
            "backend": self._id,
        }
        sink.event(shown_text(name), begin_ns, end_ns, **details, **event)


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
    if name == HOST_BLOBS:
        from armnn.backends.capi.blobs import blobs_table  # late: few backends ask for it

        return ctypes.addressof(blobs_table())
    if name != HOST_PYTHON:
        return None
    from armnn.backends.capi.python import extension_address  # late: a prepared load does without

    return extension_address()


WORKERS_LIMIT: Final = 8
"""The most threads; a program that needs more has a pool of its own."""

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


_Content: TypeAlias = "tuple[int, int, int, int]"
"""Device, inode, size and modification time; a further link to the file changes none of them."""


class NativeLibrary(Library):
    """A shared library with the Backend API's three exports.

    Make it with :meth:`open`. The mapping is never closed, since code and static data of it may be
    referred to until the process ends; so any number of runtimes share one object per file.

    Attributes:
        host: The services of the host for its backends.
    """

    def __init__(self, path: str) -> None:
        """Open and check a file, called once by :meth:`open`.

        Raises:
            NativeLoadError: It cannot be used.
        """
        super().__init__(path)
        self.host = Host(self.id)
        shut_down_at_exit(self)

    @classmethod
    def open(cls, path: str | PathLike[str], *, id: str | None = None) -> NativeLibrary:
        """Return a file's library, the same object each time.

        The exports are called the first time only, one file at a time. Their outcome is kept, a
        failure as well. The caller trusts the file: opening runs its code.

        Args:
            path: The file. It is not searched for.
            id: The id that GetBackendId must return, if that is known.

        Raises:
            NativeLoadError: The file cannot be used; ``stage`` and ``reason`` say why.
        """
        library = _libraries.open(os.path.realpath(path))
        if id is not None and library.id != id:
            raise NativeLoadError(
                library.path, "id", f"GetBackendId answers {library.id!r}, expected {id!r}"
            )
        return library


class _Libraries:
    """The files opened in this process, with their outcomes."""

    def __init__(self) -> None:
        self._outcomes: dict[str, tuple[_Content, NativeLibrary | NativeLoadError]] = {}
        self._by_file: dict[_Content, str] = {}
        self._lock = threading.Lock()

    def open(self, path: str) -> NativeLibrary:
        with self._lock:
            content = _content_of(path)
            path = self._by_file.setdefault(content, path)  # a hard link is the same file
            if path not in self._outcomes:
                self._outcomes[path] = content, _outcome_of(path)
            opened, outcome = self._outcomes[path]
        if opened != content:
            raise NativeLoadError(
                path,
                "dlopen",
                "the file has changed since this process opened it, and the old one is still in "
                "use; start a new process",
            )
        if isinstance(outcome, NativeLoadError):
            raise NativeLoadError(outcome.path, outcome.stage, outcome.reason)
        return outcome


def _content_of(path: str) -> _Content:
    try:
        status = os.stat(path)
    except OSError as error:
        raise NativeLoadError(path, "dlopen", f"{error.strerror}: {path}") from None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _outcome_of(path: str) -> NativeLibrary | NativeLoadError:
    try:
        return NativeLibrary(path)
    except NativeLoadError as error:
        return error.with_traceback(None)


_libraries: Final = _Libraries()
