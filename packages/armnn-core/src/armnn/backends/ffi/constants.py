# SPDX-License-Identifier: MIT
"""Constants by reference, so that backends need no copies.

A constant is known by a number that its array has for life and no other one ever gets. It is lent
while a graph exists, and kept as long as a backend says so (``armnn_graph.keep`` and ``drop``). One
that no other layer needs may go before the graph does, when the backend drops it.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends.ffi.calls import guarded
from armnn.backends.ffi.values import tensor_of
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena

RELEASES_CONSTANTS: Final = "ReleasesConstants"
"""The capability by which a backend says that ``compile``, once it has dropped a constant that it
kept, does not read that one again and refuses no node."""


class _Held:
    """A constant that graphs or backends hold.

    Args:
        reference: Its number.
        array: The data as the network has it.
        let_go: Takes the data out of the network; None if it must stay as long as it is lent.

    Attributes:
        reference: Its number.
        array: The data as the network has it; None once it went.
        let_go: As given, until it was called.
        data: What the tensor points to.
        arena: The rest of the tensor.
        tensor: The description of the data, which C reads.
        count: How often it is held.
    """

    __slots__ = ("arena", "array", "count", "data", "let_go", "reference", "tensor")

    def __init__(
        self, reference: int, array: NDArray[Any], let_go: Callable[[], None] | None
    ) -> None:
        self.reference, self.let_go, self.count = reference, let_go, 0
        self.array: NDArray[Any] | None = array
        dense = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        self.data: NDArray[Any] | None = dense
        self.arena = Arena()
        self.tensor = tensor_of(dense, self.arena)

    def release(self) -> None:
        """Let the data go, if it may."""
        if self.let_go is not None:
            self.let_go()
            self.let_go = self.array = self.data = None


class Constants:
    """The constants that are held, by reference."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}
        self._numbers: dict[int, tuple[weakref.ref[NDArray[Any]], int]] = {}
        self._next_number = itertools.count(1)
        self._lock = threading.RLock()

    def lend(
        self, array: NDArray[Any], let_go: Callable[[], None] | None = None
    ) -> tuple[int, ctypes._Pointer[abi.Tensor]]:
        """Hold an array once more; return reference and description.

        Args:
            array: The constant.
            let_go: Takes it out of the network. Called when the last of those who kept it since
                drops it, if it was not held before; the array is held no longer then.
        """
        with self._lock:
            reference = self._number_of(array)
            if reference not in self._held:
                self._held[reference] = _Held(reference, array, let_go)
            self._held[reference].count += 1
            return reference, ctypes.pointer(self._held[reference].tensor)

    def let_go_by(self, reference: int, let_go: Callable[[], None] | None) -> None:
        """Say later what takes a lent constant out.

        It counts if no other caller holds the constant, as in :meth:`lend`.
        """
        with self._lock:
            held = self._find(reference)
            held.let_go = let_go if held.count == 1 else None

    def take_back(self, reference: int) -> None:
        """Release a lent constant; it stays for its keepers."""
        with self._lock:
            self._find(reference).let_go = None
            self.drop(reference)

    def keep(self, reference: int | None) -> None:
        """Hold a constant once more.

        Raises:
            LookupError: It is not held.
        """
        with self._lock:
            self._find(reference).count += 1

    def drop(self, reference: int | None) -> None:
        """Release a constant once.

        After the last time it may be freed, or after the last but the lender's.

        Raises:
            LookupError: It is not held.
        """
        with self._lock:
            held = self._find(reference)
            held.count -= 1
            if not held.count:
                del self._held[held.reference]
            elif held.count == 1:
                held.release()

    def _number_of(self, array: NDArray[Any]) -> int:
        """Return an array's number, which is never used again.

        Its id may be.
        """
        address = id(array)
        known = self._numbers.get(address)
        if known is not None and known[0]() is array:
            return known[1]

        def forget(dead: weakref.ref[NDArray[Any]]) -> None:
            if self._numbers.get(address, (None,))[0] is dead:
                del self._numbers[address]

        number = next(self._next_number)
        self._numbers[address] = (weakref.ref(array, forget), number)
        return number

    def __len__(self) -> int:
        return len(self._held)

    def _find(self, reference: int | None) -> _Held:
        held = None if reference is None else self._held.get(reference)
        if held is None:
            raise LookupError(f"no kept constant has reference {reference!r}")
        return held


constants: Final = Constants()
"""The constants of this process."""

KEEP: Final = abi.ConstantFn(guarded(None)(constants.keep))
DROP: Final = abi.ConstantFn(guarded(None)(constants.drop))
