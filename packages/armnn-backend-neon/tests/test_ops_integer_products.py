# SPDX-License-Identifier: MIT
"""Exact products of bytes and quantisation while running, on every level, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, Network
from armnn.tensor import info_of

Array = NDArray[Any]


@pytest.fixture
def compute(level: str) -> Callable[..., list[Array]]:
    """Return a function that runs a layer on CpuAcc at a level, its operands as inputs."""

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
    """Every number that a byte holds."""
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
