# SPDX-License-Identifier: MIT
"""Consecutive permutations become one; a permutation that moves nothing goes."""

from __future__ import annotations

from armnn.graph import Layer, Network
from armnn.optimizer.passes._pattern import bypass, first_input, may_absorb, rewire, walk
from armnn.optimizer.passes._permutation import PERMUTATIONS, axis_order, descriptor_of_order


def cancel_inverse_permutes(network: Network) -> int:
    """Cancel each Permute or Transpose with those before it.

    What remains of them stays. (Arm NN: OptimizeInversePermutes, OptimizeInverseTransposes; those
    only know pairs of one kind that cancel altogether.) A permutation that others read too stays
    for them.

    Returns:
        How many permutations were skipped or taken out.
    """
    changes = 0
    for layer in walk(network, PERMUTATIONS):
        while _skip_producer(network, layer):
            changes += 1
        changes += _remove_identity(network, layer)
    return changes


def _skip_producer(network: Network, layer: Layer) -> bool:
    """Let a permutation read what the permutation before it reads."""
    order = axis_order(layer)
    if order is None:
        return False
    between = first_input(layer)
    first = between.producer
    earlier = axis_order(first)
    if earlier is None or not may_absorb(layer, first):
        return False
    source = first_input(first)
    if not (
        source.info.is_type_space_match(between.info)
        and between.info.is_type_space_match(layer.output.info)
    ):
        return False
    combined = tuple(earlier[axis] for axis in order)
    return rewire(network, layer, [source], descriptor_of_order(layer, combined))


def _remove_identity(network: Network, layer: Layer) -> bool:
    order = axis_order(layer)
    if order is None or order != tuple(range(len(order))):
        return False
    source = first_input(layer)
    if source.info != layer.output.info:
        return False
    bypass(network, layer, source)
    return True
