# SPDX-License-Identifier: MIT
"""The order of layers after what they read."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from armnn.graph.layer import Layer


def sorted_by_uses(layers: Sequence[Layer]) -> tuple[list[Layer], list[str]]:
    """Return layers after their producers, and names in cycles.

    Passes ask for it after each change, so that a call of a function in here would count.

    Args:
        layers: All of a graph; of several that may be next, the first is taken.
    """
    done: dict[Layer, None] = {}
    counts: dict[int, int] = {}  # how many inputs a layer waits for, by its number
    readers: dict[Layer, list[int]] = {}  # the numbers of the layers that wait for one
    for number, layer in enumerate(layers):
        count = 0
        for value in layer.inputs:
            if value is not None and value.producer not in done:
                count += 1
                if value.producer in readers:
                    readers[value.producer].append(number)
                else:
                    readers[value.producer] = [number]
        if count:
            counts[number] = count
            continue
        done[layer] = None
        if layer not in readers:
            continue
        # Those that waited for it are before all that was not looked at yet.
        released, ready = readers.pop(layer), list[int]()
        while released or ready:
            for each in released:
                counts[each] -= 1
                if not counts[each]:
                    heapq.heappush(ready, each)
            if not ready:
                break
            found = layers[heapq.heappop(ready)]
            done[found] = None
            released = readers.pop(found, [])
    return list(done), [layer.name for layer in layers if layer not in done]
