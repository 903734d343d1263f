# SPDX-License-Identifier: MIT
"""Layers of odd sizes, on every level, against float64."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.errors import ExecutionError, InvalidArgumentError

Array = NDArray[Any]


@pytest.fixture
def compute(level: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Array]:
    """Return a function that runs a one-input network."""
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")  # the smallest loops are split, too

    def run(network: Network, x: Array, threads: int = 2) -> Array:
        options = {"CpuAcc": {"NumberOfThreads": threads}}
        with armnn.Runtime() as runtime:
            loaded = runtime.load_model(network, backends=["CpuAcc"], backend_options=options)
            (result,) = loaded.run({"x": x}).values()
            return np.array(result)

    return run


def convolved(
    x: Array, w: Array, stride: int, pad: tuple[int, int], dilation: int, groups: int
) -> Array:
    """Return an NHWC image's convolution, window by window.

    Weights are [O,KH,KW,I].
    """
    n, _, _, channels = x.shape
    out_channels, kh, kw, depth = w.shape
    x = np.pad(x.astype(np.float64), ((0, 0), pad, pad, (0, 0)))
    height = (x.shape[1] - (kh - 1) * dilation - 1) // stride + 1
    width = (x.shape[2] - (kw - 1) * dilation - 1) // stride + 1
    y = np.zeros((n, height, width, out_channels))
    per_group = out_channels // groups
    for o, i, j in product(range(out_channels), range(kh), range(kw)):
        first = o // per_group * depth
        rows = slice(i * dilation, i * dilation + (height - 1) * stride + 1, stride)
        columns = slice(j * dilation, j * dilation + (width - 1) * stride + 1, stride)
        y[..., o] += x[:, rows, columns, first : first + depth] @ w[o, i, j].astype(np.float64)
    assert channels == depth * groups
    return y


def check(actual: Array, expected: Array, terms: int) -> None:
    """Check sums with a few last-place units per term."""
    assert actual.shape == expected.shape
    bound = 4e-7 * (terms + 8) * max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert np.abs(actual - expected).max(initial=0.0) <= bound


CONVOLUTIONS = [
    # batch, height, width, channels, out, window, stride, pad, dilation, groups
    (3, 5, 7, 3, 17, 3, 1, (1, 1), 1, 1),
    (1, 9, 1, 1, 1, 1, 1, (0, 0), 1, 1),
    (1, 2, 2, 7, 3, 5, 1, (2, 2), 1, 1),
    (2, 11, 10, 17, 33, 3, 2, (0, 1), 1, 1),
    (1, 13, 13, 17, 7, 2, 3, (0, 0), 1, 1),
    (1, 12, 12, 20, 40, 3, 1, (2, 2), 2, 1),
    (1, 8, 9, 12, 18, 3, 1, (1, 1), 1, 3),
    (1, 31, 29, 3, 70, 7, 2, (3, 2), 1, 1),
    (2, 15, 15, 64, 64, 1, 1, (0, 0), 1, 1),
    (1, 15, 15, 176, 70, 3, 1, (1, 1), 1, 1),
    (1, 9, 9, 332, 70, 1, 1, (0, 0), 1, 1),
]


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("sizes", CONVOLUTIONS)
def test_convolutions(compute: Callable[..., Array], sizes: Any, layout: DataLayout) -> None:
    n, h, w, c, o, k, stride, pad, dilation, groups = sizes
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, h, w, c), np.float32)
    weights = rng.standard_normal((o, k, k, c // groups), np.float32)
    bias = rng.standard_normal(o, np.float32)
    expected = convolved(x, weights, stride, pad, dilation, groups) + bias
    expected = np.maximum(expected, 0)
    is_last = layout is DataLayout.NHWC
    order = (0, 1, 2, 3) if is_last else (0, 3, 1, 2)
    network = Network()
    image = network.add_input("x", TensorInfo(x.transpose(order).shape, DataType.FLOAT32))
    made = network.add_convolution2d(
        image,
        network.add_constant(np.ascontiguousarray(weights.transpose(order))),
        network.add_constant(bias),
        pad_left=pad[0],
        pad_right=pad[1],
        pad_top=pad[0],
        pad_bottom=pad[1],
        stride_x=stride,
        stride_y=stride,
        dilation_x=dilation,
        dilation_y=dilation,
        data_layout=layout,
    )
    network.add_output("y", network.add_activation(made, function=armnn.ActivationFunction.RELU))
    result = compute(network, np.ascontiguousarray(x.transpose(order)))
    check(result, expected.transpose(order), k * k * c // groups)


LINES = [
    # batch, length, channels, window, stride, dilation, pads
    (1, 1, 3, 9, 1, 1, (4, 4)),
    (3, 13, 7, 9, 1, 1, (4, 4)),
    (1, 59, 96, 9, 2, 1, (3, 4)),
    (2, 70, 17, 4, 1, 2, (0, 0)),
    (1, 6, 1, 2, 4, 1, (0, 1)),
    (2, 150, 16, 1, 1, 1, (0, 0)),
]


@pytest.mark.parametrize("is_column", [False, True])
@pytest.mark.parametrize("sizes", LINES)
def test_depthwise_convolutions_of_lines(
    compute: Callable[..., Array], sizes: Any, is_column: bool
) -> None:
    n, length, c, window, stride, dilation, pads = sizes
    rng = np.random.default_rng(13)
    x = rng.standard_normal((n, length, c), np.float32)
    weights = rng.standard_normal((window, c), np.float32)
    padded = np.pad(x.astype(np.float64), ((0, 0), pads, (0, 0)))
    count = (padded.shape[1] - (window - 1) * dilation - 1) // stride + 1
    last = (count - 1) * stride + 1
    expected = sum(
        padded[:, j * dilation : j * dilation + last : stride] * weights[j] for j in range(window)
    )
    shape = (n, length, 1, c) if is_column else (n, 1, length, c)
    network = Network()
    image = network.add_input("x", TensorInfo(shape, DataType.FLOAT32))
    kernel = weights.reshape((1, window, 1, c) if is_column else (1, 1, window, c))
    along: dict[str, Any] = dict(zip(("pad_top", "pad_bottom"), pads, strict=True))
    along |= {"stride_y": stride, "dilation_y": dilation}
    if not is_column:
        names = {"pad_top": "pad_left", "pad_bottom": "pad_right"}
        along = {names.get(at, at.replace("_y", "_x")): number for at, number in along.items()}
    made = network.add_depthwise_convolution2d(
        image, network.add_constant(kernel), data_layout=DataLayout.NHWC, **along
    )
    network.add_output("y", made)
    result = compute(network, x.reshape(shape))
    check(result.reshape(n, count, c), np.asarray(expected), window)


@pytest.mark.parametrize("down", [1, 2])
@pytest.mark.parametrize(
    ("sizes", "window", "stride", "dilation"),
    [
        ((3, 5, 7, 3), (3, 3), 1, 1),
        ((1, 16, 17, 17), (3, 3), 2, 1),
        ((1, 14, 15, 33), (5, 5), 1, 1),
        ((2, 14, 15, 16), (5, 5), 2, 1),
        ((1, 11, 10, 150), (3, 3), 1, 1),
        ((1, 7, 9, 161), (3, 3), 2, 1),
        ((1, 7, 14, 40), (5, 5), 1, 1),
        ((1, 9, 20, 7), (3, 3), 1, 3),
        ((1, 2, 1, 1), (7, 7), 4, 1),
        ((1, 10, 9, 20), (7, 7), 1, 1),
        ((1, 13, 12, 40), (7, 9), 2, 1),
        ((1, 8, 13, 140), (5, 3), 1, 1),
        ((2, 9, 15, 24), (3, 5), 1, 1),
        # pairs of pixels fill vectors
        ((2, 11, 27, 8), (3, 3), 1, 1),
        ((1, 6, 32, 24), (3, 3), 1, 1),
        ((1, 7, 3, 8), (3, 3), 1, 1),
        # blocks of 6 and 7 outputs
        ((1, 13, 12, 33), (5, 5), 1, 1),
        ((1, 5, 14, 40), (3, 3), 1, 1),
        ((1, 15, 28, 16), (3, 3), 2, 1),
    ],
)
def test_depthwise_convolutions(
    compute: Callable[..., Array], sizes: Any, window: Any, stride: int, dilation: int, down: int
) -> None:
    """The stride down is that across, or twice as long.

    The first have a bias.
    """
    rng = np.random.default_rng(2)
    c = sizes[3]
    bias = rng.standard_normal(c, np.float32) if down == 1 else np.zeros(c, np.float32)
    x = rng.standard_normal(sizes, np.float32)
    weights = rng.standard_normal((1, *window, c), np.float32)
    pad = (window[0] * dilation // 2, window[0] * dilation // 2)
    full = weights[0].transpose(2, 0, 1)[..., None]
    expected = np.tanh(convolved(x, full, stride, pad, dilation, c)[:, ::down] + bias)
    network = Network()
    image = network.add_input("x", TensorInfo(sizes, DataType.FLOAT32))
    made = network.add_depthwise_convolution2d(
        image,
        network.add_constant(weights),
        network.add_constant(bias) if down == 1 else None,
        pad_left=pad[0],
        pad_right=pad[1],
        pad_top=pad[0],
        pad_bottom=pad[1],
        stride_x=stride,
        stride_y=stride * down,
        dilation_x=dilation,
        dilation_y=dilation,
        data_layout=DataLayout.NHWC,
    )
    tanh = armnn.ActivationFunction.TANH
    network.add_output("y", network.add_activation(made, function=tanh, a=1.0, b=1.0))
    check(compute(network, x), expected, window[0] * window[1])


def fully_connected(x: Array, weights: Array) -> Network:
    network = Network()
    left = network.add_input("x", TensorInfo(x.shape, DataType.FLOAT32))
    right = network.add_constant(weights)
    made = network.add_fully_connected(left, right, transpose_weight_matrix=True)
    network.add_output("y", made)
    return network


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(1, 1, 1), (1, 70, 65), (3, 17, 7), (15, 33, 31), (15, 34, 21), (29, 5, 97), (29, 6, 100)],
)
def test_fully_connected(
    compute: Callable[..., Array], rows: int, depth: int, columns: int, threads: int
) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((rows, depth), np.float32)
    weights = rng.standard_normal((columns, depth), np.float32)
    expected = x.astype(np.float64) @ weights.T.astype(np.float64)
    check(compute(fully_connected(x, weights), x, threads), expected, depth)


@pytest.mark.parametrize("columns", [1, 3, 4, 7, 9, 15, 16, 17, 31, 54, 100])
def test_rows_of_any_length_become_shares_of_one(
    compute: Callable[..., Array], columns: int
) -> None:
    x = np.random.default_rng(columns).standard_normal((5, columns), np.float32) * 4 - 20
    for beta, has_logarithm in product((1.0, -0.5), (False, True)):
        network = Network()
        value = network.add_input("x", TensorInfo(x.shape, DataType.FLOAT32))
        layer = network.add_log_softmax if has_logarithm else network.add_softmax
        network.add_output("y", layer(value, beta=beta))
        real = x.astype(np.float64) * beta
        shares = np.exp(real) / np.exp(real).sum(1, keepdims=True)
        expected = np.log(shares) if has_logarithm else shares
        np.testing.assert_allclose(compute(network, x), expected, rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize("columns", [5, 54, 400, 2045, 2049])
def test_rows_that_become_shares_together_are_as_alone(
    compute: Callable[..., Array], columns: int
) -> None:
    """Some of them overflow before a small number scales them."""
    x = np.random.default_rng(columns).standard_normal((19, columns), np.float32) * 4
    x[7, :3], x[12, :2] = (3e38, -3e38, 1e38), (np.inf, 1.0)
    for beta, has_logarithm in product((1.0, -1e-36), (False, True)):

        def network_of(rows: Array, beta: float = beta, log: bool = has_logarithm) -> Network:
            network = Network()
            value = network.add_input("x", TensorInfo(rows.shape, DataType.FLOAT32))
            layer = network.add_log_softmax if log else network.add_softmax
            leaky = armnn.ActivationFunction.LEAKY_RELU
            in_place = network.add_activation(value, function=leaky, a=0.5)
            network.add_output("y", layer(in_place, beta=beta))
            return network

        together = compute(network_of(x), x)
        for at in (0, 7, 8, 12, 18):  # the first, the odd ones, one between, the last
            row = x[at : at + 1]
            np.testing.assert_array_equal(compute(network_of(row), row)[0], together[at])


@pytest.mark.parametrize("columns", [3, 7, 18, 36, 40])
def test_infinities_stay_in_their_rows(compute: Callable[..., Array], columns: int) -> None:
    """The last columns multiply two numbers at once."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((15, 34), np.float32)
    weights = rng.uniform(0.5, 1.0, (columns, 34)).astype(np.float32)
    x[3, 7], x[8, 12], x[14, 33] = np.inf, -np.inf, np.nan
    expected = x.astype(np.float64) @ weights.T.astype(np.float64)
    result = compute(fully_connected(x, weights), x)
    finite = np.isfinite(expected)
    check(np.where(finite, result, 0), np.where(finite, expected, 0), 34)
    np.testing.assert_array_equal(result[~finite], expected[~finite].astype(np.float32))


def test_a_convolution_takes_over_the_sum_that_follows(compute: Callable[..., Array]) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((1, 6, 5, 9), np.float32)
    weights = rng.standard_normal((9, 3, 3, 9), np.float32)
    network = Network()
    image = network.add_input("x", TensorInfo(x.shape, DataType.FLOAT32))
    made = network.add_convolution2d(
        image,
        network.add_constant(weights),
        pad_left=1,
        pad_right=1,
        pad_top=1,
        pad_bottom=1,
        data_layout=DataLayout.NHWC,
    )
    total = network.add_addition(made, image)
    network.add_output("y", network.add_activation(total, function=armnn.ActivationFunction.RELU))
    expected = np.maximum(convolved(x, weights, 1, (1, 1), 1, 1) + x, 0)
    check(compute(network, x), expected, 81)


def test_an_index_outside_of_its_axis_is_an_error() -> None:
    network = Network()
    table = network.add_constant(np.ones((3, 2), np.float32))
    indices = network.add_input("x", TensorInfo((2,), DataType.SIGNED32))
    network.add_output("y", network.add_gather(table, indices))
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"])
        with pytest.raises(ExecutionError, match="the index 3 is outside of an axis of 3"):
            loaded.run({"x": np.array([-3, 3], np.int32)})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"NumberOfThreads": -1}, "option NumberOfThreads is '-1', expected a number from 0 on"),
        ({"FastMathEnabled": "often"}, "option FastMathEnabled is 'often', expected true or false"),
        ({"Cores": 2}, "option 'Cores' is not known, expected NumberOfThreads or FastMathEnabled"),
    ],
)
def test_a_wrong_option_is_an_error(options: Any, message: str) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,), DataType.FLOAT32))
    network.add_output("y", network.add_floor(x))
    whole = f"(?m)^backend 'CpuAcc': {message}$"  # a line: notes follow
    with armnn.Runtime() as runtime, pytest.raises(InvalidArgumentError, match=whole):
        runtime.load_model(network, backends=["CpuAcc"], backend_options={"CpuAcc": options})
    with pytest.raises(InvalidArgumentError, match=whole):
        armnn.Runtime(armnn.CreationOptions(backend_options={"CpuAcc": options})).load_model(
            network, ["CpuAcc"]
        )
