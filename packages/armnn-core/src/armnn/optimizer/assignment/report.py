# SPDX-License-Identifier: MIT
"""The optimizer's report: each layer's backend, with reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from armnn.backends.cache import Footprint
from armnn.backends.selection import SkippedBackend
from armnn.graph.text import sections_text, tensors_text
from armnn.optimizer.assignment.partition import Part
from armnn.tensor import TensorInfo


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a backend refuses a layer.

    Attributes:
        backend: Its id.
        reason: Its words, or the host's on its behalf.
    """

    backend: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The outcome of one layer in one specialization.

    Attributes:
        layer: Its name.
        type: Its type; the domain and the name of an operator in Python.
        backend: The id of the backend that runs it, "Python" for such an operator.
        refusals: The backends that were asked before, in that order; empty if none was.
        compiled_into: The name of the layer that a backend put in its place, if it did.
        specialisation: The shapes of the inputs for which this holds; "" if they are fixed.
        footprint: The memory of what it was compiled into, None if the backend does not say.
        conversion: Why it computes in Float32 between conversions, or in another layout between
            transposes; "" if it does neither.
        multiply_adds: The multiplications whose products it adds up; None where they depend on a
            shape that only a run knows.
    """

    layer: str
    type: str
    backend: str
    refusals: tuple[Refusal, ...] = ()
    compiled_into: str = ""
    specialisation: str = ""
    footprint: Footprint | None = None
    conversion: str = ""
    multiply_adds: int | None = None

    @property
    def is_fallback(self) -> bool:
        """Whether a backend that was asked before refused the layer."""
        return bool(self.refusals)

    @property
    def reason(self) -> str:
        """Why the first backend refused the layer; "" without refusal."""
        return "; ".join(f"{refusal.backend}: {refusal.reason}" for refusal in self.refusals)

    def __str__(self) -> str:
        notes = [f"compiled into {self.compiled_into!r}"] if self.compiled_into else []
        notes += [each for each in (self.conversion, self.reason) if each]
        ending = f"  ({'; '.join(notes)})" if notes else ""
        return f"{self.layer}: {self.type} on {self.backend}{ending}"

    def as_dict(self) -> dict[str, Any]:
        """Return the row as data for JSON."""
        return {
            "layer": self.layer,
            "type": self.type,
            "backend": self.backend,
            "refusals": [{"backend": r.backend, "reason": r.reason} for r in self.refusals],
            "compiled_into": self.compiled_into,
            "specialisation": self.specialisation,
            "footprint": None if self.footprint is None else self.footprint.as_dict(),
            "conversion": self.conversion,
            "multiply_adds": self.multiply_adds,
        }


@dataclass(frozen=True, slots=True)
class CompiledPart:
    """A compiled part of a network, with its memory.

    Attributes:
        name: The name of the layer that stands in its place.
        backend: The id of the backend.
        layers: How many layers went into it.
        specialisation: The shapes of the inputs for which this holds; "" if they are fixed.
        footprint: Its memory.
    """

    name: str
    backend: str
    layers: int
    specialisation: str
    footprint: Footprint

    def as_dict(self) -> dict[str, Any]:
        """Return the part as data for JSON."""
        return {
            "name": self.name,
            "backend": self.backend,
            "layers": self.layers,
            "specialisation": self.specialisation,
            **self.footprint.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """One row per layer that a backend runs.

    Rows are in running order, per specialization.

    Attributes:
        rows: The rows.
        skipped: The backends of the user's list that may be missing and could not be used.
        parts: The layers that run together, in running order, and the tensors between parts.
        choice: Why these backends take part, if a measurement was asked for (``"auto"``).
        copied: The inputs and outputs that were to stay where the caller has them and were copied
            nevertheless, with the reason of each.
    """

    rows: tuple[ReportRow, ...] = field(default=())
    skipped: tuple[SkippedBackend, ...] = field(default=())
    parts: tuple[Part, ...] = field(default=())
    choice: str = ""
    copied: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ReportRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __add__(self, other: object) -> Report:
        if not isinstance(other, Report):
            return NotImplemented
        skipped = dict.fromkeys((*self.skipped, *other.skipped))
        parts, choice = self.parts + other.parts, self.choice or other.choice
        copied = tuple(dict.fromkeys(self.copied + other.copied))
        return Report(self.rows + other.rows, tuple(skipped), parts, choice, copied)

    @property
    def fallbacks(self) -> tuple[ReportRow, ...]:
        """The layers that the first backend does not run."""
        return tuple(row for row in self.rows if row.is_fallback)

    @property
    def layers_by_backend(self) -> Mapping[str, int]:
        """How many layers each backend runs."""
        counts: dict[str, int] = {}
        for row in self.rows:
            counts[row.backend] = counts.get(row.backend, 0) + 1
        return counts

    @property
    def compiled_parts(self) -> tuple[CompiledPart, ...]:
        """The compiled parts of known memory, by first layers."""
        counts: dict[tuple[str, str, str, Footprint], int] = {}
        for row in self.rows:
            if row.footprint is not None:
                key = (row.compiled_into, row.backend, row.specialisation, row.footprint)
                counts[key] = counts.get(key, 0) + 1
        return tuple(
            CompiledPart(name, backend, layers, specialization, footprint)
            for (name, backend, specialization, footprint), layers in counts.items()
        )

    def texts(self) -> dict[str, list[str]]:
        """Return lines about layers, headed by specialization."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            heading = f"layers for {row.specialisation}" if row.specialisation else "layers"
            found.setdefault(heading, []).append(str(row))
        return found

    def __str__(self) -> str:
        choice = [f"backends {self.choice}"] if self.choice else []
        skipped = [f"skipped {each}" for each in self.skipped]
        copied = [f"copied {each}" for each in self.copied]
        return "\n".join([*map(str, self.rows), *choice, *skipped, *copied])


def prepared_text(
    title: str,
    inputs: Mapping[str, TensorInfo],
    report: Report,
    outputs: Mapping[str, TensorInfo],
    layers: Iterable[str] = ("known when they are first run",),
) -> str:
    """Return a prepared network as text, with backends.

    Args:
        title: The first line.
        inputs: By name.
        report: Where the layers run.
        outputs: By name.
        layers: The text in place of layers as long as no set of shapes is prepared.
    """
    sections = report.texts() or {"layers, prepared for each set of shapes": list(layers)}
    if report.choice:
        sections["choice of backends"] = [report.choice]
    if report.skipped:
        sections["skipped backends"] = list(map(str, report.skipped))
    if report.copied:
        sections["copied nevertheless"] = list(report.copied)
    return sections_text(
        title, {"inputs": tensors_text(inputs), **sections, "outputs": tensors_text(outputs)}
    )
