# SPDX-License-Identifier: MIT
"""Compiled graphs: immutable, shared, with a context per execution context."""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from armnn.backends.cache import CachedProgram, Footprint, Replannable
from armnn.backends.ffi.calls import is_late, raise_stored
from armnn.backends.ffi.errors import attempt, exception_of
from armnn.backends.ffi.library import Library
from armnn.backends.native.lifetimes import NativeObject
from armnn.errors import ArmnnError, BackendError, ClosedError, ExecutionError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.guarded import Failure
from armnn_backend_api.structs import reset_error

if TYPE_CHECKING:
    from armnn.backends.native.programs.replanning import KeptGraph
    from armnn.backends.replanning import Changes
    from armnn.graph import Layer, Value


_lent: Final[dict[int, object]] = {}
_numbers: Final = itertools.count(1)


def lend(memory: object) -> int:
    """Keep an object until :data:`GIVE_BACK` is called with the number."""
    number = next(_numbers)
    _lent[number] = memory
    return number


def count_lent() -> int:
    """Return how many objects backends have."""
    return len(_lent)


def _give_back(number: int | None) -> None:
    _lent.pop(number or 0, None)


GIVE_BACK: Final = abi.ReleaseFn(_give_back)
"""Lets go what was lent; any thread may call it."""


class NativeProgram(NativeObject, CachedProgram, Replannable):
    """A compiled graph.

    Attributes:
        names: The names of its layers, by node id.
        fingerprint: Of the graph, if it is stored under that; else "".
        kept: Its graph, if it may be compiled for other shapes.
        weigh: Finds the footprint out, if it is not known yet.
    """

    __slots__ = ("_footprint", "backend", "fingerprint", "kept", "names", "weigh")

    def __init__(
        self,
        backend: NativeObject,
        pointer: int | None,
        names: tuple[str, ...],
        footprint: Footprint | None = None,
    ) -> None:
        """Own what compile or deserialize returned.

        Raises:
            BackendError: That was NULL.
        """
        library = backend.library
        if pointer is None:
            raise BackendError(
                f"backend {library.id!r} ({library.path}) returned no program and no error for "
                f"layer {names[0]!r}"
            )
        super().__init__(library, pointer, library.required("program_destroy"), backend)
        self.backend = backend
        self.names = names
        self.fingerprint = ""
        self._footprint = footprint
        self.kept: KeptGraph[NativeProgram] | None = None
        self.weigh: Callable[[], Footprint | None] | None = None

    @property
    def footprint(self) -> Footprint | None:
        """The memory that it takes, None if not reported."""
        weigh = self.weigh
        if weigh is not None:
            self._footprint = weigh()
            self.weigh = None
        return self._footprint

    @property
    def layers(self) -> Sequence[Layer]:
        """Its layers, if its graph is kept."""
        return () if self.kept is None else self.kept.graph.layers

    @property
    def results(self) -> Sequence[Value]:
        """The values that it writes, if its graph is kept."""
        return () if self.kept is None else self.kept.graph.outputs

    def replanned(self, changes: Changes) -> NativeProgram | None:
        """Return its kept graph compiled with changes; None if refused.

        Raises:
            ArmnnError: The backend failed.
        """
        kept = self.kept
        made = None if kept is None else kept.compile(changes, self)
        if kept is not None and made is not None:
            made.kept = kept
            if made._footprint is None:
                made.weigh = functools.partial(kept.weighed, changes, self)
        return made

    @property
    def cache_key(self) -> Sequence[Any]:
        """Its graph's fingerprint, and the names of its layers."""
        return (self.fingerprint, self.names) if self.fingerprint else ()

    @property
    def title(self) -> str:
        """The layers in a word or two, for messages."""
        first, last = self.names[0], self.names[-1]
        return repr(first) if len(self.names) == 1 else f"{first!r} to {last!r}"

    @property
    def label(self) -> str:
        """The name of the PreCompiled layer that holds it."""
        first, last = self.names[0], self.names[-1]
        return first if len(self.names) == 1 else f"{first} to {last}"

    def context(self) -> NativeObject:
        """Return a new execution context.

        Raises:
            ArmnnError: The backend made none.
        """
        library, pointer = self.library, ctypes.c_void_p()
        check_open(library)
        failure = attempt(library.required("context_create"), self.pointer, ctypes.byref(pointer))
        if failure is not None or pointer.value is None:
            action = f"make an execution context for {self.title}"
            if failure is not None:
                raise exception_of(failure, library, action)
            raise BackendError(
                f"backend {library.id!r} ({library.path}) failed to {action}: it returned neither "
                "a context nor an error"
            )
        return NativeObject(library, pointer.value, library.required("context_destroy"), self)

    def failure(self, code: int, error: abi.Error) -> ArmnnError:
        """Return a failed execute's exception; reset the error."""
        failure = Failure(code, error)
        reset_error(error)
        raise_stored()
        if code == abi.CANCELLED and is_late():
            failure.code = abi.DEADLINE_EXCEEDED  # the backend was told to stop, not why
        made = exception_of(failure, self.library, f"execute {self.title}", self.names)
        return made if isinstance(made, ExecutionError) else _execution_error(made)


def check_open(library: Library) -> None:
    """Check that the library may still be called.

    Raises:
        ClosedError: The process is ending and the library was shut down.
    """
    if library.has_ended:
        raise ClosedError(f"backend {library.id!r} was shut down, as the process is ending")


def _execution_error(cause: ArmnnError) -> ExecutionError:
    made = ExecutionError(str(cause))
    made.__cause__ = cause
    return made
