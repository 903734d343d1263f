# SPDX-License-Identifier: MIT
"""Small parts, handed back to the backends around them."""

from __future__ import annotations

from collections.abc import Sequence

from armnn.graph import Layer, Network
from armnn.optimizer.assignment.assign import Assignment
from armnn.optimizer.assignment.partition import partition
from armnn.optimizer.candidate import Candidate


def hand_back_islands(network: Network, assignment: Assignment, min_part: int) -> int:
    """Hand parts of fewer layers to a backend beside them.

    A part is an island if a neighbouring part's backend runs all of its layers, too: its borders
    then go away. The smallest part goes first, as parts that it joins grow. A part with a layer
    that was placed by name stays.

    Args:
        network: Its layers are assigned to backends.
        assignment: Gets the reasons.
        min_part: The number of layers from which on a part stays.

    Returns:
        How many parts were handed back.
    """
    changes = 0
    while _hand_back_smallest(network, assignment, min_part):
        changes += 1
    return changes


def _hand_back_smallest(network: Network, assignment: Assignment, min_part: int) -> bool:
    parts = partition(network, lambda layer: layer.backend)
    for layers in sorted(parts, key=len):
        if len(layers) >= min_part:
            return False
        taker = _taker(layers, assignment)
        if taker is None:
            continue
        size = "1 layer" if len(layers) == 1 else f"{len(layers)} layers"
        for layer in layers:
            reason = f"its part has {size}, fewer than min_part={min_part}"
            assignment.refuse(layer, layer.backend or "", reason)
            layer.backend = taker.id
        return True
    return False


def _taker(layers: Sequence[Layer], assignment: Assignment) -> Candidate | None:
    """Return the first neighbouring backend that runs all layers."""
    if any(layer.backend_hint == layer.backend for layer in layers):
        return None
    refused = {backend for layer in layers for backend in assignment.refused_by(layer)}
    around = _neighbours(layers) - refused
    for candidate in assignment.candidates:
        if candidate.id in around and all(assignment.answers.of(candidate, e) for e in layers):
            return candidate
    return None


def _neighbours(layers: Sequence[Layer]) -> set[str]:
    """Return the backends of the layers around a part."""
    inside = set(layers)
    producers = {value.producer for layer in layers for value in layer.inputs if value is not None}
    readers = {each for layer in layers for value in layer.outputs for each in value.consumers}
    return {each.backend for each in (producers | readers) - inside if each.backend is not None}
