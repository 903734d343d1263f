# SPDX-License-Identifier: MIT
"""Layers with equal inputs and parameters, merged."""

from __future__ import annotations

from armnn._symbolic import differ_elsewhere
from armnn.graph import Layer, Network, Value
from armnn.optimizer.passes._pattern import discard_unread, walk


def squash_equal_siblings(network: Network) -> int:
    """Let readers of a layer read an older, equal one.

    Type, parameters, inputs and hint must be the same. (Arm NN: SquashEqualPermuteSiblings,
    ...Transpose..., ...Reshape...; here, of any type.)

    Returns:
        How many layers went.
    """
    first: dict[tuple[str, tuple[Value | None, ...]], list[Layer]] = {}
    changes = 0
    for layer in walk(network):
        if layer.type == "Debug":
            continue
        key = layer.type, layer.inputs
        siblings = first.get(key)
        if siblings is None:
            first[key] = [layer]  # as of most
            continue
        twin = next((each for each in siblings if _are_equal(each, layer)), None)
        if twin is None:
            siblings.append(layer)
            continue
        for ours, theirs in zip(layer.outputs, twin.outputs, strict=True):
            network.replace_uses(ours, theirs)
        discard_unread(network, layer.outputs)
        changes += 1
    return changes


def _are_equal(one: Layer, other: Layer) -> bool:
    """Return whether layers of one type and inputs are equal."""
    shapes = [tuple([info.shape for info in layer.output_infos]) for layer in (one, other)]
    if differ_elsewhere(*shapes):
        return False  # they are equal in a batch of 1 only
    return (
        one.descriptor == other.descriptor
        and one.output_infos == other.output_infos
        and one.requested == other.requested
        and one.backend_hint == other.backend_hint
    )
