# SPDX-License-Identifier: MIT
"""What the parts of a choice take on each backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_LONGEST_NAME: Final = 48


@dataclass(frozen=True, slots=True)
class PartCost:
    """A part of a network on one backend.

    Attributes:
        backend: The id of the backend.
        microseconds: The median time of a run of the part alone.
        border_microseconds: The time to copy what it reads from other parts; 0 where both backends
            use the same memory.
        fault: Why the part cannot run there; "" if it can.
    """

    backend: str
    microseconds: float = 0.0
    border_microseconds: float = 0.0
    fault: str = ""

    def __str__(self) -> str:
        border = self.border_microseconds
        copies = f" + {border:,.0f} us for the border" if border >= 0.5 else ""
        return f"{self.microseconds:,.0f} us on {self.backend}{copies}"


@dataclass(frozen=True, slots=True)
class MeasuredPart:
    """A part of the chosen plan, measured alone.

    Attributes:
        name: The name of its first layer.
        layers: How many layers it has.
        costs: On each backend that was tried; the one that runs it first.
    """

    name: str
    layers: int
    costs: tuple[PartCost, ...]

    def __str__(self) -> str:
        name = self.name if len(self.name) <= _LONGEST_NAME else f"{self.name[:_LONGEST_NAME]}..."
        usable = ", ".join(str(each) for each in self.costs if not each.fault)
        return f"{name!r} ({self.layers} layer{'s' * (self.layers != 1)}): {usable}"


@dataclass(frozen=True, slots=True)
class CopyCost:
    """The time of copies between two kinds of memory.

    Attributes:
        microseconds: Of a copy of nothing.
        microseconds_per_byte: What each byte adds.
    """

    microseconds: float = 0.0
    microseconds_per_byte: float = 0.0

    def of(self, size: int) -> float:
        """Return the microseconds for some bytes."""
        return self.microseconds + self.microseconds_per_byte * size

    @classmethod
    def fitted(cls, times: Mapping[int, float]) -> CopyCost:
        """Return the line through microseconds by size.

        Each size counts the same by relative error, and neither number is negative.
        """
        weights = {size: 1.0 / max(spent, 1e-9) ** 2 for size, spent in times.items()}
        total = sum(weights.values())
        mean_size = sum(weights[s] * s for s in times) / total
        mean_time = sum(weights[s] * t for s, t in times.items()) / total
        spread = sum(weights[s] * (s - mean_size) ** 2 for s in times)
        joint = sum(weights[s] * (s - mean_size) * (t - mean_time) for s, t in times.items())
        slope = max(joint / spread, 0.0) if spread else 0.0
        return cls(max(mean_time - slope * mean_size, 0.0), slope)


def parts_from(rows: Iterable[Mapping[str, Any]]) -> Iterator[MeasuredPart]:
    """Yield the parts that a child has measured in full."""
    head: Mapping[str, Any] = {}
    costs: list[PartCost] = []
    for row in (*rows, {"name": ""}):
        if "name" in row:
            if costs:
                yield MeasuredPart(str(head["name"]), int(head["layers"]), tuple(costs))
            head, costs = row, []
        else:
            fault = str(row.get("fault", ""))
            spent, border = row.get("seconds", 0.0), row.get("border_microseconds", 0.0)
            costs.append(PartCost(str(row["backend"]), 1e6 * float(spent), float(border), fault))
