# SPDX-License-Identifier: MIT
"""Permutations of axes of one element, replaced by reshapes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from armnn._symbolic import differ_elsewhere
from armnn.graph import Layer, Network
from armnn.layers.reshaping import ReshapeDescriptor
from armnn.optimizer.passes._pattern import first_input, replace_layer, walk
from armnn.optimizer.passes._permutation import PERMUTATIONS, axis_order
from armnn.tensor import Shape


def permute_as_reshape(network: Network) -> int:
    """Replace permutations that keep the elements' order by reshapes.

    (Arm NN: PermuteAsReshape, TransposeAsReshape.) At most one dimension may be unknown.

    Returns:
        How many permutations were replaced.
    """
    return sum(_replace(network, layer) for layer in walk(network, PERMUTATIONS))


def _moves_elements(order: Sequence[int], shape: Shape) -> bool:
    """Return whether two axes of several elements change places.

    A symbolic dimension counts as several elements, so that a batch of 1 is prepared as others are.
    """
    has_several = [differ_elsewhere(dim, 1) or dim != 1 for dim in shape]
    return any(
        order[behind] < order[before] and has_several[before] and has_several[behind]
        for before, behind in itertools.combinations(range(len(order)), 2)
    )


def _replace(network: Network, layer: Layer) -> bool:
    order = axis_order(layer)
    if order is None:
        return False
    source, output = first_input(layer), layer.output
    shape = output.info.shape
    if shape is None or not source.info.is_type_space_match(output.info):
        return False
    target = tuple(dim if isinstance(dim, int) else -1 for dim in shape)
    if target.count(-1) > 1 or _moves_elements(order, shape):
        return False
    return replace_layer(
        network, layer, "Reshape", [source], ReshapeDescriptor(target_shape=target)
    )
