# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import UnsupportedOperatorError
from armnn_parser_tflite.parser import parse

X = np.array([[-7.0, -2.5, -1.0, -0.25, 0.0, 0.25, 1.0, 2.5, 7.0]], np.float32)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("RELU", {}),
        ("RELU6", {}),
        ("RELU_N1_TO_1", {}),
        ("RELU_0_TO_1", {}),
        ("LEAKY_RELU", {"alpha": 0.3}),
        ("LOGISTIC", {}),
        ("TANH", {}),
        ("HARD_SWISH", {}),
        ("GELU", {"approximate": False}),
        ("GELU", {"approximate": True}),
        ("SQUARE", {}),
    ],
)
def test_activations_are_those_of_litert(lite: Any, name: str, options: dict[str, Any]) -> None:
    lite.check(lite.Op(name, ["x"], options=options), {}, {"x": X}, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "options", "scale", "zero_point"),
    [
        ("RELU", {}, 0.05, -128),
        ("RELU6", {}, 0.05, -10),
        ("LEAKY_RELU", {"alpha": 0.3}, 0.05, 3),
        ("LOGISTIC", {}, 1 / 256, -128),
        ("TANH", {}, 1 / 128, 0),
        ("HARD_SWISH", {}, 0.06, 5),
        ("GELU", {"approximate": False}, 0.06, 5),
    ],
)
def test_int8_activations_are_within_a_step_of_litert(
    lite: Any, name: str, options: dict[str, Any], scale: float, zero_point: int
) -> None:
    x = np.arange(-128, 128, dtype=np.int8).reshape(1, -1)
    tensors = {
        "x": lite.Tensor("int8", x.shape, scale=0.05, zero_point=7),
        "y": lite.Tensor("int8", x.shape, scale=scale, zero_point=zero_point),
    }
    version = 1 if name == "HARD_SWISH" else 2
    lite.check(lite.Op(name, ["x"], version=version, options=options), tensors, {"x": x})


def test_elu_is_exponential_below_zero(lite: Any) -> None:
    model = lite.build(
        lite.Op("ELU", ["x"]),
        {"x": lite.Tensor(shape=X.shape), "y": lite.Tensor(shape=X.shape)},
    )
    expected = np.where(X > 0, X, np.expm1(X))
    np.testing.assert_allclose(lite.run(model, {"x": X})["y"], expected, 1e-5)


@pytest.mark.parametrize(("function", "low", "high"), [(1, 0, 99), (2, -1, 1), (3, 0, 6)])
def test_fused_activations_bound_the_result(
    lite: Any, function: int, low: float, high: float
) -> None:
    results = lite.check(
        lite.Op("ADD", ["x", "c"], options={"fusedActivationFunction": function}),
        {"c": lite.constant(np.float32([1.5]))},
        {"x": X},
    )
    np.testing.assert_array_equal(results["y"], np.clip(X + np.float32(1.5), low, high))


def test_a_fused_tanh_is_a_tanh(lite: Any) -> None:
    model = lite.build(
        lite.Op("ADD", ["x", "c"], options={"fusedActivationFunction": 4}),
        {
            "x": lite.Tensor(shape=X.shape),
            "c": lite.constant(np.float32([0])),
            "y": lite.Tensor(shape=X.shape),
        },
    )
    np.testing.assert_allclose(lite.run(model, {"x": X})["y"], np.tanh(X), 1e-6)


def test_other_fused_activations_are_refused(lite: Any) -> None:
    model = lite.build(
        lite.Op("ADD", ["x", "x"], options={"fusedActivationFunction": 5}),
        {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor(shape=(2,))},
    )
    with pytest.raises(UnsupportedOperatorError, match="its activation number 5 is not supported"):
        parse(model)


def test_prelu_has_a_slope_for_each_channel(lite: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(1, 2, 3, 4)).astype(np.float32)
    alpha = rng.normal(size=(1, 1, 4)).astype(np.float32)
    lite.check(lite.Op("PRELU", ["x", "a"]), {"a": lite.constant(alpha)}, {"x": x})


def test_float16_slopes_are_widened(lite: Any) -> None:
    alpha = np.float16([0.5] * 9)
    model = lite.build(
        lite.Op("PRELU", ["x", "a"]),
        {
            "x": lite.Tensor(shape=X.shape),
            "a": lite.constant(alpha),
            "y": lite.Tensor(shape=X.shape),
        },
    )
    np.testing.assert_array_equal(lite.run(model, {"x": X})["y"], np.where(X > 0, X, X / 2))


def test_int8_prelu_is_within_a_step_of_litert(lite: Any) -> None:
    x = np.arange(-128, 128, dtype=np.int8).reshape(1, 64, 4)
    tensors = {
        "x": lite.Tensor("int8", x.shape, scale=0.05, zero_point=7),
        "a": lite.constant(np.int8([[[10, -20, 30, 127]]]), scale=0.01, zero_point=1),
        "y": lite.Tensor("int8", x.shape, scale=0.05, zero_point=7),
    }
    lite.check(lite.Op("PRELU", ["x", "a"]), tensors, {"x": x})


def test_slopes_with_a_scale_for_each_channel_are_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor("int8", (1, 2), scale=0.1),
        "a": lite.constant(np.int8([1, 2]), scale=[0.1, 0.2]),
        "y": lite.Tensor("int8", (1, 2), scale=0.1),
    }
    with pytest.raises(UnsupportedOperatorError, match="its slopes have a scale for each channel"):
        parse(lite.build(lite.Op("PRELU", ["x", "a"]), tensors))
