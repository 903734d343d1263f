# SPDX-License-Identifier: MIT
"""Functions of one element agree with their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from armnn.layers.activation import ActivationDescriptor, PreluDescriptor
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, DataType
from armnn_backend_ref.ops.activation import erf

A = ActivationFunction
NAN, INF = math.nan, math.inf

FINITE = np.array(
    [-300, -89.5, -17, -3, -1.5, -0.25, -1e-9, 0, 1e-9, 0.5, 1, 3, 6.5, 20, 88.8, 300],
    np.float32,
)

# The parameters a and b of the functions that have them.
P, Q = 0.7, -0.3

DEFINITIONS: dict[ActivationFunction, Callable[[float], float]] = {
    A.SIGMOID: lambda x: 1 / (1 + math.exp(-x)),
    A.TANH: lambda x: P * math.tanh(Q * x),
    A.LINEAR: lambda x: P * x + Q,
    A.RELU: lambda x: max(0.0, x),
    A.BOUNDED_RELU: lambda x: min(P, max(Q, x)),
    A.SOFT_RELU: lambda x: math.log1p(math.exp(x)),
    A.LEAKY_RELU: lambda x: x if x > 0 else P * x,
    A.ABS: lambda x: abs(x),
    A.SQRT: lambda x: math.sqrt(x) if x >= 0 else NAN,
    A.SQUARE: lambda x: x * x,
    A.ELU: lambda x: x if x >= 0 else P * math.expm1(x),
    A.HARD_SWISH: lambda x: x * min(max(0.0, x + 3), 6.0) / 6,
    A.GELU: lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    A.SOFT_SIGN: lambda x: x / (1 + abs(x)),
    A.MISH: lambda x: x * math.tanh(math.log1p(math.exp(x))),
    A.SELU: lambda x: Q * (x if x > 0 else P * math.expm1(x)),
    A.CELU: lambda x: x if x > 0 else P * math.expm1(x / P),
    A.HARD_SIGMOID: lambda x: min(1.0, max(0.0, P * x + Q)),
    A.THRESHOLDED_RELU: lambda x: x if x > P else 0.0,
    A.SHRINK: lambda x: x - Q if x > P else x + Q if x < -P else 0.0,
    A.SWISH: lambda x: x / (1 + math.exp(-P * x)),
    A.GELU_TANH: lambda x: (
        x * 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
}


@pytest.mark.parametrize("function", ActivationFunction, ids=lambda function: function.arm_name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_function_is_its_definition(compute, function, dtype):
    x = FINITE.astype(dtype)
    expected = [DEFINITIONS[function](value) for value in x.tolist()]
    y = compute(ActivationDescriptor(function=function, a=P, b=Q), x)
    assert y.dtype == dtype
    step = np.finfo(dtype).eps
    # What is smaller than the type's numbers is lost; Gelu adds its small results to one.
    lost = step if function in (A.GELU, A.GELU_TANH) else 0 if dtype == np.float64 else 1e-37
    # An exponent as large as 60 is rounded before e is raised to it.
    np.testing.assert_allclose(y, expected, rtol=32 * step, atol=lost)


@pytest.mark.parametrize("function", ActivationFunction, ids=lambda function: function.arm_name)
def test_nan_stays_nan(compute, function):
    y = compute(ActivationDescriptor(function=function, a=6.0, b=1.0), np.float32([NAN, 1.0]))
    assert np.isnan(y).tolist() == [True, False]


@pytest.mark.parametrize(
    ("function", "below", "above"),
    [
        (A.SIGMOID, 0.0, 1.0),
        (A.TANH, -2.0, 2.0),
        (A.LINEAR, -INF, INF),
        (A.RELU, 0.0, INF),
        (A.BOUNDED_RELU, 1.0, 2.0),
        (A.SOFT_RELU, 0.0, INF),
        (A.LEAKY_RELU, -INF, INF),
        (A.ABS, INF, INF),
        (A.SQRT, NAN, INF),
        (A.SQUARE, INF, INF),
        (A.ELU, -2.0, INF),
        (A.HARD_SWISH, NAN, INF),
        (A.GELU, NAN, INF),
        (A.SOFT_SIGN, NAN, NAN),
        (A.MISH, NAN, INF),
        (A.SELU, -2.0, INF),
        (A.CELU, -2.0, INF),
        (A.HARD_SIGMOID, 0.0, 1.0),
        (A.THRESHOLDED_RELU, 0.0, INF),
        (A.SHRINK, -INF, INF),
        (A.SWISH, NAN, INF),
        (A.GELU_TANH, NAN, INF),
    ],
    ids=lambda value: getattr(value, "arm_name", str(value)),
)
def test_infinity_gives_what_the_formula_gives(compute, function, below, above):
    y = compute(ActivationDescriptor(function=function, a=2.0, b=1.0), np.float32([-INF, INF]))
    np.testing.assert_array_equal(y, np.float32([below, above]))


def test_hard_swish_does_not_overflow(compute):
    x = np.float32([-3e38, 3e38])
    y = compute(ActivationDescriptor(function=A.HARD_SWISH), x)
    np.testing.assert_array_equal(y, np.float32([0, 3e38]))


def test_soft_relu_does_not_overflow_where_arm_nn_does(compute):
    x = np.float32([88.7, 88.8, 1000.0])
    np.testing.assert_array_equal(compute(ActivationDescriptor(function=A.SOFT_RELU), x), x)


def test_soft_relu_keeps_the_relative_precision_of_small_results(compute):
    y = compute(ActivationDescriptor(function=A.SOFT_RELU), np.float32([-20.0, -80.0]))
    np.testing.assert_allclose(y, [2.0611536e-9, 1.8048514e-35], rtol=1e-6)


def test_elu_keeps_the_relative_precision_of_small_results(compute):
    y = compute(ActivationDescriptor(function=A.ELU, a=1.0), np.float32([-1e-6, -1e-30]))
    np.testing.assert_allclose(y, [-9.999995e-7, -1e-30], rtol=1e-6)


@pytest.mark.parametrize(
    ("descriptor", "op", "attributes"),
    [
        (ActivationDescriptor(function=A.SIGMOID), "Sigmoid", {}),
        (ActivationDescriptor(function=A.TANH, a=1.0, b=1.0), "Tanh", {}),
        (ActivationDescriptor(function=A.RELU), "Relu", {}),
        (ActivationDescriptor(function=A.LEAKY_RELU, a=0.2), "LeakyRelu", {"alpha": 0.2}),
        (ActivationDescriptor(function=A.ELU, a=1.5), "Elu", {"alpha": 1.5}),
        (ActivationDescriptor(function=A.HARD_SWISH), "HardSwish", {}),
        (ActivationDescriptor(function=A.SOFT_RELU), "Softplus", {}),
        (ActivationDescriptor(function=A.GELU), "Gelu", {}),
        (ActivationDescriptor(function=A.GELU_TANH), "Gelu", {"approximate": "tanh"}),
        (ActivationDescriptor(function=A.SOFT_SIGN), "Softsign", {}),
        (ActivationDescriptor(function=A.MISH), "Mish", {}),
        (ActivationDescriptor(function=A.SELU, a=1.5, b=2.0), "Selu", {"alpha": 1.5, "gamma": 2.0}),
        (ActivationDescriptor(function=A.CELU, a=1.5), "Celu", {"alpha": 1.5}),
        (
            ActivationDescriptor(function=A.HARD_SIGMOID, a=0.2, b=0.5),
            "HardSigmoid",
            {"alpha": 0.2, "beta": 0.5},
        ),
        (
            ActivationDescriptor(function=A.THRESHOLDED_RELU, a=0.5),
            "ThresholdedRelu",
            {"alpha": 0.5},
        ),
        (
            ActivationDescriptor(function=A.SHRINK, a=1.5, b=0.5),
            "Shrink",
            {"lambd": 1.5, "bias": 0.5},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_agrees_with_onnxruntime(compute, onnx_run, descriptor, op, attributes):
    x = np.random.default_rng(1).normal(0, 4, (3, 5, 7)).astype(np.float32)
    expected = onnx_run(op, x, **attributes)
    np.testing.assert_allclose(compute(descriptor, x), expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_integers_stay_exact_where_the_function_means_something(compute, dtype):
    x = np.array([-5, 0, np.iinfo(dtype).max], dtype)
    expected = {A.RELU: [0, 0, x[2]], A.ABS: [5, 0, x[2]]}
    for function, values in expected.items():
        y = compute(ActivationDescriptor(function=function), x)
        assert y.dtype == dtype
        assert y.tolist() == values


@pytest.mark.parametrize("function", ActivationFunction, ids=lambda function: function.arm_name)
@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (2, 3)])
def test_the_shape_is_kept(compute, function, shape):
    y = compute(ActivationDescriptor(function=function, a=1.0), np.ones(shape, np.float32))
    assert np.shape(y) == shape


def test_a_strided_input_is_left_as_it_is(compute):
    whole = np.arange(-12, 12, dtype=np.float32).reshape(4, 6)
    x = whole[::2, ::-3]
    for function in ActivationFunction:
        y = compute(ActivationDescriptor(function=function, a=0.5, b=0.5), x)
        same = compute(ActivationDescriptor(function=function, a=0.5, b=0.5), x.copy())
        np.testing.assert_array_equal(y, same)
    np.testing.assert_array_equal(whole.ravel(), np.arange(-12, 12))


def test_prelu_broadcasts_alpha_over_channels(compute, onnx_run):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2, 3, 4, 5)).astype(np.float32)
    alpha = rng.normal(size=(3, 1, 1)).astype(np.float32)
    y = compute(PreluDescriptor(), x, alpha)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, onnx_run("PRelu", x, alpha))


def test_prelu_passes_nan_and_infinity(compute):
    y = compute(PreluDescriptor(), np.float32([NAN, INF, -INF]), np.float32([0.5]))
    np.testing.assert_array_equal(y, np.float32([NAN, INF, -INF]))


@pytest.mark.parametrize(
    ("data_type", "tolerance"), [(DataType.FLOAT16, 5e-4), (DataType.BFLOAT16, 4e-3)]
)
def test_halves_are_computed_in_single_precision(run_layer, data_type, tolerance):
    x = np.linspace(-3, 3, 7).astype(data_type.numpy_dtype)
    (y,) = run_layer("Activation", [x], ActivationDescriptor(function=A.SIGMOID))
    assert y.dtype == data_type.numpy_dtype
    expected = [1 / (1 + math.exp(-value)) for value in x.tolist()]
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=tolerance)


def test_quantized_values_are_decoded_and_saturate(run_layer):
    info = TensorInfo((4,), DataType.QASYMM_U8, 0.5, 100)
    stored = np.uint8([0, 100, 110, 255])  # -50, 0, 5, 77.5
    square = ActivationDescriptor(function=A.SQUARE)
    (y,) = run_layer("Activation", [(stored, info)], square, outputs=[info])
    assert y.tolist() == [255, 100, 150, 255]
    limit = ActivationDescriptor(function=A.BOUNDED_RELU, a=6.0, b=-1.0)
    (y,) = run_layer("Activation", [(stored, info)], limit, outputs=[info])
    assert y.tolist() == [98, 100, 110, 112]


def test_prelu_takes_two_scales_and_a_third_for_its_result(run_layer):
    x = (np.int16([-100, 50]), TensorInfo((2,), DataType.QSYMM_S16, 0.1))
    alpha = (np.int16([3]), TensorInfo((1,), DataType.QSYMM_S16, 0.5))
    result = TensorInfo((2,), DataType.QSYMM_S16, 0.01)
    (y,) = run_layer("Prelu", [x, alpha], outputs=[result])
    assert y.tolist() == [-1500, 500]


@pytest.mark.parametrize(("dtype", "ulps"), [(np.float32, 1), (np.float64, 10)])
def test_it_is_as_exact_as_it_says(dtype, ulps):
    x = np.concatenate([np.linspace(-7, 7, 20001), np.geomspace(1e-30, 7, 5000)]).astype(dtype)
    exact = np.array([math.erf(value) for value in x.tolist()])
    error = np.abs(erf(x) - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert error.max() <= ulps
    assert error.mean() <= 1


def test_its_limits_are_one():
    y = erf(np.float32([-INF, -0.0, 0.0, INF, NAN]))
    np.testing.assert_array_equal(y, np.float32([-1, 0, 0, 1, NAN]))
    assert np.signbit(y).tolist()[:3] == [True, True, False]


def test_it_takes_more_elements_than_one_chunk():
    x = np.linspace(-4, 4, 20000, dtype=np.float32).reshape(2, 100, 100)
    np.testing.assert_allclose(erf(x)[1, 99, 99], 1.0)
    np.testing.assert_allclose(erf(x)[0, 0, 0], -1.0)
    assert erf(np.float32(0.5).reshape(())).shape == ()
