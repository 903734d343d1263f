# SPDX-License-Identifier: MIT
"""The memory of a compiled part, as its backend reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from armnn._dataclasses import dataclass

if TYPE_CHECKING:
    from armnn.graph import Layer


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
        """Return it as JSON can hold it."""
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
