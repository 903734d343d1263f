# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import pytest

from armnn.graph import Layer, Network
from armnn.layers import LAYERS
from armnn.layers.recurrent import QLstmDescriptor, UnidirectionalSequenceLstmDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.biases import bias_steps

GATES = ("forget", "cell", "output")
WAYS = ("input_to", "recurrent_to")
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
    """Make a QLstm of one unit and one input.

    The input gate and the peepholes are absent.
    """
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


def sequence(data: DataType, weights: DataType, *, layer_norm: bool = False) -> Layer:
    """Make a sequence LSTM of one unit with coupled gates."""
    network = Network("test")
    shapes = {"input": (1, 1, 1), "output_state_in": (1, 1), "cell_state_in": (1, 1)}
    shapes |= {f"{way}_{gate}_weights": (1, 1) for way in WAYS for gate in GATES}
    biases = ("forget_gate_bias", "cell_bias", "output_gate_bias")
    shapes |= dict.fromkeys(biases, (1,))
    if layer_norm:
        shapes |= {f"{gate}_layer_norm_weights": (1,) for gate in GATES}
    values = []
    for slot in LAYERS["UnidirectionalSequenceLstm"].inputs:
        kind = DataType.SIGNED32 if slot.name in biases else weights
        kind = kind if "_to_" in slot.name or slot.name.endswith(("bias", "norm_weights")) else data
        if slot.name not in shapes:
            values.append(None)
            continue
        scale = SCALES.get(slot.name, 0.25) if kind.is_quantized else ()
        values.append(network.add_input(slot.name, TensorInfo(shapes[slot.name], kind, scale)))
    d = UnidirectionalSequenceLstmDescriptor(layer_norm_enabled=layer_norm)
    return network.add("UnidirectionalSequenceLstm", values, d)


@pytest.mark.parametrize(
    ("data", "weights", "layer_norm", "step"),
    [
        (DataType.QASYMM_S8, DataType.QSYMM_S8, False, 0.5 * 0.25),
        (DataType.FLOAT32, DataType.QSYMM_S8, False, 0.25),
        (DataType.FLOAT32, DataType.FLOAT32, False, 1.0),
        (DataType.FLOAT32, DataType.QSYMM_S8, True, 2 / 1024),
        (DataType.FLOAT32, DataType.FLOAT32, True, 1.0),
    ],
)
def test_floats_count_in_steps_of_one(
    data: DataType, weights: DataType, layer_norm: bool, step: float
) -> None:
    steps = bias_steps(sequence(data, weights, layer_norm=layer_norm), "forget_gate_bias")
    assert steps is not None
    assert steps.tolist() == [step]


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
