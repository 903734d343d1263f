# SPDX-License-Identifier: MIT
"""Codes and error structs of the C interface, and exceptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from armnn.backends.ffi.calls import catch_interrupts, raise_stored, stored
from armnn.backends.ffi.library import Library
from armnn.errors import (
    ArmnnError,
    BackendError,
    BackendUnavailableError,
    CancelledError,
    DeadlineExceededError,
    IncompatibleBlobError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnimplementedError,
)
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api import guarded
from armnn_backend_api.guarded import Failure

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
}


_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (CancelledError, abi.CANCELLED),
    (DeadlineExceededError, abi.DEADLINE_EXCEEDED),
    (NotFoundError, abi.NOT_FOUND),
    (MemoryError, abi.RESOURCE_EXHAUSTED),
    (NotImplementedError, abi.UNIMPLEMENTED),
    (BackendUnavailableError, abi.UNAVAILABLE),
    (IncompatibleBlobError, abi.INCOMPATIBLE_BLOB),
    (InvalidArgumentError, abi.INVALID_ARGUMENT),
)


def code_of(error: Exception) -> int:
    """Return the code that says the same as an exception."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    return abi.INTERNAL


def exception_of(
    failure: Failure, library: Library, action: str, names: Sequence[str] = ()
) -> ArmnnError:
    """Return the exception that says what failed, where and why.

    Args:
        failure: What the function answered.
        library: Whose function failed.
        action: What it was to do, as in "compile".
        names: The names of the layers, by node id.
    """
    name, kind = _KINDS.get(failure.code, (f"code {failure.code}", BackendError))
    layers = ", ".join(repr(names[node]) for node in failure.nodes if 0 <= node < len(names))
    where = f" layer {layers}" if layers else ""
    return kind(
        f"backend {library.id!r} ({library.path}) failed to {action}{where}: "
        f"{failure.text or 'no message'} ({name})"
    )


def call(
    library: Library, name: str, action: str, *args: object, names: Sequence[str] = ()
) -> None:
    """Call a function with an error as its last argument.

    Raises:
        ArmnnError: It failed; the kind is that of its code.
        BaseException: A host callback failed during the call, for example with KeyboardInterrupt.
    """
    failure = attempt(library.required(name), *args)
    if failure is not None:
        raise exception_of(failure, library, action, names)


def attempt(function: Callable[..., int], *args: object) -> Failure | None:
    """Call such a function; return its failure, if any.

    Raises:
        BaseException: A host callback failed during the call.
    """
    catch_interrupts()
    failure = guarded.attempt(function, *args)
    if stored:
        raise_stored()
    return failure
