# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np
import pytest

from armnn.errors import ExecutionError
from armnn.layers.sequence import (
    GruDescriptor,
    ReverseSequenceDescriptor,
    RnnDescriptor,
    SequenceLstmDescriptor,
)
from armnn.types import ActivationFunction, DataType, SequenceDirection

STEPS, BATCH, SIZE, UNITS = 5, 3, 4, 6
WAYS = {
    SequenceDirection.FORWARD: "forward",
    SequenceDirection.REVERSE: "reverse",
    SequenceDirection.BIDIRECTIONAL: "bidirectional",
}
RELU, SIGMOID, TANH = ActivationFunction.RELU, ActivationFunction.SIGMOID, ActivationFunction.TANH
LEAKY, HARD = ActivationFunction.LEAKY_RELU, ActivationFunction.HARD_SIGMOID


def operands(gates, ways, seed=0):
    """Return input, weights, recurrent weights and bias."""
    rng = np.random.default_rng(seed)
    shapes = [
        (STEPS, BATCH, SIZE),
        (ways, gates * UNITS, SIZE),
        (ways, gates * UNITS, UNITS),
        (ways, 2 * gates * UNITS),
    ]
    return [rng.normal(0, 0.6, shape).astype(np.float32) for shape in shapes]


def states(ways, seed=1):
    return np.random.default_rng(seed).normal(size=(ways, BATCH, UNITS)).astype(np.float32)


def assert_all_close(results, expected):
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=2e-6)


LENGTHS = [None, np.int32([5, 2, 1])]


@pytest.mark.parametrize("direction", WAYS, ids=lambda direction: direction.arm_name)
@pytest.mark.parametrize("lengths", LENGTHS, ids=["whole", "ragged"])
def test_rnn_agrees_with_onnxruntime(compute, onnx_run, direction, lengths):
    d = RnnDescriptor(direction=direction, time_major=True)
    given = [*operands(1, d.num_directions), lengths, states(d.num_directions)]
    expected = onnx_run("RNN", *given, outputs=2, hidden_size=UNITS, direction=WAYS[direction])
    assert_all_close(compute(d, *given), expected)


@pytest.mark.parametrize("direction", WAYS, ids=lambda direction: direction.arm_name)
@pytest.mark.parametrize("lengths", LENGTHS, ids=["whole", "ragged"])
@pytest.mark.parametrize("linear_before_reset", [False, True])
def test_gru_agrees_with_onnxruntime(compute, onnx_run, direction, lengths, linear_before_reset):
    d = GruDescriptor(direction=direction, time_major=True, linear_before_reset=linear_before_reset)
    given = [*operands(3, d.num_directions), lengths, states(d.num_directions)]
    expected = onnx_run(
        "GRU",
        *given,
        outputs=2,
        hidden_size=UNITS,
        direction=WAYS[direction],
        linear_before_reset=int(linear_before_reset),
    )
    assert_all_close(compute(d, *given), expected)


@pytest.mark.parametrize("direction", WAYS, ids=lambda direction: direction.arm_name)
@pytest.mark.parametrize("lengths", LENGTHS, ids=["whole", "ragged"])
@pytest.mark.parametrize("peepholes", [False, True])
def test_lstm_agrees_with_onnxruntime(compute, onnx_run, direction, lengths, peepholes):
    d = SequenceLstmDescriptor(direction=direction, time_major=True)
    ways = d.num_directions
    weights = np.random.default_rng(4).normal(size=(ways, 3 * UNITS)).astype(np.float32)
    given = [
        *operands(4, ways), lengths, states(ways), states(ways, 2), weights if peepholes else None
    ]  # fmt: skip
    expected = onnx_run("LSTM", *given, outputs=3, hidden_size=UNITS, direction=WAYS[direction])
    assert_all_close(compute(d, *given), expected)


def test_a_coupled_gate_agrees_with_onnxruntime(compute, onnx_run):
    given = [*operands(4, 1), None, None, None, None]
    expected = onnx_run("LSTM", *given[:4], outputs=3, hidden_size=UNITS, input_forget=1)
    d = SequenceLstmDescriptor(time_major=True, input_forget=True)
    assert_all_close(compute(d, *given), expected)


def test_activations_and_their_parameters_go_with_their_direction(compute, onnx_run):
    d = GruDescriptor(
        direction=SequenceDirection.BIDIRECTIONAL,
        time_major=True,
        activations=(SIGMOID, RELU, HARD, LEAKY),
        activation_a=(1.0, 1.0, 0.3, 0.1),
        activation_b=(1.0, 1.0, 0.4, 0.0),
    )
    given = operands(3, 2)
    expected = onnx_run(
        "GRU",
        *given,
        outputs=2,
        hidden_size=UNITS,
        direction="bidirectional",
        activations=["Sigmoid", "Relu", "HardSigmoid", "LeakyRelu"],
        activation_alpha=[0.3, 0.1],
        activation_beta=[0.4],
    )
    assert_all_close(compute(d, *given, None, None), expected)


def test_activations_said_once_hold_for_both_directions(compute):
    both = {"direction": SequenceDirection.BIDIRECTIONAL, "time_major": True}
    given = [*operands(1, 2), None, None]
    once = compute(
        RnnDescriptor(activations=(LEAKY,), activation_a=(0.5,), activation_b=(0.0,), **both),
        *given,
    )
    twice = compute(
        RnnDescriptor(
            activations=(LEAKY, LEAKY), activation_a=(0.5, 0.5), activation_b=(0.0, 0.0), **both
        ),
        *given,
    )
    np.testing.assert_array_equal(once[0], twice[0])


@pytest.mark.parametrize("kind", [RnnDescriptor, GruDescriptor, SequenceLstmDescriptor])
def test_what_enters_an_activation_is_clipped(compute, onnx_run, kind):
    name = {RnnDescriptor: "RNN", GruDescriptor: "GRU", SequenceLstmDescriptor: "LSTM"}[kind]
    x, *weights = (20 * array for array in operands(kind.gates, 1))
    given = [x[:1], *weights]  # later on onnxruntime's LSTM does not clip the cell
    absent = [None] * (4 if kind is SequenceLstmDescriptor else 2)
    clipped = compute(kind(time_major=True, clip=0.5), *given, *absent)
    free = compute(kind(time_major=True), *given, *absent)
    assert not np.allclose(clipped[0], free[0])
    expected = onnx_run(name, *given, outputs=len(clipped), hidden_size=UNITS, clip=0.5)
    assert_all_close(clipped, expected)


def test_the_cell_is_clipped_where_it_enters_its_activation(compute):
    x, memory = np.zeros((1, 1, 1)), np.full((1, 1, 1), 10.0)
    weights = np.zeros((1, 4, 1))
    d = SequenceLstmDescriptor(clip=2.0)
    output, _, cell = compute(d, x, weights, weights, None, None, None, memory, None)
    assert cell.item() == 5  # half of it is kept
    assert output.item() == pytest.approx(0.5 * math.tanh(2))


@pytest.mark.parametrize("lengths", LENGTHS, ids=["whole", "ragged"])
def test_batch_major_is_the_same_with_axes_moved(compute, lengths):
    ways = {"direction": SequenceDirection.BIDIRECTIONAL}
    x, *weights = operands(4, 2)
    memory = states(2), states(2, 2)
    output, h, c = compute(
        SequenceLstmDescriptor(time_major=True, **ways), x, *weights, lengths, *memory, None
    )
    turned = [state.swapaxes(0, 1) for state in memory]
    results = compute(
        SequenceLstmDescriptor(**ways), x.swapaxes(0, 1), *weights, lengths, *turned, None
    )
    np.testing.assert_array_equal(results[0], output.transpose(2, 0, 1, 3))
    np.testing.assert_array_equal(results[1], h.swapaxes(0, 1))
    np.testing.assert_array_equal(results[2], c.swapaxes(0, 1))


def test_without_steps_the_state_stays(compute):
    _, weights, recurrent, bias = operands(1, 1)
    x, state = np.zeros((0, BATCH, SIZE), np.float32), states(1)
    output, last = compute(RnnDescriptor(time_major=True), x, weights, recurrent, bias, None, state)
    assert output.shape == (0, 1, BATCH, UNITS)
    np.testing.assert_array_equal(last, state)


@pytest.mark.parametrize(
    ("data_type", "tolerance"), [(DataType.FLOAT16, 2e-3), (DataType.BFLOAT16, 2e-2)]
)
def test_halves_are_remembered_in_single_precision(run_layer, data_type, tolerance):
    given = [array.astype(data_type.numpy_dtype) for array in operands(3, 1)]
    wide = [array.astype(np.float32) for array in given]
    (output, last), (expected, _) = (
        run_layer("Gru", [arrays[0]], GruDescriptor(time_major=True), constants=arrays[1:])
        for arrays in (given, wide)
    )
    assert output.dtype == last.dtype == data_type.numpy_dtype
    np.testing.assert_allclose(output.astype(np.float32), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("batch_axis", "time_axis"), [(1, 0), (0, 1)])
def test_the_first_steps_are_reversed(compute, onnx_run, batch_axis, time_axis):
    x = np.arange(4 * 4 * 2, dtype=np.float32).reshape(4, 4, 2)
    lengths = np.int64([4, 2, 1, 3])
    d = ReverseSequenceDescriptor(batch_axis=batch_axis, time_axis=time_axis)
    expected = onnx_run("ReverseSequence", x, lengths, batch_axis=batch_axis, time_axis=time_axis)
    np.testing.assert_array_equal(compute(d, x, lengths), expected)


def test_inner_axes_are_reversed(compute):
    x = np.arange(12).reshape(2, 2, 3)
    y = compute(ReverseSequenceDescriptor(batch_axis=0, time_axis=-1), x, np.int32([0, 2]))
    assert y.tolist() == [[[0, 1, 2], [3, 4, 5]], [[7, 6, 8], [10, 9, 11]]]


@pytest.mark.parametrize("length", [-1, 4])
def test_a_length_beyond_the_item_is_refused(compute, length):
    with pytest.raises(ExecutionError, match=rf"length {length} is not .* expected 0 to 3"):
        compute(ReverseSequenceDescriptor(), np.zeros((3, 1)), np.int64([length]))
