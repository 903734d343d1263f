# SPDX-License-Identifier: MIT
"""Recurrent operators agree with LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse

UNITS, INPUTS = 4, 3


def _lstm(
    lite: Any, rng: np.random.Generator, *, input_gate: bool, stored: bool = False
) -> tuple[list[str | None], dict[str, Any]]:
    """Return the 20 inputs of an LSTM and its tensors."""
    names: list[str | None] = ["x", *(None,) * 19]
    tensors = {}
    for index in range(1, 16):
        if 9 <= index <= 11 or (index in (1, 5, 12) and not input_gate):
            continue
        shape = (UNITS,) if index >= 12 else (UNITS, INPUTS if index < 5 else UNITS)
        data = rng.normal(size=shape).astype(np.float32)
        tensors[f"t{index}"] = lite.constant(data)
        if stored and index < 12:
            steps = np.round(data * 50).astype(np.int8)
            tensors[f"t{index}"] = lite.constant(steps, scale=0.02)
        names[index] = f"t{index}"
    for index in (18, 19):
        tensors[f"t{index}"] = lite.Tensor(shape=(2, UNITS), is_variable=True)
        names[index] = f"t{index}"
    return names, tensors


@pytest.mark.parametrize("input_gate", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
def test_lstm(lite: Any, rng: np.random.Generator, input_gate: bool, time_major: bool) -> None:
    inputs, tensors = _lstm(lite, rng, input_gate=input_gate)
    options = {"fusedActivationFunction": 4, "timeMajor": time_major, "cellClip": 2.0}
    shape = (5, 2, INPUTS) if time_major else (2, 5, INPUTS)
    lite.check(
        lite.Op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, options=options),
        tensors,
        {"x": rng.normal(size=shape).astype(np.float32)},
        atol=1e-5,
    )


def test_int8_weights_are_near_litert(lite: Any, rng: np.random.Generator) -> None:
    inputs, tensors = _lstm(lite, rng, input_gate=True, stored=True)
    op = lite.Op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, options={"fusedActivationFunction": 4})
    x = rng.normal(size=(2, 5, INPUTS)).astype(np.float32)
    lite.check(op, tensors, {"x": x}, rtol=0.05, atol=0.05)


def test_the_state_starts_at_zero_in_every_run(lite: Any, rng: np.random.Generator) -> None:
    inputs, tensors = _lstm(lite, rng, input_gate=True)
    op = lite.Op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, options={"fusedActivationFunction": 4})
    x = rng.normal(size=(2, 1, INPUTS)).astype(np.float32)
    model = lite.build(op, {"x": lite.Tensor(shape=x.shape), **tensors, "y": lite.Tensor()})
    first, second = (lite.run(model, {"x": x})["y"] for _ in range(2))
    np.testing.assert_array_equal(first, second)


GATES = ("input", "forget", "cell", "output")


def _quantized_lstm(lite: Any, rng: np.random.Generator) -> tuple[list[str | None], dict[str, Any]]:
    """Return an 8-bit LSTM's inputs and tensors.

    Its cell state has 16 bits.
    """
    names: list[str | None] = ["x", *(None,) * 23]
    tensors: dict[str, Any] = {}
    x_scale, state_scale, weight_scale = 0.02, 1 / 128, 0.01
    for gate in range(4):
        for index, columns in ((1 + gate, INPUTS), (5 + gate, UNITS)):
            data = rng.integers(-127, 128, (UNITS, columns)).astype(np.int8)
            tensors[f"t{index}"] = lite.constant(data, scale=weight_scale)
            names[index] = f"t{index}"
        bias = rng.integers(-2000, 2000, UNITS).astype(np.int32)
        tensors[f"t{12 + gate}"] = lite.constant(bias, scale=x_scale * weight_scale)
        names[12 + gate] = f"t{12 + gate}"
    tensors["h"] = lite.Tensor("int8", (2, UNITS), scale=state_scale, is_variable=True)
    tensors["c"] = lite.Tensor("int16", (2, UNITS), scale=2.0**-11, is_variable=True)
    names[18], names[19] = "h", "c"
    tensors["x"] = lite.Tensor("int8", (2, 6, INPUTS), scale=x_scale, zero_point=3)
    tensors["y"] = lite.Tensor("int8", (2, 6, UNITS), scale=state_scale)
    for index in range(5):  # what a run time needs beside: the last one is the state's
        scale = state_scale if index == 4 else 1.0
        tensors[f"m{index}"] = lite.Tensor("int8", (0,), scale=scale)
    return names, tensors


def test_integers_throughout_are_near_litert(lite: Any, rng: np.random.Generator) -> None:
    inputs, tensors = _quantized_lstm(lite, rng)
    places = list(tensors)

    def add_intermediates(model: Any) -> None:
        model.subgraphs[0].operators[0].intermediates = [places.index(f"m{i}") for i in range(5)]

    options = {"fusedActivationFunction": 4}
    op = lite.Op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, options=options, version=3)
    model = lite.build(op, tensors, edit=add_intermediates)
    x = rng.integers(-128, 128, (2, 6, INPUTS)).astype(np.int8)
    ours, theirs = (run(model, {"x": x})["y"].astype(int) for run in (lite.run, lite.run_litert))
    assert np.ptp(theirs) > 100
    assert np.abs(ours - theirs).max() <= 2


def test_activations_of_plain_integers_are_refused(lite: Any, rng: np.random.Generator) -> None:
    inputs, tensors = _lstm(lite, rng, input_gate=True)
    tensors |= {"x": lite.Tensor("int32", (2, 1, INPUTS)), "y": lite.Tensor()}
    with pytest.raises(UnsupportedOperatorError, match="its activations are Signed32"):
        parse(lite.build(lite.Op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs), tensors))


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("merged", [False, True])
def test_both_ways(lite: Any, rng: np.random.Generator, time_major: bool, merged: bool) -> None:
    names: list[str | None] = ["x", *(None,) * 47]
    tensors = {}
    for way, first in enumerate((1, 18)):
        for index in (*range(8), *range(11, 15)):
            shape = (UNITS,) if index >= 11 else (UNITS, INPUTS if index < 4 else UNITS)
            name = names[first + index] = f"t{first + index}"
            tensors[name] = lite.constant(rng.normal(size=shape).astype(np.float32))
        for state in (35 + 2 * way, 36 + 2 * way):
            name = names[state] = f"s{state}"
            tensors[name] = lite.Tensor(shape=(2, UNITS), is_variable=True)
    options = {"fusedActivationFunction": 4, "timeMajor": time_major}
    apart = lite.Op("BIDIRECTIONAL_SEQUENCE_LSTM", names, ["y", "z"], options=options)
    x = rng.normal(size=(5, 2, INPUTS) if time_major else (2, 5, INPUTS)).astype(np.float32)
    results = lite.check(apart, tensors, {"x": x}, ["y", "z"], atol=1e-5)
    if merged:  # not by LiteRT: its merged outputs differ from its own two, batch first
        op = lite.Op(
            "BIDIRECTIONAL_SEQUENCE_LSTM", names, options={**options, "mergeOutputs": True}
        )
        tensors |= {"x": lite.Tensor(shape=x.shape), "y": lite.Tensor()}
        both = lite.run(lite.build(op, tensors), {"x": x})["y"]
        np.testing.assert_array_equal(both, np.concatenate([results["y"], results["z"]], 2))


def test_an_auxiliary_input_is_refused(lite: Any) -> None:
    names: list[str | None] = ["x", *(None,) * 38, "x", *(None,) * 8]
    tensors = {"x": lite.Tensor(shape=(2, 5, INPUTS)), "y": lite.Tensor(), "z": lite.Tensor()}
    op = lite.Op("BIDIRECTIONAL_SEQUENCE_LSTM", names, ["y", "z"])
    with pytest.raises(UnsupportedOperatorError, match="it has an auxiliary input"):
        parse(lite.build(op, tensors, outputs=["y", "z"]))


@pytest.mark.parametrize("input_gate", [False, True])
def test_one_step(lite: Any, rng: np.random.Generator, input_gate: bool) -> None:
    inputs, tensors = _lstm(lite, rng, input_gate=input_gate)
    op = lite.Op("LSTM", inputs, options={"fusedActivationFunction": 4})
    x = rng.normal(size=(2, INPUTS)).astype(np.float32)
    lite.check(op, tensors, {"x": x}, atol=1e-5)


def test_one_step_with_its_weights_in_one_matrix_is_refused(lite: Any) -> None:
    tensors = {"x": lite.Tensor(shape=(2, INPUTS)), "y": lite.Tensor()}
    op = lite.Op("LSTM", ["x"], options={"kernelType": 1})
    with pytest.raises(UnsupportedOperatorError, match="whose weights are in one matrix"):
        parse(lite.build(op, tensors))


BATCH = 2
RELU, TANH = 1, 4


def _cell(lite: Any, rng: np.random.Generator, prefix: str = "") -> dict[str, Any]:
    """Return the weights, bias and state of a cell."""
    shapes = {"w": (UNITS, INPUTS), "r": (UNITS, UNITS), "b": (UNITS,)}
    tensors = {
        prefix + name: lite.constant(rng.normal(size=shape).astype(np.float32))
        for name, shape in shapes.items()
    }
    return tensors | {prefix + "h": lite.Tensor(shape=(BATCH, UNITS), is_variable=True)}


@pytest.mark.parametrize("activation", [RELU, TANH])
def test_one_step_of_an_rnn(lite: Any, rng: np.random.Generator, activation: int) -> None:
    cell = _cell(lite, rng)
    op = lite.Op("RNN", ["x", *cell], options={"fusedActivationFunction": activation})
    lite.check(op, cell, {"x": rng.normal(size=(BATCH, INPUTS)).astype(np.float32)})


@pytest.mark.parametrize("time_major", [False, True])
def test_a_sequence(lite: Any, rng: np.random.Generator, time_major: bool) -> None:
    cell = _cell(lite, rng)
    options = {"fusedActivationFunction": TANH, "timeMajor": time_major}
    op = lite.Op("UNIDIRECTIONAL_SEQUENCE_RNN", ["x", *cell], options=options)
    shape = (5, BATCH, INPUTS) if time_major else (BATCH, 5, INPUTS)
    lite.check(op, cell, {"x": rng.normal(size=shape).astype(np.float32)})


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("merged", [False, True])
def test_an_rnn_both_ways(
    lite: Any, rng: np.random.Generator, time_major: bool, merged: bool
) -> None:
    cells = {**_cell(lite, rng, "forward_"), **_cell(lite, rng, "backward_")}
    options = {"fusedActivationFunction": TANH, "timeMajor": time_major, "mergeOutputs": merged}
    outputs = ["y"] if merged else ["y", "z"]
    inputs = ["x", *cells, None, None, None]
    op = lite.Op("BIDIRECTIONAL_SEQUENCE_RNN", inputs, outputs, options=options)
    shape = (5, BATCH, INPUTS) if time_major else (BATCH, 5, INPUTS)
    lite.check(op, cells, {"x": rng.normal(size=shape).astype(np.float32)}, outputs)


def test_an_auxiliary_input_of_an_rnn_is_refused(lite: Any, rng: np.random.Generator) -> None:
    cells = {**_cell(lite, rng, "forward_"), **_cell(lite, rng, "backward_")}
    op = lite.Op("BIDIRECTIONAL_SEQUENCE_RNN", ["x", *cells, "x", None, None], ["y", "z"])
    tensors = {"x": lite.Tensor(shape=(BATCH, 5, INPUTS)), **cells}
    tensors |= {"y": lite.Tensor(), "z": lite.Tensor()}
    with pytest.raises(UnsupportedOperatorError, match="it has an auxiliary input"):
        parse(lite.build(op, tensors, outputs=["y", "z"]))


def test_integer_activations_are_refused(lite: Any, rng: np.random.Generator) -> None:
    cell = _cell(lite, rng)
    tensors = {"x": lite.Tensor("int8", (BATCH, INPUTS), scale=0.1), **cell, "y": lite.Tensor()}
    with pytest.raises(UnsupportedOperatorError, match="its activations are QAsymmS8"):
        parse(lite.build(lite.Op("RNN", ["x", *cell]), tensors))


def _svdf(
    lite: Any, rng: np.random.Generator, rank: int, *, stored: bool = False
) -> dict[str, Any]:
    filters, memory = UNITS * rank, 5
    features = rng.normal(size=(filters, INPUTS)).astype(np.float32)
    times = rng.normal(size=(filters, memory)).astype(np.float32)
    tensors = {"f": lite.constant(features), "t": lite.constant(times)}
    if stored:
        tensors = {
            name: lite.constant(np.round(data * 40).clip(-127, 127).astype(np.int8), scale=0.025)
            for name, data in (("f", features), ("t", times))
        }
    tensors["b"] = lite.constant(rng.normal(size=UNITS).astype(np.float32))
    return tensors | {"s": lite.Tensor(shape=(BATCH, filters * memory), is_variable=True)}


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("activation", [0, RELU])
@pytest.mark.parametrize("bias", [False, True])
def test_svdf(lite: Any, rng: np.random.Generator, rank: int, activation: int, bias: bool) -> None:
    tensors = _svdf(lite, rng, rank)
    inputs = ["x", "f", "t", "b" if bias else None, "s"]
    op = lite.Op("SVDF", inputs, options={"rank": rank, "fusedActivationFunction": activation})
    lite.check(op, tensors, {"x": rng.normal(size=(BATCH, INPUTS)).astype(np.float32)})


def test_svdf_goes_on_from_a_state_that_is_an_input(lite: Any, rng: np.random.Generator) -> None:
    tensors = _svdf(lite, rng, 2)
    x, state = (
        rng.normal(size=shape).astype(np.float32) for shape in ((BATCH, INPUTS), (BATCH, 40))
    )
    tensors |= {"x": lite.Tensor(shape=x.shape), "s": lite.Tensor(shape=state.shape)}
    tensors |= {"y": lite.Tensor()}
    op = lite.Op("SVDF", ["x", "f", "t", "b", "s"], options={"rank": 2})
    results = lite.run(lite.build(op, tensors, ["x", "s"]), {"x": x, "s": state})
    new = np.einsum("bi,fi->bf", x, tensors["f"].data)
    steps = np.concatenate([state.reshape(BATCH, 8, 5)[:, :, 1:], new[:, :, None]], 2)
    sums = np.einsum("bfm,fm->bf", steps, tensors["t"].data).reshape(BATCH, UNITS, 2).sum(2)
    np.testing.assert_allclose(results["y"], sums + tensors["b"].data, 1e-5, 1e-5)


def test_int8_weights_of_svdf_are_near_litert(lite: Any, rng: np.random.Generator) -> None:
    tensors = _svdf(lite, rng, 1, stored=True)
    # What LiteRT keeps while it rounds the input: sums, rounded input, factors, times and rows.
    tensors["s"] = lite.Tensor(shape=(BATCH, 20), is_variable=True)
    op = lite.Op("SVDF", ["x", "f", "t", "b", "s"], options={"rank": 1}, version=2)
    x = rng.normal(size=(BATCH, INPUTS)).astype(np.float32)
    lite.check(op, tensors, {"x": x}, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("rank", [0, 3])
def test_a_rank_that_does_not_divide_the_filters_is_refused(
    lite: Any, rng: np.random.Generator, rank: int
) -> None:
    tensors = {"x": lite.Tensor(shape=(BATCH, INPUTS)), **_svdf(lite, rng, 1)}
    op = lite.Op("SVDF", ["x", "f", "t", "b", "s"], options={"rank": rank})
    with pytest.raises(ParseError, match=rf"4 filters with 5 steps cannot be of rank {rank}"):
        parse(lite.build(op, tensors | {"y": lite.Tensor()}))
