# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import pytest

from armnn.graph import Layer, Network
from armnn.layers import LAYERS
from armnn.layers.recurrent import QLstmDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.biases import bias_steps

SCALES = {
    "input": 0.5,
    "output_state_in": 3.0,
    "cell_state_in": 5.0,
    "projection_weights": 0.125,
    "forget_layer_norm_weights": 2.0,
    "cell_layer_norm_weights": 4.0,
    "output_layer_norm_weights": 8.0,
}


def convolution(scales: tuple[float, ...]) -> Layer:
    network = Network("test")
    x = network.add_input("x", TensorInfo((1, 1, 1, 1), DataType.QASYMM_S8, 0.5))
    info = TensorInfo((len(scales), 1, 1, 1), DataType.QSYMM_S8, scales, axis=0)
    return network.add("Convolution2d", [x, network.add_input("weights", info)])


def q_lstm(d: QLstmDescriptor) -> Layer:
    """One unit, one input; the input gate and the peepholes are absent."""
    network = Network("test")
    values = []
    for slot in LAYERS["QLstm"].inputs:
        name = slot.name
        enabled = {"projection": d.projection_enabled, "layer_norm": d.layer_norm_enabled}
        unused = [part for part, is_enabled in enabled.items() if not is_enabled]
        if re.search("|".join(["to_input", "input_gate", "input_layer", "cell_to", *unused]), name):
            values.append(None)
            continue
        matrix = re.search("^input$|state_in|input_to|recurrent_to|projection_weights", name)
        bias = name.endswith("bias")
        kind = DataType.SIGNED32 if bias else DataType.QSYMM_S8
        info = TensorInfo((1, 1) if matrix else (1,), kind, () if bias else SCALES.get(name, 0.25))
        values.append(network.add_input(name, info))
    return network.add("QLstm", values, d)


def test_steps_of_a_bias_are_those_of_the_products() -> None:
    steps = bias_steps(convolution((0.25, 4.0)), "bias")
    assert steps is not None
    assert steps.tolist() == [0.125, 2]


def test_other_integers_are_no_biases() -> None:
    assert bias_steps(convolution((0.25,)), "indices") is None


@pytest.mark.parametrize("name", ["forget_gate_bias", "cell_bias", "output_gate_bias"])
def test_steps_of_a_gates_bias_are_those_of_its_products(name: str) -> None:
    steps = bias_steps(q_lstm(QLstmDescriptor(hidden_state_scale=2)), name)
    assert steps is not None
    assert steps.tolist() == [0.5 * 0.25]


def test_layer_normalisation_has_its_own_steps() -> None:
    layer = q_lstm(QLstmDescriptor(layer_norm_enabled=True))
    names = ("forget_gate_bias", "cell_bias", "output_gate_bias")
    steps = [bias_steps(layer, name) for name in names]
    assert [None if step is None else step.tolist() for step in steps] == [
        [2 / 1024],
        [4 / 1024],
        [8 / 1024],
    ]


def test_steps_of_a_projections_bias_are_those_of_its_products() -> None:
    steps = bias_steps(
        q_lstm(QLstmDescriptor(projection_enabled=True, hidden_state_scale=2)), "projection_bias"
    )
    assert steps is not None
    assert steps.tolist() == [0.25]
