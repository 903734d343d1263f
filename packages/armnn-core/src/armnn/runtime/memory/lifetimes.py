# SPDX-License-Identifier: MIT
"""The steps between which each tensor needs its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from armnn.graph import Layer, Value


def lifetimes(order: Sequence[Layer]) -> dict[Value, tuple[int, int]]:
    """Return the first and last step of each value's memory.

    Outputs of the network live to the end; a value whose memory is imported lives until the last
    reader of what was imported.
    """
    position = {layer: index for index, layer in enumerate(order)}
    last: dict[Value, int] = {}
    for layer in reversed(order):
        for value in layer.outputs:
            ends = (_last_use(reader, position, last) for reader, _ in value.uses)
            last[value] = max(ends, default=position[layer])
    return {
        # All inputs are written before the first step runs.
        value: (0 if layer.type == "Input" else position[layer], last[value])
        for layer in order
        if layer.data is None
        for value in layer.outputs
    }


def _last_use(reader: Layer, position: Mapping[Layer, int], last: Mapping[Value, int]) -> int:
    """Return the last step in which a reader needs memory."""
    if reader.type == "Output":
        return len(position)
    return last[reader.output] if reader.type == "MemImport" else position[reader]
