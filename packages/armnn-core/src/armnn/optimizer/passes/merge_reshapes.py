# SPDX-License-Identifier: MIT
"""Consecutive reshapes become one; a reshape that changes nothing goes."""

from __future__ import annotations

from dataclasses import replace

from armnn._symbolic import differ_elsewhere
from armnn.graph import Layer, Network
from armnn.layers.reshaping import ReshapeDescriptor
from armnn.optimizer.passes._pattern import (
    awaits_parameters,
    bypass,
    first_input,
    may_absorb,
    rewire,
    walk,
)
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
    if differ_elsewhere(source.info.shape, layer.output.info.shape):
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
