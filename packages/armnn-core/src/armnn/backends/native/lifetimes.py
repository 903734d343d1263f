# SPDX-License-Identifier: MIT
"""Objects of a backend, each destroyed after its dependents.

A context keeps its program, a program its backend, a backend its library. At the end of the
process what is left is destroyed in the same order, and each file's ``shutdown`` comes last.
"""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from armnn.backends.ffi.library import Library


class NativeObject:
    """A backend, program or context in C.

    Attributes:
        pointer: The handle.
        library: Whose it is.
        is_running: Whether a thread is inside of a call that cannot be interrupted.
    """

    __slots__ = ("__weakref__", "_finalizer", "_held", "is_running", "library", "pointer")

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
            parent: What must outlive it.
        """
        self.library = library
        self.pointer = pointer
        self.is_running = False
        self._held: list[object] = []
        self._finalizer = _keeper.add(self, destroy, parent, self._held)

    def hold(self, thing: object) -> None:
        """Keep a host object alive until this one is destroyed."""
        self._held.append(thing)

    def end(self) -> None:
        """Destroy it now, even if references to it exist.

        It must not be used afterwards.
        """
        self._finalizer()


class _Keeper:
    """Destroys dropped objects, and the rest at process exit."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._finalizers: dict[int, tuple[weakref.finalize[Any, Any], weakref.ref[Any]]] = {}
        self._libraries: dict[Library, None] = {}
        self._lock = threading.RLock()

    def add(
        self,
        made: NativeObject,
        destroy: Callable[[int], object],
        parent: NativeObject | None,
        held: list[object],
    ) -> weakref.finalize[Any, Any]:
        number = next(self._numbers)
        # The finalizer holds the parent, so that even a garbage cycle is taken down in order.
        finalizer = weakref.finalize(
            made, self._destroy, number, made.library, destroy, made.pointer, parent, held
        )
        finalizer.atexit = False
        self._finalizers[number] = finalizer, weakref.ref(made)
        return finalizer

    def add_library(self, library: Library) -> None:
        self._libraries[library] = None

    def end(self) -> None:
        """Destroy the rest, youngest first, then shut files down."""
        running: dict[Library, None] = {}
        with self._lock:
            for library in self._libraries:
                library.has_ended = True
            for _, reference in tuple(self._finalizers.values()):
                made = reference()
                if made is not None and made.is_running:
                    # A daemon thread is in there: its memory must stay until the process is gone.
                    running[made.library] = None
            for number in sorted(self._finalizers, reverse=True):
                finalizer, _ = self._finalizers.get(number, (None, None))
                if finalizer is not None:
                    self._end_one(finalizer, running)
            for library in self._libraries:
                shutdown = library.function("shutdown")
                if shutdown is not None and library not in running:
                    shutdown()

    def _end_one(self, finalizer: weakref.finalize[Any, Any], running: dict[Library, None]) -> None:
        alive = finalizer.detach()
        if alive is None:
            return
        _, _, (number, library, destroy, pointer, *_), _ = alive
        self._finalizers.pop(number, None)
        if library not in running:
            destroy(pointer)

    def _destroy(
        self,
        number: int,
        library: Library,
        destroy: Callable[[int], object],
        pointer: int,
        _parent: NativeObject | None,
        _held: list[object],
    ) -> None:
        self._finalizers.pop(number, None)
        if not library.has_ended:
            destroy(pointer)


_keeper: Final = _Keeper()
# Registered before any backend can register anything, so it runs after all of them.
atexit.register(_keeper.end)


def shut_down_at_exit(library: Library) -> None:
    """Call the library's ``shutdown`` last, at process exit."""
    _keeper.add_library(library)
