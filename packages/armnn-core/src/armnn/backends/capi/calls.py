# SPDX-License-Identifier: MIT
"""A shared library of the Backend API and the calls into it: table, controls, errors.

An exception must not travel through C. A callback of the host stores it for the call that its
thread is in; the adapter raises it when that call has returned. So Ctrl-C works during execute.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import itertools
import logging
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, SimpleNamespace
from typing import Any, Final, ParamSpec, TypeVar

from armnn.backends.contract import ProfilingSink, RunControl, current_control
from armnn.errors import (
    ArmnnError,
    BackendError,
    BackendUnavailableError,
    CancelledError,
    ClosedError,
    DeadlineExceededError,
    DeviceLostError,
    ExecutionError,
    IncompatibleBlobError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnimplementedError,
)
from armnn_backend_api import BACKEND_API_VERSION, is_compatible
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api import guarded as guarded_caller
from armnn_backend_api.exports import Exports, LibraryError, check_id, open_library
from armnn_backend_api.floating_point import keeping_floating_point
from armnn_backend_api.guarded import Failure, kept_functions
from armnn_backend_api.names import (
    ASYNC_EXECUTION,
    DEVICE_MEMORY,
    MAPPED_PROGRAMS,
    PLACED_DEVICE_MEMORY,
    REPLANNED_PROGRAMS,
    STREAMS,
)
from armnn_backend_api.table import functions_of, read_text

_Execute: Final = ctypes.CFUNCTYPE(ctypes.c_int)
"""Without the types of the arguments: to convert them takes longer than a call."""

_DEVICE_MEMORIES: Final[tuple[tuple[str, type[Any], tuple[int, int]], ...]] = (
    (PLACED_DEVICE_MEMORY, abi.DeviceMemory2, (1, 3)),
    (DEVICE_MEMORY, abi.DeviceMemory, (1, 2)),
)
"""The versions of the extension for device memory, the newest first, and since when they are."""
_OPTIONAL_OF_DEVICE_MEMORY: Final = (
    *("device_id", "takes_host_memory", "reserved"),
    *("import_host", "import_data", "import_fd", "copy_between", "map", "unmap"),
)


class NativeLoadError(BackendUnavailableError):
    """A shared library cannot be used as a backend.

    Attributes:
        path: The file.
        stage: At which check: "linked", "dlopen", "exports", "id", "version", "factory", "table",
            "create".
        reason: Why, in one sentence without the file's name.
    """

    def __init__(self, path: str, stage: str, reason: str) -> None:
        super().__init__(f"{path!r} cannot be used as a backend ({stage}): {reason}.")
        self.path = path
        self.stage = stage
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.stage, self.reason)


class Library:
    """A file's table and its own description.

    Attributes:
        path: The canonical path of the file.
        id: The id that GetBackendId returns.
        version: The backend's own version.
        vendor: Who made it.
        api_version: The Backend API version that it needs.
        table: A copy of its table; functions that it lacks are NULL.
        has_ended: Whether nothing of it may be called any more, as the process is ending or forked.
        has_created: Whether ``create`` was called.
        is_forked: Whether this process was forked after that, which the backend does not survive.
        is_dropped_file: Whether it came from a scanned folder and not with a distribution.
    """

    def __init__(self, path: str) -> None:
        """Open and check a file.

        Raises:
            NativeLoadError: It cannot be used.
        """
        self.path = path
        self.has_ended = False
        self.has_created = False
        self.is_forked = False
        self.is_dropped_file = False
        try:
            self._read()
        except LibraryError as error:
            raise NativeLoadError(path, error.stage, error.reason) from None
        self._functions = functions_of(self.table)
        self._keeping = kept_functions(self.table)

    @functools.cached_property
    def execute(self) -> Callable[..., int]:
        """``execute`` of the table, for arguments made once.

        None of them is converted. That of a file keeps the thread's floating-point environment.
        """
        function: Any = self._functions["execute"]
        execute = ctypes.cast(function, _Execute)
        return keeping_floating_point(execute) if self.is_dropped_file else execute

    @functools.cached_property
    def tasks(self) -> abi.Async | None:
        """The extension for asynchronous programs, if it has one.

        Raises:
            BackendError: Its table is not what the header describes.
        """
        table: abi.Async | None = extension_table(self, ASYNC_EXECUTION, abi.Async)
        return table

    @functools.cached_property
    def device_memory(self) -> abi.DeviceMemory | abi.DeviceMemory2 | None:
        """The extension for tensors of a device, if any: the newest one that the backend has.

        A backend that declares less than Backend API 1.2 is not asked, nor one that declares less
        than 1.3 for the second version.

        Raises:
            BackendError: Its table is not what the header describes.
        """
        version = self.api_version.major, self.api_version.minor
        for name, kind, since in _DEVICE_MEMORIES:
            table: abi.DeviceMemory | abi.DeviceMemory2 | None = (
                extension_table(self, name, kind, optional=_OPTIONAL_OF_DEVICE_MEMORY)
                if version >= since
                else None
            )
            if table is not None and table.device_type == abi.DEVICE_CPU:
                raise BackendError(
                    f"backend {self.id!r} ({self.path}) answers {name!r} with the device type "
                    f"{abi.DEVICE_CPU} of host memory, expected that of a device"
                )
            if table is not None:
                return table
        return None

    @functools.cached_property
    def has_placed_memory(self) -> bool:
        """Whether :attr:`device_memory` is ``armnn.device/2``.

        Raises:
            BackendError: See there.
        """
        table = self.device_memory
        return table is not None and table.header.struct_id == abi.STRUCT_IDS[abi.DeviceMemory2]

    @functools.cached_property
    def streams(self) -> abi.Streams | None:
        """The extension for streams of a device, if it has one beside ``armnn.device/2``.

        Raises:
            BackendError: A table is not what the header describes.
        """
        if not self.has_placed_memory:
            return None
        table: abi.Streams | None = extension_table(self, STREAMS, abi.Streams)
        return table

    @functools.cached_property
    def execute_on(self) -> Callable[..., int]:
        """``execute_on`` of :attr:`streams`, which is there; as :attr:`execute`."""
        address = extension_address(self, STREAMS)
        assert address is not None
        function: Any = abi.Streams.from_address(address).execute_on
        execute_on = ctypes.cast(function, _Execute)
        return keeping_floating_point(execute_on) if self.is_dropped_file else execute_on

    @functools.cached_property
    def takes_any_host_memory(self) -> bool:
        """Whether programs have no wishes about the memory of tensors.

        Raises:
            BackendError: See :attr:`device_memory`.
        """
        return self.device_memory is None and self.function("io_requirement") is None

    @functools.cached_property
    def deserialize_mapped(self) -> Callable[..., int] | None:
        """The function for programs in mapped files, if any.

        Raises:
            BackendError: The extension's table is not what the header describes.
        """
        table: abi.Mapped | None = extension_table(self, MAPPED_PROGRAMS, abi.Mapped)
        return None if table is None else table.deserialize

    @functools.cached_property
    def replan(self) -> Callable[..., int] | None:
        """The function for programs of other shapes, if any.

        Raises:
            BackendError: The extension's table is not what the header describes.
        """
        table: abi.Replan | None = extension_table(self, REPLANNED_PROGRAMS, abi.Replan)
        return None if table is None else keeping_floating_point(table.replan)

    @property
    def is_fork_safe(self) -> bool:
        """Whether a forked child may use it; backends before API 1.3 count as safe."""
        version = self.api_version.major, self.api_version.minor
        return version < (1, 3) or bool(self.table.flags & abi.BACKEND_FORK_SAFE)

    def function(self, name: str) -> Callable[..., Any] | None:
        """Return a function of the table, None if missing."""
        return self._keeping[name]

    def required(self, name: str) -> Callable[..., Any]:
        """Return a function that every table has."""
        function = self._keeping[name]
        if function is None:
            raise NativeLoadError(self.path, "table", f"the table has NULL for {name}")
        return function

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} {self.path!r}>"

    def _open(self) -> Exports:
        return Exports(open_library(self.path))

    def _read(self) -> None:
        """Open the file and read its description, check by check."""
        exports = self._open()
        self.id = exports.id()
        check_id(self.id)
        self.api_version = exports.version()
        if not is_compatible(self.api_version, BACKEND_API_VERSION):
            raise LibraryError(
                "version",
                f"it needs Backend API {self.api_version}, this core provides "
                f"{BACKEND_API_VERSION}",
            )
        self.table = exports.table(exports.factory(), self.id, self.api_version)
        self.version = read_text("version of the table", self.table.version)
        self.vendor = read_text("vendor of the table", self.table.vendor)


def check_open(library: Library) -> None:
    """Check that the library may still be called.

    Raises:
        ExecutionError: This is a child that was forked after the backend was created.
        ClosedError: The process is ending and the library was shut down.
    """
    if library.is_forked:
        raise ExecutionError(
            f"backend {library.id!r} was created before this process was forked, and does not "
            "survive that, as its table lacks ARMNN_BACKEND_FORK_SAFE: start processes by "
            "multiprocessing's 'spawn', or use the backend in the child only"
        )
    if library.has_ended:
        raise ClosedError(f"backend {library.id!r} was shut down, as the process is ending")


def extension_address(library: Library, name: str) -> int | None:
    """Return the address of an extension's table, None if missing."""
    get_extension = library.function("get_extension")
    address: int | None = None if get_extension is None else get_extension(name.encode())
    return address


def extension_table(
    library: Library, name: str, kind: type[Any], *, optional: Collection[str] = ()
) -> Any:
    """Return an extension's table as :func:`checked_table`, or None.

    Args:
        library: Whose it is.
        name: The extension's name and version.
        kind: The struct.
        optional: Fields that may be NULL or 0.

    Raises:
        BackendError: It is not what the header describes.
    """
    address = extension_address(library, name)
    return None if address is None else checked_table(library, name, kind, address, optional)


def checked_table(
    library: Library, name: str, kind: type[Any], address: int, optional: Collection[str] = ()
) -> Any:
    """Return the fields of an extension's table, by their names.

    A function restores the floating-point environment of the calling thread, and is None if absent.

    Raises:
        BackendError: It is not what the header describes.
    """
    header = abi.Header.from_address(address)
    needed, struct_id = ctypes.sizeof(kind), abi.STRUCT_IDS[kind]
    if header.struct_id != struct_id or header.struct_size < needed:
        raise BackendError(
            f"backend {library.id!r} ({library.path}) answers {name!r} with a table of id "
            f"{header.struct_id:#x} and {header.struct_size} bytes, expected id {struct_id:#x} and "
            f"at least {needed}"
        )
    table = kind()
    ctypes.memmove(ctypes.addressof(table), address, needed)
    needed_fields = (field for field, *_ in kind._fields_[1:] if field not in optional)
    missing = [field for field in needed_fields if not getattr(table, field)]
    if missing:
        raise BackendError(
            f"backend {library.id!r} ({library.path}) answers {name!r} with NULL for "
            f"{', '.join(missing)}, expected a function"
        )
    values = {field: getattr(table, field) for field, *_ in kind._fields_}
    return SimpleNamespace(**{**values, **kept_functions(table)})


_P = ParamSpec("_P")
_T = TypeVar("_T")
_S = TypeVar("_S")

NOBODY: Final = 0
"""The call_id of a call without a control."""

_log = logging.getLogger(__name__)

_numbers: Final = itertools.count(1)
_watched: Final[dict[int, RunControl]] = {}
stored: Final[dict[int, BaseException]] = {}
"""The errors of callbacks, by the thread whose call will raise them; mostly empty."""

in_callbacks: Final[set[int]] = set()
"""The threads that are in a callback of the host, some of which are a backend's own."""

_entrances: Final[dict[CodeType, None]] = {}
_compiling: Final[dict[int, dict[str, object]]] = {}


@contextmanager
def watched_call() -> Iterator[tuple[int, int]]:
    """Give a call a number by which callbacks find it.

    Yields:
        The call_id and the deadline_ns (0: none); both 0 without a control.
    """
    control = current_control.get()
    if control is None:
        yield NOBODY, 0
        return
    number = next(_numbers)
    _watched[number] = control
    try:
        yield number, 0 if control.deadline_ns is None else control.deadline_ns
    finally:
        del _watched[number]


def control_of(call_id: int) -> RunControl | None:
    """Return the control of a running call, if any."""
    return _watched.get(call_id)


ended_run: Final[ContextVar[ProfilingSink | None]] = ContextVar("armnn_ended_run", default=None)
"""Where a backend tells of the kernels of a profiled run, once that has ended on this thread."""


def is_profiled() -> bool:
    """Return whether profiling events are read."""
    if threading.get_ident() in _compiling:
        return True
    return any(control.profiler is not None for control in tuple(_watched.values()))


@contextmanager
def compile_details() -> Iterator[dict[str, object]]:
    """Collect the backend's details of a program on this thread.

    Yields:
        The details of its compile events; they are complete when the call has returned.
    """
    thread = threading.get_ident()
    outer = _compiling.get(thread)
    details = _compiling[thread] = {}
    try:
        yield details
    finally:
        if outer is None:
            del _compiling[thread]
        else:
            _compiling[thread] = outer


def note_compiled(details: Mapping[str, object]) -> None:
    """Store the details of a compile event, if collected here."""
    _compiling.get(threading.get_ident(), {}).update(details)


def must_stop(call_id: int) -> bool:
    """Return whether to stop a running call.

    It is cancelled, out of time, or interrupted by the user.
    """
    if threading.get_ident() in stored:
        return True
    control = _watched.get(call_id)
    if control is None:
        return False
    return _is_cancelled(control) or _is_late(control)


def name_deadline(failure: Failure | None) -> None:
    """Let the failure of a call that was stopped at its deadline say so.

    The backend was told to stop, not why.
    """
    if failure is not None and failure.code == abi.CANCELLED and is_late():
        failure.code, failure.text = abi.DEADLINE_EXCEEDED, "the time was up"


def is_late() -> bool:
    """Return whether this thread's run exceeds its deadline."""
    control = current_control.get()
    return control is not None and _is_late(control) and not _is_cancelled(control)


def _is_cancelled(control: RunControl) -> bool:
    return control.cancel is not None and control.cancel.is_set()


def _is_late(control: RunControl) -> bool:
    return control.deadline_ns is not None and time.perf_counter_ns() > control.deadline_ns


def guarded(safe: _S) -> Callable[[Callable[_P, _T]], Callable[_P, _T | _S]]:
    """Make a callback that stores exceptions and returns ``safe``."""

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T | _S]:
        def callback(*args: _P.args, **kwargs: _P.kwargs) -> _T | _S:
            thread = threading.get_ident()
            is_inner = thread in in_callbacks
            try:
                in_callbacks.add(thread)
                return function(*args, **kwargs)
            except BaseException as error:
                _store(error)
                return safe
            finally:
                if not is_inner:
                    in_callbacks.discard(thread)

        _entrances[callback.__code__] = None
        return callback

    return decorate


def raise_stored() -> None:
    """Raise the exception stored during this thread's last call."""
    if stored:
        error = stored.pop(threading.get_ident(), None)
        if error is not None:
            raise error


class _UnraisableHook:
    """Catches Ctrl-C at a callback's entrance, before its ``try``.

    ctypes hands it to ``sys.unraisablehook`` and returns zero; everything else goes on to the hook
    that was there.
    """

    def __init__(self) -> None:
        self._following = sys.unraisablehook

    def __call__(self, unraisable: sys.UnraisableHookArgs) -> None:
        error, traceback = unraisable.exc_value, unraisable.exc_traceback
        if error is None or traceback is None or traceback.tb_frame.f_code not in _entrances:
            self._following(unraisable)
        else:
            _store(error)


def _catch_interrupts() -> None:
    """Keep Ctrl-C in callbacks, although other hooks are set."""
    if not isinstance(sys.unraisablehook, _UnraisableHook):
        sys.unraisablehook = _UnraisableHook()


def _store(error: BaseException) -> None:
    frame = inspect.currentframe()
    callback = None if frame is None else frame.f_back
    if callback is not None and callback.f_back is not None:
        stored.setdefault(threading.get_ident(), error)  # the first one is the cause
        return
    # A thread of the backend's own: no Python call is waiting for it.
    _log.error("a callback failed in a thread of the backend: %r", error, exc_info=error)


_KINDS: Final[dict[int, tuple[str, type[ArmnnError]]]] = {
    abi.CANCELLED: ("ARMNN_CANCELLED", CancelledError),
    abi.UNKNOWN: ("ARMNN_UNKNOWN", BackendError),
    abi.INVALID_ARGUMENT: ("ARMNN_INVALID_ARGUMENT", InvalidArgumentError),
    abi.DEADLINE_EXCEEDED: ("ARMNN_DEADLINE_EXCEEDED", DeadlineExceededError),
    abi.NOT_FOUND: ("ARMNN_NOT_FOUND", NotFoundError),
    abi.RESOURCE_EXHAUSTED: ("ARMNN_RESOURCE_EXHAUSTED", ResourceExhaustedError),
    abi.FAILED_PRECONDITION: ("ARMNN_FAILED_PRECONDITION", BackendError),
    abi.UNIMPLEMENTED: ("ARMNN_UNIMPLEMENTED", UnimplementedError),
    abi.INTERNAL: ("ARMNN_INTERNAL", BackendError),
    abi.UNAVAILABLE: ("ARMNN_UNAVAILABLE", BackendUnavailableError),
    abi.INCOMPATIBLE_BLOB: ("ARMNN_INCOMPATIBLE_BLOB", IncompatibleBlobError),
    abi.UNSUPPORTED_NODE: ("ARMNN_UNSUPPORTED_NODE", BackendError),
    abi.DEVICE_LOST: ("ARMNN_DEVICE_LOST", DeviceLostError),
}


_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (CancelledError, abi.CANCELLED),
    (DeadlineExceededError, abi.DEADLINE_EXCEEDED),
    (NotFoundError, abi.NOT_FOUND),
    (MemoryError, abi.RESOURCE_EXHAUSTED),
    (NotImplementedError, abi.UNIMPLEMENTED),
    (BackendUnavailableError, abi.UNAVAILABLE),
    (DeviceLostError, abi.DEVICE_LOST),
    (IncompatibleBlobError, abi.INCOMPATIBLE_BLOB),
    (InvalidArgumentError, abi.INVALID_ARGUMENT),
)


def code_of(error: Exception) -> int:
    """Return the code of an exception."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    return abi.INTERNAL


def exception_of(
    failure: Failure,
    library: Library,
    action: str,
    names: Sequence[str] = (),
    options: Collection[str] = (),
) -> ArmnnError:
    """Return an exception with the failed action, the place and the reason.

    Args:
        failure: The failure of the function.
        library: Whose function failed.
        action: Its task, as in "compile".
        names: The names of the layers, by node id.
        options: The names of the user's options that it was given. A refusal that names one is
            about that, whatever the action was.
    """
    name, kind = _KINDS.get(failure.code, (f"code {failure.code}", BackendError))
    if failure.code == abi.INVALID_ARGUMENT and any(each in failure.text for each in options):
        return kind(f"backend {library.id!r}: {failure.text}")
    layers = ", ".join(repr(names[node]) for node in failure.nodes if 0 <= node < len(names))
    where = f" layer {layers}" if layers else ""
    return kind(
        # The path last, as it may be long.
        f"backend {library.id!r} failed to {action}{where}: {failure.text or 'no message'} "
        f"({name}); its file is {str(library.path)!r}"
    )


def call(
    library: Library, name: str, action: str, *args: object, names: Sequence[str] = ()
) -> None:
    """Call a function with an error as its last argument.

    Raises:
        ArmnnError: It failed; the kind is that of its code.
        BaseException: A host callback failed during the call, for example with KeyboardInterrupt.
    """
    call_of(library, library.required(name), action, *args, names=names)


def call_of(
    library: Library,
    function: Callable[..., int],
    action: str,
    *args: object,
    names: Sequence[str] = (),
) -> None:
    """Call a function of an extension of a library as :func:`call` does.

    Raises:
        ArmnnError: It failed.
        BaseException: A host callback failed during the call.
    """
    failure = attempt(library, function, *args)
    if failure is not None:
        raise exception_of(failure, library, action, names)


def attempt(library: Library, function: Callable[..., int], *args: object) -> Failure | None:
    """Call such a function; return its failure, if any.

    Raises:
        ArmnnError: The library may not be called any more.
        BaseException: A host callback failed during the call.
    """
    if library.has_ended:
        check_open(library)
    _catch_interrupts()
    failure = guarded_caller.attempt(function, *args)
    if stored:
        raise_stored()
    return failure
