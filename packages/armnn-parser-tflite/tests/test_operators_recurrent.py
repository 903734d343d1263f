# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import UnsupportedOperatorError
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


def test_quantised_activations_are_refused(lite: Any, rng: np.random.Generator) -> None:
    inputs, tensors = _lstm(lite, rng, input_gate=True)
    tensors["x"] = lite.Tensor("int8", (2, 1, INPUTS), scale=0.1)
    tensors["y"] = lite.Tensor("int8", (2, 1, UNITS), scale=0.1)
    with pytest.raises(UnsupportedOperatorError, match="its activations are quantised"):
        parse(lite.build(lite.Op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs), tensors))
