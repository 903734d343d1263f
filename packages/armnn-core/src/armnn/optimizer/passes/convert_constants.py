# SPDX-License-Identifier: MIT
"""Conversions of constants, computed once."""

from __future__ import annotations

from armnn.graph import Layer, Network
from armnn.optimizer.passes._conversion import CONVERSIONS, converted_data, is_conversion
from armnn.optimizer.passes._pattern import bypass, first_input, walk


def convert_constants(network: Network) -> int:
    """Convert constants between Float32, Float16 and BFloat16.

    (Arm NN: ConvertConstantsFloatToHalf, ConvertConstantsHalfToFloat, and those of BFloat16.) It
    needs no backend, as ``fold_constants`` does.

    Returns:
        How many conversions were replaced by constants.
    """
    return sum(_convert(network, layer) for layer in walk(network, CONVERSIONS))


def _convert(network: Network, layer: Layer) -> bool:
    if not is_conversion(layer):
        return False
    data, target = first_input(layer).constant, layer.output.info.data_type
    if data is None:
        return False
    name = layer.name
    made = converted_data(data, target, saturate=False)
    constant = network.add_constant(made, layer.output.info, name=network.unique_name(name))
    bypass(network, layer, constant)
    network.rename(constant.producer, name)
    return True
