# SPDX-License-Identifier: MIT
"""Constants by reference: a backend that keeps one needs no copy of the weights.

A constant is known by a number that its array has for life and no other one ever gets. It is lent
while a graph exists, and kept as long as a backend says so (``armnn_graph.keep`` and ``drop``).
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn.backends.native.calls import guarded
from armnn.backends.native.memory import Arena
from armnn.backends.native.tensors import tensor_of
from armnn_backend_api import ctypes_mirror as abi

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(slots=True, eq=False)
class _Held:
    """A constant that graphs or backends hold.

    Attributes:
        array: The data as the network has it.
        arena: What the tensor points to.
        tensor: The description of the data, which C reads.
        count: How often it is held.
    """

    array: NDArray[Any]
    arena: Arena = field(default_factory=Arena)
    tensor: abi.Tensor = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        data = self.array
        if not data.flags.c_contiguous:
            data = np.ascontiguousarray(data)
        self.arena.hold(data)
        self.tensor = tensor_of(data, self.arena)


class Constants:
    """The constants that are held, by reference."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}
        self._numbers: dict[int, tuple[weakref.ref[NDArray[Any]], int]] = {}
        self._next_number = itertools.count(1)
        self._lock = threading.RLock()

    def lend(self, array: NDArray[Any]) -> tuple[int, ctypes._Pointer[abi.Tensor]]:
        """Hold an array once more; return its reference and its description."""
        with self._lock:
            reference = self._number_of(array)
            if reference not in self._held:
                self._held[reference] = _Held(array)
            self._held[reference].count += 1
            return reference, ctypes.pointer(self._held[reference].tensor)

    def keep(self, reference: int | None) -> None:
        """Hold a constant once more.

        Raises:
            LookupError: Nobody holds it.
        """
        with self._lock:
            self._find(reference).count += 1

    def drop(self, reference: int | None) -> None:
        """Hold a constant once less; after the last time it may go.

        Raises:
            LookupError: Nobody holds it.
        """
        with self._lock:
            held = self._find(reference)
            held.count -= 1
            if not held.count:
                del self._held[self._number_of(held.array)]

    def _number_of(self, array: NDArray[Any]) -> int:
        """Return the number of an array: unlike its id, it does not come back after its death."""
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
            raise LookupError(f"nobody holds a constant of reference {reference!r}")
        return held


constants: Final = Constants()
"""The constants of this process."""

KEEP: Final = abi.ConstantFn(guarded(None)(constants.keep))
DROP: Final = abi.ConstantFn(guarded(None)(constants.drop))
