# SPDX-License-Identifier: MIT
"""Exact gemms of bytes and dynamic quantization, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import ActivationFunction, DataLayout, Network
from armnn.tensor import info_of
from armnn.types import BinaryOperation

Array = NDArray[Any]


@pytest.fixture
def compute(level: str) -> Callable[..., list[Array]]:
    """Return a function that runs a layer on inputs."""

    def run(add: Callable[..., Any], *operands: Array, constants: int = 0) -> list[Array]:
        network = Network()
        split = len(operands) - constants
        feeds = {f"input {i}": operand for i, operand in enumerate(operands[:split])}
        values = [network.add_input(name, info_of(each)) for name, each in feeds.items()]
        values += [network.add_constant(each) for each in operands[split:]]
        made = add(network, *values)
        for i, value in enumerate(made if isinstance(made, tuple) else [made]):
            network.add_output(f"output {i}", value)
        with armnn.Runtime() as runtime:
            options = {"CpuAcc": {"NumberOfThreads": 2}}
            loaded = runtime.load_model(network, backends=["CpuAcc"], backend_options=options)
            return [np.array(result) for result in loaded.run(feeds).values()]

    return run


def whole(shape: tuple[int, ...], dtype: Any, seed: int) -> Array:
    """Return every number that a byte holds."""
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize(("left", "right"), [*product([np.int8, np.uint8], repeat=2)])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 7), (17, 33, 65), (2, 4, 3)])
def test_products_of_bytes_are_exact(
    compute: Callable[..., list[Array]], sizes: tuple[int, int, int], left: Any, right: Any
) -> None:
    rows, depth, columns = sizes
    x, y = whole((2, rows, depth), left, 1), whole((depth, columns), right, 2)
    x_zero, y_zero = np.array(left(3)), np.array([right(101)])
    expected = (x.astype(np.int64) - 3) @ (y.astype(np.int64) - 101)
    for constants in (0, 1):  # the zero point of the weights alone
        (actual,) = compute(
            lambda n, *operands: n.add_mat_mul_integer(*operands),
            *(x, y, x_zero, y_zero),
            constants=constants,
        )
        assert np.array_equal(actual, expected)


@pytest.mark.parametrize("depth", [1, 2, 3, 63, 130, 4099])
@pytest.mark.parametrize("right", [-128, -127, 127])
@pytest.mark.parametrize("left", [np.uint8(255), np.int8(-128), np.int8(127)])
def test_sums_of_the_largest_products_are_exact(
    compute: Callable[..., list[Array]], left: Any, right: int, depth: int
) -> None:
    x = np.full((9, depth), left)
    y = np.full((depth, 35), right, np.int8)
    y[:, 5:7] = -right - (right == -128)  # a column of each sign in one register
    y[::2, 20] = 0
    for constants in (0, 1):
        (actual,) = compute(lambda n, a, b: n.add_mat_mul_integer(a, b), x, y, constants=constants)
        assert np.array_equal(actual, x.astype(np.int64) @ y.astype(np.int64))


def test_constant_weights_may_have_alike_zero_points_for_each_column(
    compute: Callable[..., list[Array]],
) -> None:
    x, y = whole((4, 9), np.uint8, 1), whole((9, 5), np.int8, 2)
    (actual,) = compute(
        lambda n, x_zero, a, b, y_zero: n.add_mat_mul_integer(a, b, x_zero, y_zero),
        np.array(200, np.uint8),
        x,
        y,
        np.full(5, -7, np.int8),
        constants=2,
    )
    assert np.array_equal(actual, (x.astype(np.int64) - 200) @ (y.astype(np.int64) + 7))


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize(("stride", "pad", "dilation"), [(1, 1, 1), (2, 0, 1), (3, 2, 2)])
def test_convolutions_of_bytes_are_exact(
    compute: Callable[..., list[Array]], layout: DataLayout, stride: int, pad: int, dilation: int
) -> None:
    x, w = whole((2, 9, 11, 5), np.uint8, 1), whole((7, 3, 2, 5), np.int8, 2)
    x_zero, w_zero = 31, -3
    padded = np.pad(x.astype(np.int64) - x_zero, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    kernel = w.astype(np.int64) - w_zero
    height = (padded.shape[1] - 2 * dilation - 1) // stride + 1
    width = (padded.shape[2] - dilation - 1) // stride + 1
    expected = np.zeros((2, height, width, 7), np.int64)
    for i, j in product(range(3), range(2)):
        rows = slice(i * dilation, i * dilation + (height - 1) * stride + 1, stride)
        columns = slice(j * dilation, j * dilation + (width - 1) * stride + 1, stride)
        expected += padded[:, rows, columns] @ kernel[:, i, j].T
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    (actual,) = compute(
        lambda n, a, a_zero, b, b_zero: n.add_convolution_integer(
            a,
            b,
            a_zero,
            b_zero,
            stride_x=stride,
            stride_y=stride,
            pad_left=pad,
            pad_right=pad,
            pad_top=pad,
            pad_bottom=pad,
            dilation_x=dilation,
            dilation_y=dilation,
            data_layout=layout,
        ),
        np.ascontiguousarray(x.transpose(order)),
        np.array(x_zero, np.uint8),
        np.ascontiguousarray(w.transpose(order)),
        np.array(w_zero, np.int8),
        constants=2,
    )
    assert np.array_equal(actual, expected.transpose(order))


@pytest.mark.parametrize("depth", [3, 600])
def test_windows_that_share_most_of_what_they_see_are_exact(
    compute: Callable[..., list[Array]], depth: int
) -> None:
    x, w = whole((1, 8, 9, depth), np.int8, 3), whole((17, 3, 3, depth), np.uint8, 4)
    padded = np.pad(x.astype(np.int64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    expected = np.einsum("nhwcij,oijc->nhwo", seen, w.astype(np.int64) - 120, optimize=True)
    (actual,) = compute(
        lambda n, a, b, b_zero: n.add_convolution_integer(
            a,
            b,
            weights_zero_point=b_zero,
            stride_x=1,
            stride_y=1,
            **dict.fromkeys(("pad_left", "pad_right", "pad_top", "pad_bottom"), 1),
            data_layout=DataLayout.NHWC,
        ),
        *(x, w, np.array(120, np.uint8)),
        constants=2,
    )
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((3, 5), np.float32),
        np.full((7,), 2.5, np.float32),
        np.full((7,), -2.5, np.float32),
        np.arange(-127.5, 128, 0.5, dtype=np.float32),
        np.random.default_rng(1).standard_normal((3, 4099), np.float32) * 40,
        np.zeros((0, 2), np.float32),
    ],
    ids=["zeros", "positive", "negative", "halves", "noise", "empty"],
)
def test_the_steps_just_hold_all_numbers(compute: Callable[..., list[Array]], x: Array) -> None:
    low, high = np.minimum(x.min(initial=0), 0), np.maximum(x.max(initial=0), 0)
    scale = np.float32((high - low) / np.float32(255)) or np.float32(1)
    zero = np.rint(-low / scale)
    steps = np.clip(np.rint(x / scale) + zero, 0, 255)
    actual = compute(lambda n, v: n.add_dynamic_quantize(v), x)
    assert actual[1] == scale
    assert actual[2] == zero
    assert np.array_equal(actual[0], steps)


@pytest.mark.parametrize("strange", [None, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("count", [2, 3, 37, 150])
def test_extremes_are_found_at_each_place(count: int, strange: float | None) -> None:
    """Numbers that are not finite widen no step."""
    network = Network("steps")
    x = network.add_input("x", armnn.TensorInfo((count,)))
    for name, output in zip(("y", "scale", "zero"), network.add_dynamic_quantize(x), strict=True):
        network.add_output(name, output)
    usual = np.random.default_rng(count).uniform(-1, 1, count).astype(np.float32)
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"])
        for place in range(count):
            numbers = usual.copy()
            numbers[place - 1], numbers[place - 2] = 9, -7
            if strange is not None:
                numbers[place] = strange
            known = numbers[np.isfinite(numbers)]
            low, high = known.min(initial=0), known.max(initial=0)
            found = loaded.run({"x": numbers})
            assert found["scale"] == (np.float32((high - low) / np.float32(255)) or 1)


ADDED_WHOLE, FACTOR, ADDED = np.array([-900, 7, 10000]), np.float32(0.001), np.float32([3, -2, 0.5])


def number_of(columns: int, three: Array, dtype: Any) -> Array:
    return np.resize(three, columns).astype(dtype)


@pytest.mark.parametrize("steps", ["whole", "float", "factor", "added", "bounded", "tanh", "twice"])
@pytest.mark.parametrize("sizes", [(1, 5, 7), (17, 33, 65), (9, 4, 1), (40, 3, 300)])
def test_what_makes_real_numbers_of_sums_is_part_of_the_product(
    compute: Callable[..., list[Array]], sizes: tuple[int, int, int], steps: str
) -> None:
    rows, depth, columns = sizes
    order = ["whole", "float", "factor", "added", "bounded"]
    taken = order[: order.index(steps) + 1] if steps in order else order[:4]
    x, y = whole((rows, depth), np.uint8, 1), whole((depth, columns), np.uint8, 2)
    added_whole = number_of(columns, ADDED_WHOLE, np.int32)
    added = number_of(columns, ADDED, np.float32)

    def build(n: Network, data: Any, factor: Any, *operands: Any) -> Any:
        made = n.add_mat_mul_integer(data, *operands)
        made = n.add_elementwise_binary(added_whole, made, operation=BinaryOperation.ADD)
        if "float" in taken:
            made = n.add_cast(made, output=armnn.DataType.FLOAT32)
        if "factor" in taken:
            made = n.add_elementwise_binary(made, factor, operation=BinaryOperation.MUL)
        if "added" in taken:
            made = n.add_elementwise_binary(added, made, operation=BinaryOperation.ADD)
        if "bounded" in taken:
            made = n.add_activation(made, function=ActivationFunction.RELU)
        if steps == "tanh":
            made = n.add_activation(made, function=ActivationFunction.TANH, a=1.0, b=1.0)
        if steps == "twice":
            made = n.add_elementwise_binary(made, factor, operation=BinaryOperation.MUL)
            made = n.add_elementwise_binary(made, added, operation=BinaryOperation.ADD)
        return made

    zeros = [np.array(np.uint8(3)), np.array(np.uint8(101))]
    (actual,) = compute(build, x, np.array([FACTOR]), y, *zeros, constants=3)
    expected: Array = (x.astype(np.int64) - 3) @ (y.astype(np.int64) - 101) + added_whole
    expected = expected.astype(np.float64) * (FACTOR if "factor" in taken else 1)
    expected = expected + (added if "added" in taken else 0)
    expected = np.maximum(expected, 0) if "bounded" in taken else expected
    if steps == "tanh":
        expected = np.tanh(expected)
    if steps == "twice":
        expected = expected * FACTOR + added
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=2e-5)


@pytest.mark.parametrize("is_real", [False, True])
def test_what_is_added_to_several_rows_together_is_no_bias(
    compute: Callable[..., list[Array]], is_real: bool
) -> None:
    x, y = whole((2, 3, 5), np.uint8, 1), whole((5, 4), np.uint8, 2)
    added = np.arange(12, dtype=np.float32 if is_real else np.int32).reshape(3, 4) * 1000

    def build(n: Network, *operands: Any) -> Any:
        made = n.add_mat_mul_integer(*operands)
        made = n.add_cast(made, output=armnn.DataType.FLOAT32) if is_real else made
        return n.add_elementwise_binary(made, added, operation=BinaryOperation.ADD)

    zeros = [np.array(np.uint8(3)), np.array(np.uint8(101))]
    (actual,) = compute(build, x, y, *zeros, constants=3)
    expected = (x.astype(np.int64) - 3) @ (y.astype(np.int64) - 101) + added
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
def test_windows_add_whole_numbers_to_channels(
    compute: Callable[..., list[Array]], layout: DataLayout
) -> None:
    is_last = layout is DataLayout.NHWC
    x = whole((2, 9, 8, 5) if is_last else (2, 5, 9, 8), np.uint8, 1)
    y = whole((24, 3, 3, 5) if is_last else (24, 5, 3, 3), np.uint8, 2)
    bias = np.arange(24, dtype=np.int32).reshape((24,) if is_last else (1, 24, 1, 1)) * 1000

    def build(n: Network, data: Any, added: Any, factor: Any, *operands: Any) -> Any:
        made = n.add_convolution_integer(data, *operands, data_layout=layout, pad_left=1)
        total = n.add_elementwise_binary(made, added, operation=BinaryOperation.ADD)
        real = n.add_cast(total, output=armnn.DataType.FLOAT32)
        return real, n.add_elementwise_binary(real, factor, operation=BinaryOperation.MUL)

    zeros = [np.array(np.uint8(3)), np.array(np.uint8(101))]
    real, scaled = compute(build, x, bias, np.array([FACTOR]), y, *zeros, constants=3)
    image, weights = x.astype(np.int64) - 3, y.astype(np.int64) - 101
    if is_last:
        image, weights = image.transpose(0, 3, 1, 2), weights.transpose(0, 3, 1, 2)
    image = np.pad(image, ((0, 0), (0, 0), (0, 0), (1, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))
    expected = np.einsum("nchwij,ocij->nohw", windows, weights) + bias.reshape(24, 1, 1)
    expected = expected.transpose(0, 2, 3, 1) if is_last else expected
    np.testing.assert_array_equal(real, expected)
    np.testing.assert_allclose(scaled, expected * np.float64(FACTOR), rtol=1e-6)
