# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from armnn_parser_onnx.parser import parse

node = helper.make_node
A = np.array([[1.5, -2, 0], [np.inf, -0.0, 7]], np.float32)
B = np.array([2, -0.5, 3], np.float32)


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("opset", [7, 13, 14])
def test_arithmetic_broadcasts(check: Callable[..., Any], op_type: str, opset: int) -> None:
    check(node(op_type, ["a", "b"], ["y"]), {"a": A, "b": B}, opset=opset)
    check(node(op_type, ["a", "b"], ["y"]), {"a": B, "b": A}, opset=opset, dynamic=True)


def test_arithmetic_of_64_bits_is_exact(run: Callable[..., Any], model: Any) -> None:
    a = np.array([2**62 + 1, -(2**53) - 1, 7, -7], np.int64)
    b = np.array([3, 2, -2, 2], np.int64)
    for op_type, expected in {
        "Add": [2**62 + 4, -(2**53) + 1, 5, -5],
        "Sub": [2**62 - 2, -(2**53) - 3, 9, -9],
        "Div": [(2**62 + 1) // 3, -(2**52), -3, -3],
    }.items():
        (y,) = run(model(node(op_type, ["a", "b"], ["y"]), {"a": a, "b": b}), {"a": a, "b": b})
        assert y.dtype == np.int64
        assert y.tolist() == expected


@pytest.mark.parametrize("op_type", ["Max", "Min", "Sum", "Mean"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_any_number_of_inputs(check: Callable[..., Any], op_type: str, count: int) -> None:
    inputs = {f"x{i}": np.array([[i], [1.5 - i]], np.float32) for i in range(count)}
    check(node(op_type, list(inputs), ["y"]), inputs)


def test_the_last_of_several_layers_has_the_name_of_the_node(
    model: Callable[..., onnx.ModelProto],
) -> None:
    made = model(node("Sum", ["a", "b", "a"], ["y"], name="total"), {"a": A, "b": B})
    network = parse(made.SerializeToString())
    assert network.outputs[0].inputs[0] is network.find("total").output
    assert network.find("total/partial_1").type == "ElementwiseBinary"


@pytest.mark.parametrize("op_type", ["Abs", "Neg", "Exp", "Sqrt", "Floor", "Ceil", "Sin"])
def test_functions_of_one_element(check: Callable[..., Any], op_type: str) -> None:
    x = np.array([0.0, 0.25, 1.5, 2.5, 9], np.float32)
    check(node(op_type, ["x"], ["y"]), {"x": x}, opset=7)


def test_reciprocal_of_zero_is_infinite(run: Callable[..., Any], model: Any) -> None:
    x = np.array([0.0, -0.0, 4], np.float32)
    (y,) = run(model(node("Reciprocal", ["x"], ["y"]), {"x": x}), {"x": x})
    assert y.tolist() == [np.inf, -np.inf, 0.25]


@pytest.mark.parametrize(
    ("base", "exponent"),
    [
        (np.array([1.5, -2, 3], np.float32), np.array(2, np.float32)),
        (np.array([1.5, 2, 3], np.float32), np.array([2, 0.5, -1], np.float32)),
        (np.array([1.5, -2, 3], np.float32), np.array([2, 3, 4], np.int64)),
        (np.array([3, -2, 5], np.int32), np.array(3, np.int32)),
        (np.array([3, 2, 5], np.int64), np.array(2.0, np.float32)),
    ],
)
@pytest.mark.parametrize("constant", [True, False])
def test_powers(
    check: Callable[..., Any], base: np.ndarray, exponent: np.ndarray, constant: bool
) -> None:
    given = {"e": exponent}
    inputs = {"x": base} if constant else {"x": base, **given}
    check(node("Pow", ["x", "e"], ["y"]), inputs, constants=given if constant else {})


@pytest.mark.parametrize("fmod", [0, 1])
def test_remainders_have_the_right_sign(run: Callable[..., Any], model: Any, fmod: int) -> None:
    a = np.array([7, -7, 7, -7, 6, -6, 0], np.int32)
    b = np.array([3, 3, -3, -3, 3, 3, 3], np.int32)
    made = model(node("Mod", ["a", "b"], ["y"], fmod=fmod), {"a": a, "b": b})
    (y,) = run(made, {"a": a, "b": b})
    assert y.tolist() == (np.fmod(a, b) if fmod else np.mod(a, b)).tolist()


def test_signs_and_tests_for_nan_and_infinity(run: Callable[..., Any], model: Any) -> None:
    x = np.array([-np.inf, -2, -0.0, 0, 3, np.inf, np.nan], np.float32)
    (y,) = run(model(node("Sign", ["x"], ["y"]), {"x": x}), {"x": x})
    np.testing.assert_array_equal(y, [-1, -1, 0, 0, 1, 1, np.nan])
    for attributes, expected in (
        ({}, np.isinf(x)),
        ({"detect_negative": 0}, x == np.inf),
        ({"detect_positive": 0}, x == -np.inf),
        ({"detect_positive": 0, "detect_negative": 0}, np.zeros(7, bool)),
    ):
        (y,) = run(model(node("IsInf", ["x"], ["y"], **attributes), {"x": x}), {"x": x})
        np.testing.assert_array_equal(y, expected)
    (y,) = run(model(node("IsNaN", ["x"], ["y"]), {"x": x}), {"x": x})
    np.testing.assert_array_equal(y, np.isnan(x))


@pytest.mark.parametrize("op_type", ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"])
def test_comparisons_with_nan(check: Callable[..., Any], op_type: str) -> None:
    a = np.array([1, 2, 3, np.nan, np.inf], np.float32)
    b = np.array([1, 3, 2, np.nan, np.inf], np.float32)
    check(node(op_type, ["a", "b"], ["y"]), {"a": a, "b": b}, opset=16)


@pytest.mark.parametrize("op_type", ["And", "Or", "Xor"])
def test_logic(check: Callable[..., Any], op_type: str) -> None:
    a, b = np.array([[True], [False]]), np.array([True, False])
    check(node(op_type, ["a", "b"], ["y"]), {"a": a, "b": b})


def test_where_does_not_mix_in_what_it_does_not_choose(run: Callable[..., Any], model: Any) -> None:
    feeds = {
        "c": np.array([True, False]),
        "a": np.array([1, np.nan], np.float32),
        "b": np.array([[np.inf], [2]], np.float32),
    }
    (y,) = run(model(node("Where", ["c", "a", "b"], ["y"]), feeds), feeds)
    assert y.tolist() == [[1, np.inf], [1, 2]]
