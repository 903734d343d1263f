# SPDX-License-Identifier: MIT
"""Damaged files, by number."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Mapping
from typing import TypeAlias

Mutate: TypeAlias = Callable[[random.Random, bytes], bytes]

_SMALL = (0, 1, 2, 127, 128, 255)
_LARGE = (0, 1, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)


class Mutants:
    """The mutants of a format, by number.

    Args:
        file_format: One of ``FORMATS``.
        seed: Another one makes other mutants.

    Attributes:
        file_format: The format.
        companions: Files in the folder of each of them.
    """

    def __init__(self, file_format: str, seed: int) -> None:
        self.file_format = file_format
        module = importlib.import_module(f"tools.fuzz.seeds_{file_format}")
        self._prefix = f"{file_format}:{seed}"
        self._files: Mapping[str, bytes] = module.seeds()
        self._names = sorted(self._files)
        structural: Mutate | None = getattr(module, "mutate", None)
        self._structural = structural
        self.companions: Mapping[str, bytes] = getattr(module, "COMPANIONS", {})

    def __getitem__(self, number: int) -> bytes:
        """Return a mutant; seeds take turns."""
        source = random.Random(f"{self._prefix}:{number}")
        data = self._files[self._names[number % len(self._names)]]
        if self._structural is not None and source.random() < 0.7:
            data = self._structural(source, data)
            if source.random() < 0.8:
                return data
        other = self._files[source.choice(self._names)]
        for _ in range(source.choice((1, 1, 2, 4, 8))):
            data = damaged(source, data, other)
        return data


def damaged(source: random.Random, data: bytes, other: bytes) -> bytes:
    """Return a file with one change.

    Bytes or words are set, removed, doubled, or taken from another file.
    """
    if not data:
        return other
    first, second = sorted(source.randrange(len(data) + 1) for _ in range(2))
    second = min(second, first + 64)
    match source.randrange(7):
        case 0:
            changed = source.choice((source.randrange(256), *_SMALL))
            return data[:first] + bytes([changed]) + data[first + 1 :]
        case 1:
            word = source.choice(_LARGE).to_bytes(4, "little")
            start = first // 4 * 4
            return data[:start] + word + data[start + 4 :]
        case 2:
            return data[:first] + data[second:]
        case 3:
            return data[:second] + data[first:second] + data[second:]
        case 4:
            place = source.randrange(len(other) + 1)
            return data[:first] + other[place : place + 64] + data[second:]
        case 5:
            return data[:first]
        case _:
            bit = 1 << source.randrange(8)
            return (
                data[:first] + bytes(b ^ bit for b in data[first : first + 1]) + data[first + 1 :]
            )
