# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse

UNITS, INPUTS, BATCH = 4, 3, 2
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
def test_one_step(lite: Any, rng: np.random.Generator, activation: int) -> None:
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
def test_both_ways(lite: Any, rng: np.random.Generator, time_major: bool, merged: bool) -> None:
    cells = {**_cell(lite, rng, "forward_"), **_cell(lite, rng, "backward_")}
    options = {"fusedActivationFunction": TANH, "timeMajor": time_major, "mergeOutputs": merged}
    outputs = ["y"] if merged else ["y", "z"]
    inputs = ["x", *cells, None, None, None]
    op = lite.Op("BIDIRECTIONAL_SEQUENCE_RNN", inputs, outputs, options=options)
    shape = (5, BATCH, INPUTS) if time_major else (BATCH, 5, INPUTS)
    lite.check(op, cells, {"x": rng.normal(size=shape).astype(np.float32)}, outputs)


def test_an_auxiliary_input_is_refused(lite: Any, rng: np.random.Generator) -> None:
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
