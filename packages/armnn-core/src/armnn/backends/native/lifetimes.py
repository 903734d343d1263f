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
from typing import Final

from armnn.backends.ffi.library import Library


class NativeObject:
    """A backend, program or context in C.

    Attributes:
        pointer: The handle.
        library: Whose it is.
        is_running: Whether a thread is inside of a call that cannot be interrupted.
    """

    __slots__ = ("__weakref__", "_guard", "_held", "is_running", "library", "pointer")

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
        self._guard = _keeper.add(self, destroy, parent, self._held)

    def hold(self, thing: object) -> None:
        """Keep a host object alive until this one is destroyed."""
        self._held.append(thing)

    def end(self) -> None:
        """Destroy it now, even if references to it exist.

        It must not be used afterwards.
        """
        _keeper.destroy(self._guard)


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
    """Destroys dropped objects, and the rest at process exit."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._guards: dict[int, _Guard] = {}
        self._libraries: dict[Library, None] = {}
        self._lock = threading.RLock()

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
        known = self._guards.pop(guard.number, None)
        if known is not None and not guard.library.has_ended:
            guard.destroy(guard.pointer)

    def end(self) -> None:
        """Destroy the rest, youngest first, then shut files down."""
        running: dict[Library, None] = {}
        with self._lock:
            for library in self._libraries:
                library.has_ended = True
            for guard in tuple(self._guards.values()):
                made = guard()
                if made is not None and made.is_running:
                    # A daemon thread is in there: its memory must stay until the process is gone.
                    running[made.library] = None
            for number in sorted(self._guards, reverse=True):
                last = self._guards.pop(number, None)
                if last is not None and last.library not in running:
                    last.destroy(last.pointer)
            for library in self._libraries:
                shutdown = library.function("shutdown")
                if shutdown is not None and library not in running:
                    shutdown()


_keeper: Final = _Keeper()
# Registered before any backend can register anything, so it runs after all of them.
atexit.register(_keeper.end)


def shut_down_at_exit(library: Library) -> None:
    """Call the library's ``shutdown`` last, at process exit."""
    _keeper.add_library(library)
