# SPDX-License-Identifier: MIT
"""Permute and Transpose as one operation: an order of axes."""

from __future__ import annotations

from armnn.graph import Layer
from armnn.layers.reshaping import PermuteDescriptor, TransposeDescriptor

PERMUTATIONS = (PermuteDescriptor, TransposeDescriptor)


def axis_order(layer: Layer) -> tuple[int, ...] | None:
    """Return a permutation's order of axes.

    It holds the input's axis for each of the output's; None for other layers.
    """
    descriptor = layer.descriptor
    if isinstance(descriptor, TransposeDescriptor):
        return descriptor.dim_mappings
    if isinstance(descriptor, PermuteDescriptor):
        return inverse(descriptor.dim_mappings)
    return None


def descriptor_of_order(
    layer: Layer, order: tuple[int, ...]
) -> PermuteDescriptor | TransposeDescriptor:
    """Return the descriptor of a permutation with that order."""
    if isinstance(layer.descriptor, TransposeDescriptor):
        return TransposeDescriptor(dim_mappings=order)
    return PermuteDescriptor(dim_mappings=inverse(order))


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """Return the order that undoes another one."""
    return tuple(order.index(axis) for axis in range(len(order)))
