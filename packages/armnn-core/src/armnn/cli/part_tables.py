# SPDX-License-Identifier: MIT
"""The report's tables about parts and their memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from armnn.cli.output import print_table

if TYPE_CHECKING:
    from armnn.optimizer import CompiledPart, Part

MOST_ROWS = 12
"""With more parts there is a row for each backend, unless every part is asked for."""

AnyPart = TypeVar("AnyPart", "Part", "CompiledPart")


def show_parts(parts: Sequence[Part], *, each: bool) -> None:
    """Print what crosses the borders between parts.

    Args:
        parts: In the order in which they run.
        each: Whether there is a row for each, however many they are.
    """
    rows = [
        (
            name,
            members[0].backend,
            str(sum(part.layers for part in members)),
            str(sum(len(part.borders) for part in members)),
            _kibibytes(part.border_bytes for part in members),
            _kibibytes(part.copied_bytes for part in members),
        )
        for name, members in _named(parts, each=each)
    ]
    borders = sum(len(part.borders) for part in parts)
    crossing = _kibibytes(part.border_bytes for part in parts)
    copied = _kibibytes(part.copied_bytes for part in parts)
    title = f"{len(parts)} parts, {borders} borders, {crossing} KiB over them, {copied} KiB copied"
    header = ["part, by its first layer", "backend", "layers", "reads", "KiB", "copied, KiB"]
    print_table(title, header, rows)


def show_memory(parts: Sequence[CompiledPart], *, each: bool) -> None:
    """Print the memory of compiled parts.

    Args:
        parts: In the order in which they run.
        each: Whether there is a row for each, however many they are.
    """
    rows = [
        (
            name,
            members[0].backend,
            str(sum(part.layers for part in members)),
            _kibibytes(part.footprint.arena_bytes for part in members),
            _kibibytes(part.footprint.scratch_bytes for part in members),
            _kibibytes(part.footprint.weight_bytes for part in members),
        )
        for name, members in _named(parts, each=each)
    ]
    sizes = ["arena", "scratch in it", "weights"]
    header = ["compiled part", "backend", "layers", *(f"{size}, KiB" for size in sizes)]
    print_table("Memory", header, rows)


def _named(parts: Sequence[AnyPart], *, each: bool) -> list[tuple[str, list[AnyPart]]]:
    """Return the parts of each row, with its name."""
    if each or len(parts) <= MOST_ROWS:
        return [(_name(part), [part]) for part in parts]
    by_backend: dict[str, list[AnyPart]] = {}
    for part in parts:
        by_backend.setdefault(part.backend, []).append(part)
    return [(f"{len(members)} parts", members) for members in by_backend.values()]


def _name(part: Part | CompiledPart) -> str:
    return f"{part.name} for {part.specialisation}" if part.specialisation else part.name


def _kibibytes(sizes: Iterable[int]) -> str:
    return f"{sum(sizes) / 1024:.1f}"
