# SPDX-License-Identifier: MIT
"""The order of layers that were not made in order."""

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
    numbers = {layer: number for number, layer in enumerate(layers)}
    waiting = [len(layer.inputs) - layer.inputs.count(None) for layer in layers]
    ready = [number for number, count in enumerate(waiting) if not count]  # which is a heap
    order: list[Layer] = []
    while ready:
        layer = layers[heapq.heappop(ready)]
        order.append(layer)
        for value in layer.outputs:
            for consumer, _ in value.uses:
                number = numbers[consumer]
                waiting[number] -= 1
                if not waiting[number]:
                    heapq.heappush(ready, number)
    return order, [layer.name for layer, count in zip(layers, waiting, strict=True) if count]
