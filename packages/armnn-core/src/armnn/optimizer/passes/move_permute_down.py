# SPDX-License-Identifier: MIT
"""Permutations move behind elementwise layers, towards their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer, Network, Value
from armnn.optimizer.passes._pattern import (
    binary_operation,
    bypass,
    first_input,
    holds,
    only_reader,
    walk,
)
from armnn.optimizer.passes._permutation import PERMUTATIONS, axis_order, inverse

_ELEMENTWISE = ("Activation", "ElementwiseUnary", "FakeQuantization", "Floor")


def move_permute_down(network: Network) -> int:
    """Let element-wise layers read what the permutations before them read.

    All operands must be permuted alike, constants aside, and nothing else may read the permuted
    values. Arm NN moves permutations up (MovePermuteUp, MoveTransposeUp), which would part an
    activation from the convolution before it that a backend fuses it with; down, they meet each
    other as well.

    Returns:
        How many layers changed places with permutations.
    """
    if not holds(network, PERMUTATIONS):
        return 0
    return sum(_swap(network, layer) for layer in walk(network))


def _swap(network: Network, layer: Layer) -> bool:
    for value in layer.inputs:
        if value is not None and isinstance(value.producer.descriptor, PERMUTATIONS):
            break
    else:
        return False  # as of most
    if layer.type not in _ELEMENTWISE and binary_operation(layer) is None:
        return False
    output = layer.output
    undo, permutes = _operand_permutations(layer)
    shape = output.info.shape
    if undo is None or shape is None:
        return False
    if all(other.output.info.shape != shape for other in permutes):
        return False  # it would have to move more elements than now
    permute = permutes[0]
    inputs = [_unpermuted(network, value, undo) for value in layer.inputs]
    info = output.info.with_shape(shape[axis] for axis in undo)
    moved = network.add(
        layer.type, inputs, layer.descriptor, name=_spare(network, layer), outputs=[info]
    )
    behind = network.add(
        permute.type,
        [moved.output],
        permute.descriptor,
        name=_spare(network, permute),
        outputs=[output.info],
    )
    names = layer.name, permute.name
    moved.backend_hint, behind.backend_hint = layer.backend_hint, permute.backend_hint
    bypass(network, layer, behind.output)
    network.rename(moved, names[0])
    network.rename(behind, names[1])
    return True


def _operand_permutations(layer: Layer) -> tuple[tuple[int, ...] | None, list[Layer]]:
    """Return a layer's permutations, and the common inverse's layers."""
    values = [value for value in layer.inputs if value is not None]
    permutes = [value.producer for value in values if value.constant is None]
    kinds = dict.fromkeys((axis_order(permute), permute.backend_hint) for permute in permutes)
    order = axis_order(permutes[0]) if len(kinds) == 1 else None
    if order is None or any(value.info.is_per_axis for value in (*values, layer.output)):
        return None, []
    for permute in permutes:
        if only_reader(permute.output) is not layer:
            return None, []
        if not first_input(permute).info.is_type_space_match(permute.output.info):
            return None, []
    return inverse(order), permutes


def _unpermuted(network: Network, value: Value | None, undo: tuple[int, ...]) -> Value | None:
    """Return a permutation's input, or a constant permuted to match."""
    if value is None:
        return None
    if value.constant is None:
        return first_input(value.producer)
    data: NDArray[Any] = value.constant
    if data.size == 1:
        return value
    wide = data.reshape((1,) * (len(undo) - data.ndim) + data.shape).transpose(undo)
    return network.add_constant(
        np.ascontiguousarray(wide),
        value.info.with_shape(wide.shape),
        name=_spare(network, value.producer),
    )


def _spare(network: Network, layer: Layer) -> str:
    return network.unique_name(layer.name)
