# SPDX-License-Identifier: MIT
"""Pairs of conversions that undo each other are removed."""

from __future__ import annotations

from armnn.graph import Layer, Network
from armnn.optimizer.passes._conversion import CONVERSIONS, is_conversion
from armnn.optimizer.passes._pattern import bypass, first_input, may_absorb, walk
from armnn.types import DataType


def cancel_inverse_conversions(network: Network) -> int:
    """Remove conversions that lead back to the type before.

    (Arm NN: OptimizeInverseConversionsFp16, OptimizeInverseConversionsFp32.) Between Float16 and
    Float32 both orders are removed, and so is the rounding in between; of Casts only those that
    widen first, as a Cast that narrows is in the model to round.

    Returns:
        How many conversions were removed.
    """
    return sum(_cancel(network, layer) for layer in walk(network, CONVERSIONS))


def _cancel(network: Network, layer: Layer) -> bool:
    if not is_conversion(layer):
        return False
    between = first_input(layer)
    first = between.producer
    if not is_conversion(first) or not may_absorb(layer, first):
        return False
    source = first_input(first)
    if source.info != layer.output.info or source.info == between.info:
        return False
    widens = between.info.data_type is DataType.FLOAT32
    if not widens and "Cast" in (layer.type, first.type):
        return False
    bypass(network, layer, source)
    return True
