# SPDX-License-Identifier: MIT
"""The parts of a network, and what their borders cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from armnn.graph import Layer, Network, Value
from armnn.optimizer.assignment.partition import partition

CARRIERS = ("MemCopy", "MemImport")
"""Layers that bring a tensor into another kind of memory."""


@dataclass(frozen=True, slots=True)
class Border:
    """A tensor that a part reads from another part.

    Attributes:
        tensor: The name of the layer that makes it; ":" and a number follow but for output 0.
        source: The id of the backend that makes it.
        bytes: Its size, None where only a run knows it.
        copied: Whether it is copied; otherwise both backends use the same memory.
    """

    tensor: str
    source: str
    bytes: int | None
    copied: bool

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "tensor": self.tensor,
            "source": self.source,
            "bytes": self.bytes,
            "copied": self.copied,
        }


@dataclass(frozen=True, slots=True)
class Part:
    """Layers that one backend runs together, with their borders.

    Attributes:
        name: The name of its first layer.
        backend: The id of the backend.
        layers: How many layers it has.
        specialisation: The shapes of the inputs for which this holds; "" if they are fixed.
        borders: What it reads from other parts.
    """

    name: str
    backend: str
    layers: int
    specialisation: str
    borders: tuple[Border, ...]

    @property
    def border_bytes(self) -> int:
        """The known bytes that it reads from other parts."""
        return sum(border.bytes or 0 for border in self.borders)

    @property
    def copied_bytes(self) -> int:
        """The bytes of them that are copied."""
        return sum(border.bytes or 0 for border in self.borders if border.copied)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "name": self.name,
            "backend": self.backend,
            "layers": self.layers,
            "specialisation": self.specialisation,
            "borders": [border.as_dict() for border in self.borders],
        }


def parts_of(
    network: Network, origins: Mapping[Layer, tuple[str, ...]], label: str
) -> tuple[Part, ...]:
    """Return the parts of a network whose tensors have places.

    Args:
        network: Every layer that computes knows its backend.
        origins: The names of the layers that a layer was compiled from, in running order.
        label: Names the specialisation; "" if there is only one.
    """

    def backend(layer: Layer) -> str | None:
        return None if layer.type in CARRIERS else layer.backend

    groups = partition(network, backend)
    part_of = {layer: number for number, group in enumerate(groups) for layer in group}
    borders: list[dict[tuple[Value, bool], None]] = [{} for _ in groups]
    for source, number in part_of.items():
        for value in source.outputs:
            for reader, copied in _readers(value):
                if part_of.get(reader, number) != number:
                    borders[part_of[reader]][value, copied] = None
    found = []
    for group, crossing in zip(groups, borders, strict=True):
        names = [name for layer in group for name in origins.get(layer, (layer.name,))]
        rows = tuple(_border(value, copied) for value, copied in crossing)
        found.append(Part(names[0], group[0].backend or "", len(names), label, rows))
    return tuple(found)


def _readers(value: Value, copied: bool = False) -> Iterator[tuple[Layer, bool]]:
    """Yield a value's readers, also behind carriers."""
    for reader in value.consumers:
        if reader.type in CARRIERS:
            yield from _readers(reader.output, copied or reader.type == "MemCopy")
        else:
            yield reader, copied


def _border(value: Value, copied: bool) -> Border:
    name = value.producer.name + (f":{value.index}" if value.index else "")
    size = value.info.size_bytes if value.info.is_static else None
    return Border(name, value.producer.backend or "", size, copied)
