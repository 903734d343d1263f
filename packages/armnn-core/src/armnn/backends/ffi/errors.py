# SPDX-License-Identifier: MIT
"""Codes and error structs of the C interface, and exceptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from armnn.backends.ffi.calls import catch_interrupts, raise_stored, stored
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
from armnn_backend_api.structs import new_error, shown_text

if TYPE_CHECKING:
    from armnn.backends.ffi.library import Library

NODES_LIMIT: Final = 1 << 20
"""More nodes than this no graph has: the count of a stale error."""

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


class Failure:
    """A failed call, copied; the callee's memory is released.

    Attributes:
        code: What the function returned.
        text: The message; may be empty.
        detail: JSON for tools; may be empty.
        nodes: The ids of the nodes that it is about.
    """

    def __init__(self, code: int, error: abi.Error) -> None:
        self.code = code
        try:
            self.text = shown_text(error.message)
            self.detail = shown_text(error.detail)
            self.nodes = _nodes_of(error)
        finally:
            if bool(error.release):
                error.release(error)

    def exception(self, library: Library, action: str, names: Sequence[str] = ()) -> ArmnnError:
        """Return the exception that says what failed, where and why.

        Args:
            library: Whose function failed.
            action: What it was to do, as in "compile".
            names: The names of the layers, by node id.
        """
        name, kind = _KINDS.get(self.code, (f"code {self.code}", BackendError))
        layers = ", ".join(repr(names[node]) for node in self.nodes if 0 <= node < len(names))
        where = f" layer {layers}" if layers else ""
        return kind(
            f"backend {library.id!r} ({library.path}) failed to {action}{where}: "
            f"{self.text or 'no message'} ({name})"
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
        raise failure.exception(library, action, names)


def attempt(function: Callable[..., int], *args: object) -> Failure | None:
    """Call such a function; return its failure, if any.

    Raises:
        BaseException: A host callback failed during the call.
    """
    catch_interrupts()
    error = new_error()
    code = function(*args, error)
    failure = None if code == abi.OK else Failure(code, error)
    if stored:
        raise_stored()
    return failure


def _nodes_of(error: abi.Error) -> tuple[int, ...]:
    if bool(error.nodes) and 0 < error.num_nodes <= NODES_LIMIT:
        return tuple(error.nodes[: error.num_nodes])
    return (error.node_id,) if error.node_id >= 0 else ()
