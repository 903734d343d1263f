# SPDX-License-Identifier: MIT
"""Recurrent operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.layers.recurrent import UnidirectionalSequenceLstmDescriptor
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import RefusedError
from armnn_parser_tflite.weights import real_like

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_tflite.operation import Operation

_INPUTS = {
    "input": 0,
    "output_state_in": 18,
    "cell_state_in": 19,
    "input_to_forget_weights": 2,
    "input_to_cell_weights": 3,
    "input_to_output_weights": 4,
    "recurrent_to_forget_weights": 6,
    "recurrent_to_cell_weights": 7,
    "recurrent_to_output_weights": 8,
    "forget_gate_bias": 13,
    "cell_bias": 14,
    "output_gate_bias": 15,
    "input_to_input_weights": 1,
    "recurrent_to_input_weights": 5,
    "input_gate_bias": 12,
    "cell_to_input_weights": 9,
    "cell_to_forget_weights": 10,
    "cell_to_output_weights": 11,
    "projection_weights": 16,
    "projection_bias": 17,
    "input_layer_norm_weights": 20,
    "forget_layer_norm_weights": 21,
    "cell_layer_norm_weights": 22,
    "output_layer_norm_weights": 23,
}
"""The inputs in the order of the layer, and where the operator has them."""


@operator("UNIDIRECTIONAL_SEQUENCE_LSTM", newest=4)
def unidirectional_sequence_lstm(operation: Operation) -> Value:
    """Add UnidirectionalSequenceLstm; the states start at zero in every run."""
    options = operation.options("UnidirectionalSequenceLSTMOptions")
    value = operation.input()
    if not value.info.data_type.is_float:
        raise RefusedError("its activations are quantised")
    inputs = []
    for name, index in _INPUTS.items():
        given = operation.optional_input(index)
        inputs.append(given and real_like(operation, given, value, name))
    descriptor = UnidirectionalSequenceLstmDescriptor(
        activation_func=options.integer("FusedActivationFunction"),
        clipping_thres_cell=options.real("CellClip"),
        clipping_thres_proj=options.real("ProjClip"),
        cifg_enabled=not operation.has_input(_INPUTS["input_to_input_weights"]),
        peephole_enabled=operation.has_input(_INPUTS["cell_to_output_weights"]),
        projection_enabled=operation.has_input(_INPUTS["projection_weights"]),
        layer_norm_enabled=operation.has_input(_INPUTS["forget_layer_norm_weights"]),
        time_major=options.flag("TimeMajor"),
    )
    layer = operation.network.add(
        "UnidirectionalSequenceLstm", inputs, descriptor, name=operation.layer_name()
    )
    return layer.outputs[-1]
