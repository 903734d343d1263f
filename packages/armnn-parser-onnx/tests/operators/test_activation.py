# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

node = helper.make_node
X = np.array([[-np.inf, -3.5, -1, -0.5, -0.0], [0, 0.5, 1, 3.5, np.inf]], np.float32)
FINITE = np.linspace(-4, 4, 10, dtype=np.float32).reshape(2, 5)


@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [
        ("Relu", {}),
        ("LeakyRelu", {"alpha": 0.3}),
        ("Elu", {"alpha": 1.5}),
        ("Selu", {"alpha": 1.5, "gamma": 2.0}),
        ("Sigmoid", {}),
        ("Tanh", {}),
        ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
        ("Softplus", {}),
        ("ThresholdedRelu", {"alpha": 0.7}),
    ],
)
def test_activations_at_infinity_and_between(
    check: Callable[..., Any], op_type: str, attributes: dict[str, float]
) -> None:
    check(node(op_type, ["x"], ["y"], **attributes), {"x": X})


@pytest.mark.parametrize("opset", [7, 13])
@pytest.mark.parametrize("op_type", ["Relu", "LeakyRelu", "Elu", "Selu", "HardSigmoid", "Softsign"])
def test_activations_of_old_opsets(check: Callable[..., Any], op_type: str, opset: int) -> None:
    check(node(op_type, ["x"], ["y"]), {"x": FINITE}, opset=opset, dynamic=True)


def test_relu_of_integers_stays_exact(check: Callable[..., Any]) -> None:
    x = np.array([-(2**31), -1, 0, 2**31 - 1], np.int32)
    check(node("Relu", ["x"], ["y"]), {"x": x})


def test_celu_refuses_alpha_zero(model: Callable[..., onnx.ModelProto]) -> None:
    made = model(node("Celu", ["x"], ["y"], alpha=0.0), {"x": X})
    with pytest.raises(ParseError, match="the attribute 'alpha' is 0: expected another number"):
        parse(made.SerializeToString())


@pytest.mark.parametrize("attributes", [{}, {"min": -1.0}, {"max": 1.0}, {"min": 0.0, "max": 6.0}])
def test_clip_by_attributes(check: Callable[..., Any], attributes: dict[str, float]) -> None:
    check(node("Clip", ["x"], ["y"], **attributes), {"x": FINITE}, opset=10)


@pytest.mark.parametrize("bounds", [["low"], ["", "high"], ["low", "high"], []])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_clip_by_inputs(
    check: Callable[..., Any], bounds: list[str], constant: bool, dtype: type
) -> None:
    limits = {"low": np.array(-1, dtype), "high": np.array(2, dtype)}
    given = {name: limits[name] for name in bounds if name}
    x = np.array([-5, -1, 0, 2, 7], dtype)
    inputs = {"x": x} if constant else {"x": x, **given}
    check(node("Clip", ["x", *bounds], ["y"]), inputs, constants=given if constant else {})


def test_clip_with_bounds_becomes_one_layer(model: Callable[..., onnx.ModelProto]) -> None:
    limits = {"low": np.array(0, np.float32), "high": np.array(6, np.float32)}
    made = model(node("Clip", ["x", "low", "high"], ["y"]), {"x": X}, constants=limits)
    types = [layer.type for layer in parse(made.SerializeToString()).layers]
    assert types == ["Input", "Activation", "Output"]


def test_clip_refuses_a_list_as_bound(model: Callable[..., onnx.ModelProto]) -> None:
    limits = {"low": np.zeros(2, np.float32)}
    made = model(node("Clip", ["x", "low"], ["y"]), {"x": X}, constants=limits)
    with pytest.raises(ParseError, match="a bound has 2 elements: expected one"):
        parse(made.SerializeToString())
