# SPDX-License-Identifier: MIT
"""Layers that move no element: merged reshapes, permutations as reshapes, unneeded broadcasts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from armnn._symbolic import differ_for_other_shapes
from armnn.graph import Layer, Network
from armnn.layers.reshaping import BroadcastToDescriptor, ReshapeDescriptor
from armnn.optimizer.passes._edits import (
    awaits_parameters,
    bypass,
    first_input,
    may_absorb,
    replace_layer,
    rewire,
    walk,
)
from armnn.optimizer.passes.permutes import PERMUTATIONS, axis_order
from armnn.tensor import Shape


def merge_reshapes(network: Network) -> int:
    """Let each Reshape read the input of the one before.

    Arm NN: OptimizeConsecutiveReshapes. A Reshape that others read too stays for them.

    Returns:
        How many reshapes were skipped or taken out.
    """
    changes = 0
    for layer in walk(network, ReshapeDescriptor):
        while _skip_producer(network, layer):
            changes += 1
        changes += _remove_identity(network, layer)
    return changes


def _skip_producer(network: Network, layer: Layer) -> bool:
    descriptor = layer.descriptor
    if not isinstance(descriptor, ReshapeDescriptor):
        return False
    between = first_input(layer)
    first = between.producer
    if not isinstance(first.descriptor, ReshapeDescriptor) or not may_absorb(layer, first):
        return False
    source = first_input(first)
    if not (
        source.info.is_type_space_match(between.info)
        and between.info.is_type_space_match(layer.output.info)
    ):
        return False
    if layer.output.info.is_static:
        stated = replace(descriptor, target_shape=layer.output.info.static_shape, zero_copies=False)
        return rewire(network, layer, [source], stated)
    if descriptor.zero_copies and (awaits_parameters(layer) or 0 in descriptor.target_shape):
        return False  # it copies dimensions that only the reshape before it makes
    return rewire(network, layer, [source, *layer.inputs[1:]], descriptor)


def _remove_identity(network: Network, layer: Layer) -> bool:
    if not isinstance(layer.descriptor, ReshapeDescriptor):
        return False
    source = first_input(layer)
    if differ_for_other_shapes(source.info.shape, layer.output.info.shape):
        return False  # it changes something in other batches than one of 1
    if source.info != layer.output.info or not _says_one_shape(source.info.shape):
        return False
    bypass(network, layer, source)
    return True


def _says_one_shape(shape: Shape | None) -> bool:
    """Return whether a shape and an element count suffice.

    Two tensors of them have the same dimensions then.
    """
    if shape is None:
        return False
    unknown = sum(dim is None for dim in shape)
    return unknown == 0 or (unknown == 1 and 0 not in shape)


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
    has_several = [differ_for_other_shapes(dim, 1) or dim != 1 for dim in shape]
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


_BROADCASTING = (
    "Addition",
    "Comparison",
    "Division",
    "ElementwiseBinary",
    "LogicalBinary",
    "Maximum",
    "Minimum",
    "Multiplication",
    "Prelu",
    "Subtraction",
    "Where",
)


def delete_broadcast_to(network: Network) -> int:
    """Remove BroadcastTo before layers that broadcast themselves.

    (Arm NN: BroadcastToOptimizationLayer.) These layers broadcast by NumPy's rules. It must be
    known that the shape of their output stays. A BroadcastTo that others read too stays for them.

    Returns:
        How many inputs were replaced.
    """
    wide = [layer.output for layer in walk(network, BroadcastToDescriptor)]
    readers = dict.fromkeys(reader for value in wide for reader, _ in value.uses)
    return sum(
        _skip(network, layer, index)
        for layer in (walk(network) if readers else ())
        if layer in readers and layer.type in _BROADCASTING
        for index in range(len(layer.inputs))
    )


def _skip(network: Network, layer: Layer, index: int) -> bool:
    wide = layer.inputs[index]
    if wide is None or not isinstance(wide.producer.descriptor, BroadcastToDescriptor):
        return False
    if not layer.output.info.is_static:
        return False
    source = first_input(wide.producer)
    if not source.info.is_type_space_match(wide.info) or not may_absorb(layer, wide.producer):
        return False
    inputs = [*layer.inputs[:index], source, *layer.inputs[index + 1 :]]
    return rewire(network, layer, inputs, layer.descriptor)
