# SPDX-License-Identifier: MIT
"""The quantisation step of Signed32 biases, which have no scale."""

from __future__ import annotations

import numpy as np

from armnn.graph import Layer
from armnn.layers.recurrent import LstmDescriptor, QLstmDescriptor
from armnn_backend_ref.ops import Array
from armnn_backend_ref.ops._lstm_cell import BIASES

LAYER_NORM_STEPS = 1024
"""How many steps of a bias make one step of quantised layer normalisation's weights (Android)."""


def bias_steps(layer: Layer, name: str) -> Array | None:
    """Return the step of a bias, or one per element.

    None if the input is no Signed32 bias of a quantised layer. It is the product of the steps of
    the data and of the weights, of which float ones are one.

    Args:
        layer: A layer with quantised data or weights.
        name: The input that may be a bias; it is Signed32.
    """
    if name == "bias":
        return _scales(layer, "input") * _scales(layer, "weights")
    return _steps_of_cell(layer, name) if name.endswith("_bias") else None


def _steps_of_cell(layer: Layer, name: str) -> Array | None:
    d = layer.descriptor
    if name == "projection_bias":
        hidden = d.hidden_state_scale if isinstance(d, QLstmDescriptor) else 1
        return hidden * _scales(layer, "projection_weights")
    gate = next((gate for gate, bias in BIASES.items() if bias == name), None)
    if gate is None:
        return None
    if isinstance(d, (LstmDescriptor, QLstmDescriptor)) and d.layer_norm_enabled:
        weights = layer.input(f"{gate}_layer_norm_weights")
        quantized = weights is not None and weights.info.is_quantized
        return _scales(layer, f"{gate}_layer_norm_weights") / (LAYER_NORM_STEPS if quantized else 1)
    return _scales(layer, "input") * _scales(layer, f"input_to_{gate}_weights")


def _scales(layer: Layer, name: str) -> Array:
    value = layer.input(name)
    return np.array((value.info.scales if value else ()) or (1,), np.float64)
