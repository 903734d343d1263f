# SPDX-License-Identifier: MIT
"""The order of layers after what they read."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.graph.layer import Layer


def sorted_by_uses(layers: Sequence[Layer]) -> tuple[list[Layer], list[str]]:
    """Return layers after their producers, and names in cycles.

    Args:
        layers: All of a graph; of several that may be next, the first is taken.
    """
    done: dict[Layer, None] = {}
    waiting = _Waiting(layers)
    for number, layer in enumerate(layers):
        for value in layer.inputs:
            if value is not None and value.producer not in done:
                waiting.add(number, value.producer)
        if number in waiting.counts:
            continue
        done[layer] = None
        if layer in waiting.readers:  # seldom: most layers were made in order
            waiting.release(layer, done)
    return list(done), [layer.name for layer in layers if layer not in done]


class _Waiting:
    """The layers that come before what they read.

    Attributes:
        counts: For how many inputs a layer waits, by its number.
        readers: The numbers of the layers that wait for a layer.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.counts: dict[int, int] = {}
        self.readers: dict[Layer, list[int]] = {}
        self._layers = layers

    def add(self, number: int, producer: Layer) -> None:
        """Let a layer wait for another one."""
        self.counts[number] = self.counts.get(number, 0) + 1
        self.readers.setdefault(producer, []).append(number)

    def release(self, layer: Layer, done: dict[Layer, None]) -> None:
        """Add the layers that waited for one: they are before the rest."""
        ready = self._released(layer)
        heapq.heapify(ready)
        while ready:
            found = self._layers[heapq.heappop(ready)]
            done[found] = None
            for number in self._released(found):
                heapq.heappush(ready, number)

    def _released(self, layer: Layer) -> list[int]:
        found = []
        for number in self.readers.pop(layer, ()):
            self.counts[number] -= 1
            if not self.counts[number]:
                found.append(number)
        return found
