# SPDX-License-Identifier: MIT
"""The order of layers that were not made in order."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armnn.graph.layer import Layer


def sorted_by_uses(
    layers: Collection[Layer], rank: Callable[[Layer], tuple[Any, ...]]
) -> tuple[list[Layer], list[str]]:
    """Return layers after their producers, and names in cycles.

    Args:
        layers: All of a graph.
        rank: Says which of several layers comes first; the layer is at its end.
    """
    waiting = {layer: sum(v is not None for v in layer.inputs) for layer in layers}
    ready = [rank(layer) for layer, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[Layer] = []
    while ready:
        *_, layer = heapq.heappop(ready)
        order.append(layer)
        for value in layer.outputs:
            for consumer, _ in value.uses:
                waiting[consumer] -= 1
                if waiting[consumer] == 0:
                    heapq.heappush(ready, rank(consumer))
    return order, [layer.name for layer, count in waiting.items() if count > 0]
