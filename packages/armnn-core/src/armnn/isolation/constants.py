# SPDX-License-Identifier: MIT
"""Constants of networks in memory that workers map."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any, Final

from numpy.typing import NDArray

from armnn.isolation.codec import blob_of
from armnn.isolation.link import Link
from armnn.isolation.memory import Block, aligned

_SMALL: Final = 4096
"""Bytes of a constant that goes with each request instead."""

Place = tuple["SharedBytes", int, int]


class SharedBytes:
    """A block for a worker, by descriptor or as copy."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def create(self, link: Link) -> int:
        """Give it to a worker."""
        number, block = link.new_number(), self.block
        request = {
            "do": "block",
            "number": number,
            "size": block.size,
            "write": block.is_written_there,
        }
        if link.takes_descriptors:
            link.request(request, descriptors=[block.descriptor])
        else:
            link.request(request, [block.bytes.data])
        return number


class Constants:
    """Puts constants into shared memory, each once.

    A constant is known as long as its array lives.
    """

    def __init__(self) -> None:
        self._places: dict[int, tuple[weakref.ref[Any], Place]] = {}
        self._lock = threading.Lock()

    def placed(self, arrays: Sequence[NDArray[Any]]) -> list[Place | memoryview]:
        """Return each array's place, or its bytes if few."""
        with self._lock:
            large = {id(each): each for each in arrays if each.nbytes >= _SMALL}
            new = {key: each for key, each in large.items() if not self._is_known(key, each)}
            if new:
                self._add(new)
            return [
                self._places[id(each)][1] if id(each) in large else memoryview(bytes(blob_of(each)))
                for each in arrays
            ]

    def _is_known(self, key: int, array: NDArray[Any]) -> bool:
        known = self._places.get(key)
        return known is not None and known[0]() is array

    def _add(self, arrays: dict[int, NDArray[Any]]) -> None:
        block = Block(sum(aligned(each.nbytes) for each in arrays.values()))
        shared, offset = SharedBytes(block), 0
        for key, each in arrays.items():
            block.bytes[offset : offset + each.nbytes] = blob_of(each)
            forget = weakref.ref(each, lambda _, key=key: self._places.pop(key, None))  # type: ignore[misc]  # mypy knows no default of a lambda
            self._places[key] = forget, (shared, offset, each.nbytes)
            offset += aligned(each.nbytes)


def given_to(
    link: Link, placed: Sequence[Place | memoryview]
) -> tuple[list[Any], list[memoryview]]:
    """Return a worker's places of constants, and bytes to send."""
    places: list[Any] = []
    blobs: list[memoryview] = []
    for each in placed:
        if isinstance(each, memoryview):
            places.append(None)
            blobs.append(each)
        else:
            shared, offset, size = each
            places.append([link.number_of(shared), offset, size])
    return places, blobs
