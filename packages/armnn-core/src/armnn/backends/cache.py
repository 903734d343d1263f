# SPDX-License-Identifier: MIT
"""Compiled programs as the core sees them: memory, the cache that keeps them, other shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from armnn.tensor import TensorInfo

if TYPE_CHECKING:
    from armnn.graph import Layer, Value
    from armnn.layers import Descriptor


class Changes:
    """The fields of a program that differ for other shapes; all else stays.

    Infos and parameters are the same objects for all shapes. They hold symbolic numbers, whose
    positions in ``numbers`` tell what they are for these shapes.

    Attributes:
        numbers: The plain numbers.
        infos: The descriptions of values.
        descriptors: The parameters of layers.
        constants: The data of constant values.
    """

    __slots__ = ("constants", "descriptors", "infos", "numbers")

    def __init__(
        self,
        numbers: Sequence[Any],
        infos: Mapping[Value, TensorInfo],
        descriptors: Mapping[Layer, Descriptor],
        constants: Mapping[Value, NDArray[Any]],
    ) -> None:
        self.numbers, self.infos, self.descriptors = numbers, infos, descriptors
        self.constants = constants


class GrowingBlock:
    """A block that is written piece by piece."""

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[bytes] = []

    def append(self, piece: bytes | memoryview) -> None:
        """Write further bytes; raises OSError if there is no room."""
        self.size += len(piece)
        self._pieces.append(bytes(piece))

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)


Block: TypeAlias = "Sequence[bytes | memoryview] | GrowingBlock"
"""Bytes that are stored in one piece, given in several."""

Entry: TypeAlias = "tuple[dict[str, Any], list[memoryview]]"
"""A header, as JSON holds it, and blocks of bytes."""


class StaleEntryError(ValueError):
    """An entry cannot be used; the text says why."""


class ProgramCache(ABC):
    """Keeps entries from one process to the next.

    Whether an entry still fits is decided by the code that stored it.
    """

    @abstractmethod
    def read(self, *key: str) -> Entry | None:
        """Return the entry under a key, None without one.

        A file that cannot be read is logged and counts as none. The blocks are in memory only
        where they are read.

        Raises:
            StaleEntryError: It is damaged, or of another version of the core.
        """

    @abstractmethod
    def write(self, header: Mapping[str, Any], blocks: Sequence[Block], *key: str) -> None:
        """Store an entry under a key, completely or not.

        A file that cannot be written is only logged.
        """

    def block(self) -> GrowingBlock:
        """Return a block for a program."""
        return GrowingBlock()

    @abstractmethod
    def note(self, backend_id: str, layers: str, outcome: str, start_ns: int) -> None:
        """Record the outcome for an entry in log and profile."""


class BlobStore(ABC):
    """Keeps blobs of a backend from one process to the next, as :attr:`ModelContext.blobs`.

    Binaries of kernels, measured sizes, builds that failed: what takes long to find out about a
    device, and is found out again if it is not there. Since Backend API 1.3.
    """

    @abstractmethod
    def get(self, key: str) -> bytes | None:
        """Return the blob that was kept under a key, None without one.

        It is whole and was kept under this key: anything else is ignored, with a line in the log.

        Args:
            key: All that the blob depends on: device, driver and version, what the code is made of,
                and the format of the blob. The host adds the backend's id.
        """

    @abstractmethod
    def put(self, key: str, blob: bytes) -> None:
        """Keep a blob, whole or not at all; the last one under a key stays.

        A folder that cannot be written to is only logged.
        """


class Program(ABC):
    """A compiled program of a backend, in the place of layers.

    It may be in the network's cache, and other shapes may be compiled from it. Without the latter a
    backend is asked about the layers for each set of shapes, as for the first.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def cache_key(self) -> Sequence[Any]:
        """Its key for :meth:`CachingBackend.cached_program`, as JSON.

        It is empty if the program is not in the cache.
        """

    @property
    def layers(self) -> Sequence[Layer]:
        """Its layers; none if it cannot be compiled again."""
        return ()

    @property
    def results(self) -> Sequence[Value]:
        """The values of its outputs, as these layers make them."""
        return ()

    def replanned(self, changes: Changes) -> Program | None:  # noqa: ARG002  # of those that can
        """Return a program of these layers with changed shapes and parameters.

        None if the backend refuses one of them now, which has to be prepared anew then.

        Raises:
            ArmnnError: The backend failed.
        """
        return None


@dataclass(frozen=True, slots=True)
class Footprint:
    """The memory of a program.

    Attributes:
        arena_bytes: Working memory of each call that runs at the same time: intermediate tensors
            and scratch memory, at their peak.
        scratch_bytes: The most scratch memory that one operation uses; a part of the arena.
        weight_bytes: Weights and other constants; what programs share is counted in each of them.
    """

    arena_bytes: int
    scratch_bytes: int
    weight_bytes: int

    def as_dict(self) -> dict[str, int]:
        """Return the footprint as data for JSON."""
        return {
            "arena_bytes": self.arena_bytes,
            "scratch_bytes": self.scratch_bytes,
            "weight_bytes": self.weight_bytes,
        }

    @classmethod
    def from_details(cls, details: Mapping[str, object]) -> Footprint | None:
        """Return a compile event's footprint, None without one."""
        sizes: list[int] = []
        for name in ("arena_bytes", "scratch_bytes", "weight_bytes"):
            size = details.get(name)
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                return None
            sizes.append(size)
        return cls(*sizes)


def footprint_of(layer: Layer | None) -> Footprint | None:
    """Return a PreCompiled layer's memory, if its backend reports it."""
    return None if layer is None else program_footprint(layer.compiled)


def program_footprint(program: object) -> Footprint | None:
    """Return a program's memory, if its backend reports it."""
    found = getattr(program, "footprint", None)
    return found if isinstance(found, Footprint) else None
