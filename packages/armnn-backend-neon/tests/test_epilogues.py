# SPDX-License-Identifier: MIT
"""Operations behind a gemm become its epilogue, on every level."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

import armnn
from armnn import ActivationFunction, DataLayout, Network, TensorInfo
from armnn.profiling import Recorder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn import Value

Build: TypeAlias = "Callable[[Network, Value], Value]"
Expect: TypeAlias = "Callable[[NDArray[Any]], NDArray[Any]]"


def number(net: Network, value: float) -> Value:
    return net.add_constant(np.full((1,), value, np.float32))


def relu(net: Network, x: Value) -> Value:
    return net.add_activation(x, function=ActivationFunction.RELU)


def hard_swish(net: Network, x: Value) -> Value:
    return net.add_activation(x, function=ActivationFunction.HARD_SWISH)


def tanh(net: Network, x: Value) -> Value:
    return net.add_activation(x, function=ActivationFunction.TANH, a=1.0, b=1.0)


def swished(y: NDArray[Any]) -> NDArray[Any]:
    result: NDArray[Any] = y * np.clip(y + 3, 0, 6) / 6
    return result


def scaled(net: Network, x: Value) -> Value:
    return net.add_addition(net.add_multiplication(x, number(net, 1.5)), number(net, -0.25))


CHAINS: dict[str, tuple[Build, Expect]] = {
    "scale and shift": (scaled, lambda y: y * 1.5 - 0.25),
    "scale and shift twice": (
        lambda net, x: scaled(net, scaled(net, x)),
        lambda y: (y * 1.5 - 0.25) * 1.5 - 0.25,
    ),
    "a function, then both": (
        lambda net, x: scaled(net, relu(net, x)),
        lambda y: np.maximum(y, 0) * 1.5 - 0.25,
    ),
    "hard-swish, then both twice": (
        lambda net, x: scaled(net, scaled(net, hard_swish(net, x))),
        lambda y: (swished(y) * 1.5 - 0.25) * 1.5 - 0.25,
    ),
    "a function through memory, then both": (
        lambda net, x: scaled(net, tanh(net, x)),
        lambda y: np.tanh(y) * 1.5 - 0.25,
    ),
    "both, then a function": (
        lambda net, x: relu(net, scaled(net, x)),
        lambda y: np.maximum(y * 1.5 - 0.25, 0),
    ),
    "a number less the sum": (
        lambda net, x: net.add_subtraction(number(net, 2.0), x),
        lambda y: 2 - y,
    ),
    "the sum less a number": (
        lambda net, x: net.add_subtraction(x, number(net, 2.0)),
        lambda y: y - 2,
    ),
    "a number over the sum": (
        lambda net, x: net.add_division(number(net, 2.0), net.add_addition(x, number(net, 60.0))),
        lambda y: 2 / (y + 60),
    ),
    "a number of a higher rank": (
        lambda net, x: net.add_multiplication(
            x, net.add_constant(np.full((1, 1, 1, 1, 1), 3.0, np.float32))
        ),
        lambda y: y[None] * 3,
    ),
}


@pytest.mark.parametrize("columns", [5, 16, 35])
@pytest.mark.parametrize("chain", CHAINS)
def test_a_convolution_takes_over_the_chain_behind_it(chain: str, columns: int, level: str) -> None:
    build, expect = CHAINS[chain]
    generator = np.random.default_rng(2)
    x = generator.standard_normal((1, 5, 7, 9), np.float32)
    w = generator.standard_normal((columns, 1, 1, 9), np.float32)
    net = Network("chain")
    image = net.add_input("x", TensorInfo(x.shape))
    made = net.add_convolution2d(image, net.add_constant(w), data_layout=DataLayout.NHWC)
    net.add_output("y", build(net, made))
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
    expected = expect(x.astype(np.float64) @ w[:, 0, 0].astype(np.float64).T)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("chain", CHAINS)
def test_a_depthwise_convolution_takes_over_the_chain_behind_it(chain: str, level: str) -> None:
    build, expect = CHAINS[chain]
    generator = np.random.default_rng(2)
    x = generator.standard_normal((1, 6, 5, 19), np.float32)
    w = generator.standard_normal((1, 3, 3, 19), np.float32)
    net = Network("chain")
    image = net.add_input("x", TensorInfo(x.shape))
    made = net.add_depthwise_convolution2d(image, net.add_constant(w), data_layout=DataLayout.NHWC)
    net.add_output("y", build(net, made))
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
    wide = x.astype(np.float64)
    sums = sum(wide[:, i : i + 4, j : j + 3] * w[0, i, j] for i in range(3) for j in range(3))
    np.testing.assert_allclose(y, expect(np.asarray(sums)), rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize(("depth", "stride"), [(512, 1), (1024, 1), (256, 2), (2048, 1)])
def test_rows_that_begin_in_the_same_sets_of_a_cache(
    depth: int, stride: int, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")
    generator = np.random.default_rng(4)
    x = generator.standard_normal((2, 9, 7, depth), np.float32)
    w = generator.standard_normal((70, 1, 1, depth), np.float32)
    net = Network("deep")
    image = net.add_input("x", TensorInfo(x.shape))
    net.add_output(
        "y",
        net.add_convolution2d(
            image,
            net.add_constant(w),
            stride_x=stride,
            stride_y=stride,
            data_layout=DataLayout.NHWC,
        ),
    )
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
    expected = x[:, ::stride, ::stride].astype(np.float64) @ w[:, 0, 0].astype(np.float64).T
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6 * depth)


@pytest.mark.parametrize("columns", [5, 95, 96, 203])
def test_a_mean_over_rows_of_any_width(columns: int, level: str) -> None:
    x = np.random.default_rng(6).standard_normal((2, 11, columns), np.float32)
    net = Network("mean")
    net.add_output("y", net.add_mean(net.add_input("x", TensorInfo(x.shape)), axis=(1,)))
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
    np.testing.assert_allclose(y, x.astype(np.float64).mean(axis=1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("line", [1, 5, 16, 300, 600])
@pytest.mark.parametrize("is_left", [False, True])
def test_one_line_beside_every_line_of_the_other(
    line: int, is_left: bool, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")
    generator = np.random.default_rng(7)
    many = generator.standard_normal((701, line), np.float32)
    one = generator.standard_normal((1, line), np.float32)
    net = Network("lines")
    a = net.add_input("many", TensorInfo(many.shape))
    b = net.add_input("one", TensorInfo(one.shape))
    net.add_output("y", net.add_subtraction(b, a) if is_left else net.add_subtraction(a, b))
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"many": many, "one": one})["y"]
    np.testing.assert_array_equal(y, one - many if is_left else many - one)


@pytest.mark.parametrize("is_left", [False, True])
@pytest.mark.parametrize("columns", [2, 7, 24, 40, 67])
def test_a_product_takes_over_the_line_that_is_added_to_each_of_its_rows(
    columns: int, is_left: bool, level: str
) -> None:
    generator = np.random.default_rng(3)
    x = generator.standard_normal((2, 33, 19), np.float32)
    w = generator.standard_normal((1, 19, columns), np.float32)
    line = generator.standard_normal((columns,), np.float32)
    net = Network("line")
    made = net.add_batch_mat_mul(net.add_input("x", TensorInfo(x.shape)), net.add_constant(w))
    bias = net.add_input("line", TensorInfo(line.shape))
    total = net.add_addition(bias, made) if is_left else net.add_addition(made, bias)
    net.add_output("y", net.add_division(total, number(net, 3.0)))
    recorder = Recorder()
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(net, backends=["CpuAcc"])
        y = loaded.run({"x": x, "line": line}, profiler=recorder)["y"]
    expected = (x.astype(np.float64) @ w.astype(np.float64) + line) / 3
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=2e-5)
    kernels = [event for event in recorder.events if event.details.get("category") == "kernel"]
    assert len(kernels) == 1


@pytest.mark.parametrize("shape", [(2, 4), (3, 4), (4, 28), (8, 33), (5, 16), (17, 40), (300, 31)])
def test_rows_and_columns_change_places(
    shape: tuple[int, int], level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")
    x = np.arange(3 * shape[0] * shape[1], dtype=np.float32).reshape(3, *shape)
    net = Network("transposed")
    # The output's order is plain: what a transposition says of the order has to be carried out.
    moved = net.add_transpose(net.add_input("x", TensorInfo(x.shape)), dim_mappings=(0, 2, 1))
    net.add_output("y", net.add_reshape(moved, target_shape=(3 * shape[1], shape[0])))
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
    np.testing.assert_array_equal(y, x.swapaxes(1, 2).reshape(3 * shape[1], shape[0]))
