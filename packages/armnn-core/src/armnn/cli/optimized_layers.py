# SPDX-License-Identifier: MIT
"""The layers of a network with backends and compiled parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from armnn.cli.output import print_table

if TYPE_CHECKING:
    from armnn.backends.cache import Footprint
    from armnn.graph import Network
    from armnn.optimizer import Report
    from armnn.optimizer.prepared import Segments

_WITHOUT_BACKEND = ("Input", "Output", "Constant")


@dataclass(frozen=True, slots=True)
class Part:
    """Layers that a backend compiled into one.

    Attributes:
        name: Of the layer that takes their place.
        backend: The id of the backend.
        layers: Their names.
        footprint: The memory of the part, None if the backend does not say it.
    """

    name: str
    backend: str
    layers: tuple[str, ...]
    footprint: Footprint | None

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        footprint = None if self.footprint is None else self.footprint.as_dict()
        return {
            "name": self.name,
            "backend": self.backend,
            "layers": list(self.layers),
            "footprint": footprint,
        }


@dataclass(frozen=True, slots=True, eq=False)
class OptimizedLayers:
    """The layers of a network, each with its backend.

    Attributes:
        network: The layers.
        parts: What backends compiled some of them into.
        waiting: How many other layers wait for data that only a run computes.
    """

    network: Network
    parts: tuple[Part, ...] = ()
    waiting: int = 0
    part_of: Mapping[str, str] = field(init=False)
    """The name of the part that a layer went into, by the layer's name."""

    def __post_init__(self) -> None:
        names = {layer: part.name for part in self.parts for layer in part.layers}
        object.__setattr__(self, "part_of", names)  # the documented way to fill a frozen dataclass

    @classmethod
    def of(cls, segments: Segments, report: Report) -> OptimizedLayers:
        """Combine the layers with the facts of a report."""
        rows = {row.layer: row for row in report}
        found: dict[str, Part] = {}
        for layer in segments.head.layers:
            row = rows.get(layer.name)
            if row is None or layer.type in _WITHOUT_BACKEND:
                continue
            layer.backend = row.backend
            if row.compiled_into:
                before = found[row.compiled_into].layers if row.compiled_into in found else ()
                names = (*before, layer.name)
                found[row.compiled_into] = Part(
                    row.compiled_into, row.backend, names, row.footprint
                )
        rest = () if segments.rest is None else segments.rest.layers
        waiting = sum(layer.type not in _WITHOUT_BACKEND for layer in rest)
        return cls(segments.head, tuple(found.values()), waiting)

    def show_parts(self) -> None:
        """Print what was compiled, if anything was, and what waits."""
        if self.parts:
            rows = [(part.name, part.backend, str(len(part.layers))) for part in self.parts]
            print_table("Compiled parts", ["part", "backend", "layers"], rows)
        if self.waiting:
            print(f"Layers that wait for data that only a run computes: {self.waiting}\n")
