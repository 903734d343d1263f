# SPDX-License-Identifier: MIT
"""What one step of a Signed32 bias is worth, which has no scale of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armnn.layers.recurrent import QLstmDescriptor
from armnn_backend_ref.ops.recurrent import BIASES

if TYPE_CHECKING:
    from armnn.graph import Layer
    from armnn_backend_ref.ops import Array

_GATES = {bias: gate for gate, bias in BIASES.items()}

LAYER_NORM_STEPS = 1024
"""How many steps of a bias make one step of the layer normalisation's weights (Android)."""


def bias_steps(layer: Layer, name: str) -> Array | None:
    """Return the step of a bias, or one for each of its elements; None if it is no such bias.

    Args:
        layer: A layer with quantised data.
        name: The input that may be a bias; it is Signed32.
    """
    if name == "bias":
        return _scales(layer, "input") * _scales(layer, "weights")
    d = layer.descriptor
    if name == "projection_bias" and isinstance(d, QLstmDescriptor):
        return np.float32(d.hidden_state_scale) * _scales(layer, "projection_weights")
    if name not in _GATES:
        return None
    gate = _GATES[name]
    if isinstance(d, QLstmDescriptor) and d.layer_norm_enabled:
        return _scales(layer, f"{gate}_layer_norm_weights") / LAYER_NORM_STEPS
    return _scales(layer, "input") * _scales(layer, f"input_to_{gate}_weights")


def _scales(layer: Layer, name: str) -> Array:
    value = layer.input(name)
    return np.array([] if value is None else value.info.scales, np.float32)
