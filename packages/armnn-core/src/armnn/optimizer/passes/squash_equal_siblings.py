# SPDX-License-Identifier: MIT
"""Layers with equal inputs and parameters, merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armnn.optimizer.passes._pattern import discard_unread, walk

if TYPE_CHECKING:
    from armnn.graph import Layer, Network


def squash_equal_siblings(network: Network) -> int:
    """Let readers of a layer read an older, equal one.

    Type, parameters, inputs and hint must be the same. (Arm NN: SquashEqualPermuteSiblings,
    ...Transpose..., ...Reshape...; here, of any type.)

    Returns:
        How many layers went.
    """
    first: dict[Any, Layer] = {}
    changes = 0
    for layer in walk(network):
        if layer.type == "Debug":
            continue
        key = (
            layer.type,
            layer.descriptor,
            layer.inputs,
            layer.output_infos,
            layer.requested,
            layer.backend_hint,
        )
        twin = first.setdefault(key, layer)
        if twin is layer:
            continue
        for ours, theirs in zip(layer.outputs, twin.outputs, strict=True):
            network.replace_uses(ours, theirs)
        discard_unread(network, layer.outputs)
        changes += 1
    return changes
