# SPDX-License-Identifier: MIT
"""The layers that stay in Float32 beside 16 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from armnn.graph import Layer, Value
from armnn.optimizer.passes._edits import binary_operation
from armnn.types import BinaryOperation, DataType

_PRODUCTS: Final = ("ConvolutionInteger", "MatMulInteger")
"""The layers whose sums of integers 16 bits do not hold: Float16 ends at 65504."""

_INTEGERS: Final = (DataType.SIGNED32, DataType.SIGNED64)
_ELEMENTWISE: Final = ("Activation", "ElementwiseUnary", "Floor")


def exact_layers(order: Sequence[Layer]) -> set[Layer]:
    """Return the Float32 layers that need more than 16 bits.

    They compute on sums of integer products before these are scaled, or make nothing but such
    scales and integers; elementwise layers only, so that it costs little.

    Args:
        order: The layers in topological order.
    """
    exact = _on_sums(order)
    for layer in reversed(order):
        readers = [reader for value in layer.outputs for reader in value.consumers]
        if readers and _is_cheap(layer) and all(r in exact or _to_integers(r) for r in readers):
            exact.add(layer)
    return exact


def _on_sums(order: Sequence[Layer]) -> set[Layer]:
    """Return the layers between integer products and their scaling."""
    sums: set[Value] = set()
    found: set[Layer] = set()
    for layer in order:
        if layer.type in _PRODUCTS:
            sums.update(layer.outputs)
        elif any(value in sums for value in layer.inputs) and _is_cheap(layer):
            found.add(layer)
            scales = binary_operation(layer) in (BinaryOperation.MUL, BinaryOperation.DIV)
            if not scales or layer.output.info.data_type in _INTEGERS:
                sums.update(layer.outputs)
    return found


def _is_cheap(layer: Layer) -> bool:
    return (
        layer.type in (*_ELEMENTWISE, "Cast")
        or layer.spec.moves_data
        or binary_operation(layer) is not None
    )


def _to_integers(layer: Layer) -> bool:
    return layer.type == "Cast" and layer.output.info.data_type in _INTEGERS
