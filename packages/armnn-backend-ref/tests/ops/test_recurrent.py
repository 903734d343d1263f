# SPDX-License-Identifier: MIT
"""LSTM layers agree with their equations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.layers import LAYERS
from armnn.layers.recurrent import (
    LstmActivation,
    LstmDescriptor,
    QLstmDescriptor,
    UnidirectionalSequenceLstmDescriptor,
)
from armnn.quantization import dequantize, quantize
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.ops.recurrent import BIASES, Cell, Storage, accumulated, clipped, stored

Array = NDArray[Any]
RunLayer = Callable[..., tuple[Array, ...]]

BATCH, INPUTS, UNITS, OUTPUTS = 2, 3, 5, 4
GATES = ("input", "forget", "cell", "output")
BIAS = {"cell": "cell_bias", **{gate: f"{gate}_gate_bias" for gate in GATES if gate != "cell"}}
FUNCTIONS: dict[int, Callable[[Array], Array]] = {
    0: lambda x: x,
    1: lambda x: np.maximum(x, 0),
    3: lambda x: np.clip(x, 0, 6),
    4: np.tanh,
    6: lambda x: 1 / (1 + np.exp(-x)),
}


def parameters(d: LstmDescriptor | QLstmDescriptor) -> dict[str, Array]:
    """Random parameters for what the descriptor asks for."""
    rng = np.random.default_rng(0)
    outputs = OUTPUTS if d.projection_enabled else UNITS
    shapes: dict[str, tuple[int, ...]] = {}
    for gate in GATES[d.cifg_enabled :]:
        shapes[f"input_to_{gate}_weights"] = (UNITS, INPUTS)
        shapes[f"recurrent_to_{gate}_weights"] = (UNITS, outputs)
        shapes[BIAS[gate]] = (UNITS,)
        if d.peephole_enabled and gate != "cell":
            shapes[f"cell_to_{gate}_weights"] = (UNITS,)
        if d.layer_norm_enabled:
            shapes[f"{gate}_layer_norm_weights"] = (UNITS,)
    if d.projection_enabled:
        shapes |= {"projection_weights": (OUTPUTS, UNITS), "projection_bias": (OUTPUTS,)}
    return {
        name: rng.uniform(-0.9, 0.9, shape).astype(np.float32) for name, shape in shapes.items()
    }


def definition(
    d: LstmDescriptor, p: Mapping[str, Array], x: Array, hidden: Array, cell: Array
) -> tuple[Array, Array]:
    """Compute one step in float64, gate by gate, as published."""
    function, sigmoid = FUNCTIONS[d.activation_func], FUNCTIONS[6]

    def entering(gate: str, seen: Array) -> Array:
        y = np.einsum("bi,ui->bu", x, p[f"input_to_{gate}_weights"].astype(np.float64))
        y += np.einsum("bo,uo->bu", hidden, p[f"recurrent_to_{gate}_weights"].astype(np.float64))
        if d.peephole_enabled and gate != "cell":
            y += p[f"cell_to_{gate}_weights"] * seen
        if d.layer_norm_enabled:
            y = (y - y.mean(1, keepdims=True)) / y.std(1, keepdims=True)
            y *= p[f"{gate}_layer_norm_weights"]
        return y + p[BIAS[gate]]

    forget = sigmoid(entering("forget", cell))
    write = 1 - forget if d.cifg_enabled else sigmoid(entering("input", cell))
    new = forget * cell + write * function(entering("cell", cell))
    if d.clipping_thres_cell:
        new = new.clip(-d.clipping_thres_cell, d.clipping_thres_cell)
    output = sigmoid(entering("output", new)) * function(new)
    if d.projection_enabled:
        output = output @ p["projection_weights"].T.astype(np.float64) + p["projection_bias"]
        if d.clipping_thres_proj:
            output = output.clip(-d.clipping_thres_proj, d.clipping_thres_proj)
    return output, new


def in_order(layer: str, named: Mapping[str, Any]) -> list[Any]:
    return [named.get(slot.name) for slot in LAYERS[layer].inputs[3:]]


def states(d: LstmDescriptor | QLstmDescriptor, *time: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(1)
    outputs = OUTPUTS if d.projection_enabled else UNITS
    shapes: Sequence[tuple[int, ...]] = [(*time, BATCH, INPUTS), (BATCH, outputs), (BATCH, UNITS)]
    x, hidden, cell = (rng.uniform(-0.9, 0.9, shape).astype(np.float32) for shape in shapes)
    return x, hidden, cell


@pytest.mark.parametrize(
    ("cifg", "peephole", "projection", "layer_norm"),
    list(itertools.product([False, True], repeat=4)),
)
def test_lstm_is_the_definition(
    run_layer: RunLayer, cifg: bool, peephole: bool, projection: bool, layer_norm: bool
) -> None:
    d = LstmDescriptor(
        activation_func=LstmActivation.TANH,
        cifg_enabled=cifg,
        peephole_enabled=peephole,
        projection_enabled=projection,
        layer_norm_enabled=layer_norm,
        clipping_thres_cell=0.5,
        clipping_thres_proj=0.4,
    )
    p, (x, hidden, cell) = parameters(d), states(d)
    expected_output, expected_cell = definition(d, p, x, hidden, cell)
    constants = in_order("Lstm", p)
    scratch, state, new_cell, output = run_layer("Lstm", [x, hidden, cell], d, constants=constants)
    assert output.dtype == np.float32
    np.testing.assert_allclose(output, expected_output, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(new_cell, expected_cell, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(state, output)
    assert scratch.shape == (BATCH, UNITS * (3 if cifg else 4))
    assert not scratch.any()


@pytest.mark.parametrize("activation", FUNCTIONS)
def test_each_activation_has_tensorflow_lites_number(run_layer: RunLayer, activation: int) -> None:
    d = LstmDescriptor(activation_func=activation)
    p, (x, hidden, cell) = parameters(d), states(d)
    expected, _ = definition(d, p, x, hidden, cell)
    (*_, output) = run_layer("Lstm", [x, hidden, cell], d, constants=in_order("Lstm", p))
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("time_major", [False, True])
def test_a_sequence_is_one_step_after_the_other(run_layer: RunLayer, time_major: bool) -> None:
    d = UnidirectionalSequenceLstmDescriptor(
        activation_func=LstmActivation.TANH, projection_enabled=True, time_major=time_major
    )
    p, (x, hidden, cell) = parameters(d), states(d, 6)
    expected = []
    last, last_cell = hidden, cell
    for moment in x:
        last, last_cell = definition(d, p, moment, last, last_cell)
        expected.append(last)
    given = x if time_major else np.ascontiguousarray(x.swapaxes(0, 1))
    constants = in_order("UnidirectionalSequenceLstm", p)
    state, new_cell, outputs = run_layer(
        "UnidirectionalSequenceLstm", [given, hidden, cell], d, constants=constants
    )
    seen = outputs if time_major else outputs.swapaxes(0, 1)
    np.testing.assert_allclose(seen, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(state, last, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(new_cell, last_cell, rtol=1e-4, atol=1e-5)


def test_a_sequence_of_no_steps_keeps_its_states(run_layer: RunLayer) -> None:
    d = UnidirectionalSequenceLstmDescriptor(activation_func=LstmActivation.TANH, time_major=True)
    p, (x, hidden, cell) = parameters(d), states(d, 0)
    constants = in_order("UnidirectionalSequenceLstm", p)
    state, new_cell, outputs = run_layer(
        "UnidirectionalSequenceLstm", [x, hidden, cell], d, constants=constants
    )
    np.testing.assert_array_equal(state, hidden)
    np.testing.assert_array_equal(new_cell, cell)
    assert outputs.shape == (0, BATCH, UNITS)


def test_equal_gates_are_normalized_to_their_bias(run_layer: RunLayer) -> None:
    d = LstmDescriptor(activation_func=LstmActivation.TANH, layer_norm_enabled=True)
    p = {name: np.ones_like(values) for name, values in parameters(d).items()}
    ones = [np.ones((1, INPUTS), np.float32), np.ones((1, UNITS), np.float32)]
    _, _, cell, _ = run_layer("Lstm", [*ones, ones[1]], d, constants=in_order("Lstm", p))
    gate = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(cell, gate + (1 - gate) * np.tanh(1), rtol=1e-5)


def stored_values(values: Array, info: TensorInfo) -> tuple[Array, TensorInfo]:
    return quantize(values, info), info


def real(pair: tuple[Array, TensorInfo]) -> Array:
    return dequantize(*pair)


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("cifg", [False, True])
def test_q_lstm_is_lstm_on_real_values(
    run_layer: RunLayer, cifg: bool, projection: bool, layer_norm: bool
) -> None:
    scales = {f"{gate}_intermediate_scale": 2.0**-13 for gate in GATES}
    d = QLstmDescriptor(
        cifg_enabled=cifg,
        peephole_enabled=True,
        projection_enabled=projection,
        layer_norm_enabled=layer_norm,
        hidden_state_scale=1 / 128,
        **scales,
    )
    p, (x, hidden, cell) = parameters(d), states(d)
    q: dict[str, Any] = {}
    for name, values in p.items():
        if name.endswith("bias"):
            step = 1 / 128 / 128
            if layer_norm and name != "projection_bias":
                step = 2.0**-15 / 1024
            q[name] = np.round(values / step).astype(np.int32)
        elif "layer_norm" in name or name.startswith("cell_to"):
            q[name] = stored_values(values, TensorInfo(values.shape, DataType.QSYMM_S16, 2.0**-15))
        else:
            q[name] = stored_values(values, TensorInfo(values.shape, DataType.QSYMM_S8, 1 / 128))
    operands = [
        stored_values(x, TensorInfo(x.shape, DataType.QASYMM_S8, 1 / 128, 0)),
        stored_values(hidden, TensorInfo(hidden.shape, DataType.QASYMM_S8, 1 / 128, 3)),
        stored_values(cell, TensorInfo(cell.shape, DataType.QSYMM_S16, 2.0**-14)),
    ]
    reals = {name: p[name] if name.endswith("bias") else real(q[name]) for name in p}
    if not layer_norm:  # the biases are those of the normalization
        reals |= {name: np.zeros_like(reals[name]) for name in BIAS.values() if name in reals}
    like = LstmDescriptor(
        activation_func=LstmActivation.TANH,
        cifg_enabled=cifg,
        peephole_enabled=True,
        projection_enabled=projection,
        layer_norm_enabled=layer_norm,
    )
    expected, expected_cell = definition(like, reals, *(real(pair) for pair in operands))
    state, new_cell, output = run_layer("QLstm", operands, d, constants=in_order("QLstm", q))
    np.testing.assert_allclose(dequantize(new_cell, operands[2][1]), expected_cell, atol=2e-3)
    saturated = real(stored_values(expected, operands[1][1]))
    np.testing.assert_allclose(dequantize(output, operands[1][1]), saturated, atol=2.5 / 128)
    np.testing.assert_array_equal(state, output)


def test_quantized_lstm_is_lstm_on_real_values(run_layer: RunLayer) -> None:
    like = LstmDescriptor(activation_func=LstmActivation.TANH, cifg_enabled=False)
    p, (x, hidden, cell) = parameters(like), states(like)
    q: dict[str, Any] = {}
    for name, values in p.items():
        if name.endswith("bias"):
            q[name] = np.round(values * 128 * 128).astype(np.int32)
        else:
            q[name] = stored_values(
                values, TensorInfo(values.shape, DataType.QASYMM_U8, 1 / 128, 128)
            )
    operands = [
        stored_values(x, TensorInfo(x.shape, DataType.QASYMM_U8, 1 / 128, 128)),
        stored_values(cell, TensorInfo(cell.shape, DataType.QSYMM_S16, 2.0**-11)),
        stored_values(hidden, TensorInfo(hidden.shape, DataType.QASYMM_U8, 1 / 128, 128)),
    ]
    reals = {name: p[name] if name.endswith("bias") else real(q[name]) for name in p}
    x, cell, hidden = (real(pair) for pair in operands)
    expected, expected_cell = definition(like, reals, x, hidden, cell)
    new_cell, output = run_layer("QuantizedLstm", operands, constants=in_order("QuantizedLstm", q))
    np.testing.assert_allclose(dequantize(new_cell, operands[1][1]), expected_cell, atol=2e-3)
    np.testing.assert_allclose(dequantize(output, operands[2][1]), expected, atol=1 / 128)


@pytest.mark.parametrize("data_type", [DataType.QASYMM_S8, DataType.QSYMM_S16])
@pytest.mark.parametrize(("scale", "zero_point"), [(0.1, 0), (2.0**-12, 0), (0.37, 100)])
def test_what_is_stored_is_what_quantizing_keeps(
    data_type: DataType, scale: float, zero_point: int
) -> None:
    x = np.random.default_rng(0).normal(0, 20, 1000).astype(np.float32)
    x[:4] = np.inf, -np.inf, 0.5 * scale, -0.5 * scale
    info = TensorInfo(x.shape, data_type, scale, zero_point)
    kept = stored(info)(x)
    np.testing.assert_array_equal(kept, dequantize(quantize(x, info), info))


def test_a_sum_is_stored_after_each_term() -> None:
    x, weights = np.float32([[0.4, 0.4, 0.4]]), np.ones((1, 3), np.float32)
    start = np.zeros(1, np.float32)
    whole = stored(TensorInfo(None, DataType.QSYMM_S16, 1.0))
    assert accumulated(start, x, weights, whole).tolist() == [[0]]
    np.testing.assert_allclose(accumulated(start, x, weights, None), [[1.2]], rtol=1e-6)
    assert start.tolist() == [0]


def test_no_terms_leave_what_there_was() -> None:
    start = np.float32([3])
    nothing = np.empty((2, 0), np.float32), np.empty((1, 0), np.float32)
    assert accumulated(start, *nothing, None).tolist() == [[3], [3]]
    whole = stored(TensorInfo(None, DataType.QSYMM_S16, 1.0))
    assert accumulated(start, *nothing, whole).tolist() == [[3], [3]]


def test_a_limit_of_zero_clips_nothing() -> None:
    x = np.float32([-3, 3])
    assert clipped(x, 0).tolist() == [-3, 3]
    assert clipped(x, 2).tolist() == [-2, 2]


def test_gates_that_stand_side_by_side_are_each_stored_in_their_own_steps() -> None:
    infos = {
        "forget": TensorInfo(None, DataType.QSYMM_S16, 1.0),
        "cell": TensorInfo(None, DataType.QSYMM_S16, 0.25, 2),
    }
    storage = Storage(sums=infos, each_term=True)
    x = np.float32([[0.4, 0.6, 0.4, 1e9]])
    store = storage.store_of_sums(["forget", "cell"], 2)
    assert store(x).tolist() == [[0, 1, 0.5, (32767 - 2) * 0.25]]
    assert storage.store_of_sums(["cell"], 4)(x).tolist() == [[0.5, 0.5, 0.5, (32767 - 2) * 0.25]]
    assert Storage().store_of_sums(["cell"], 4)(x) is x


@pytest.mark.parametrize("each_term", [False, True])
def test_parameters_are_left_as_they_are(each_term: bool) -> None:
    parameters = {}
    for gate, bias in BIASES.items():
        parameters[f"input_to_{gate}_weights"] = np.empty((1, 0), np.float32)
        parameters[f"recurrent_to_{gate}_weights"] = np.empty((1, 0), np.float32)
        parameters[f"cell_to_{gate}_weights"] = np.ones(1, np.float32)
        parameters[bias] = np.float32([0.5])
    cell = Cell(parameters=parameters, peephole=True, storage=Storage(each_term=each_term))
    state = np.ones((1, 1), np.float32)
    nothing = np.empty((1, 0), np.float32)
    first, second = (cell.step(nothing, nothing, state) for _ in range(2))
    assert [y.tolist() for y in first] == [y.tolist() for y in second]
    assert all(parameters[bias].tolist() == [0.5] for bias in BIASES.values())
