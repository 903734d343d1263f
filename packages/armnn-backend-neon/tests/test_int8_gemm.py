# SPDX-License-Identifier: MIT
"""Gemms of 8-bit integers, on every level, against integers.

The expectation is computed without rounding but the last one, which is the only place where a
result may differ: by one step, and seldom.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn import ActivationFunction, DataLayout, DataType, Network, TensorInfo

Array: TypeAlias = NDArray[Any]

S8, U8, SYMMETRIC = DataType.QASYMM_S8, DataType.QASYMM_U8, DataType.QSYMM_S8


def stored(rng: np.random.Generator, shape: Any, kind: DataType) -> Array:
    """Return all kinds of bytes."""
    limits = np.iinfo(kind.numpy_dtype)
    numbers: Array = rng.integers(limits.min, limits.max, shape, kind.numpy_dtype, endpoint=True)
    return numbers


def convolved(
    x: Array, w: Array, stride: int, pad: tuple[int, int], dilation: int, groups: int
) -> Array:
    """Return the integer convolution of an NHWC image.

    Weights are [O,KH,KW,I].
    """
    out_channels, kh, kw, depth = w.shape
    x = np.pad(x, ((0, 0), pad, pad, (0, 0)))
    height = (x.shape[1] - (kh - 1) * dilation - 1) // stride + 1
    width = (x.shape[2] - (kw - 1) * dilation - 1) // stride + 1
    y = np.zeros((x.shape[0], height, width, out_channels), np.int64)
    per_group = out_channels // groups
    for o, i, j in product(range(out_channels), range(kh), range(kw)):
        first = o // per_group * depth
        rows = slice(i * dilation, i * dilation + (height - 1) * stride + 1, stride)
        columns = slice(j * dilation, j * dilation + (width - 1) * stride + 1, stride)
        y[..., o] += x[:, rows, columns, first : first + depth] @ w[o, i, j]
    return y


def window(stride: int, pad: tuple[int, int], dilation: int, layout: DataLayout) -> dict[str, Any]:
    """Return the fields that convolutions have in common."""
    sides = dict.fromkeys(("pad_top", "pad_left"), pad[0])
    sides |= dict.fromkeys(("pad_bottom", "pad_right"), pad[1])
    steps = dict.fromkeys(("stride_x", "stride_y"), stride)
    steps |= dict.fromkeys(("dilation_x", "dilation_y"), dilation)
    return {**sides, **steps, "data_layout": layout}


CONVOLUTIONS = [
    # batch, height, width, channels, out, window, stride, pad, dilation, groups
    (3, 5, 7, 3, 17, 3, 1, (1, 1), 1, 1),
    (1, 9, 1, 1, 1, 1, 1, (0, 0), 1, 1),
    (1, 2, 2, 7, 3, 5, 1, (2, 2), 1, 1),
    (2, 11, 10, 17, 33, 3, 2, (0, 1), 1, 1),
    (1, 13, 13, 18, 7, 2, 3, (0, 0), 1, 1),
    (1, 12, 12, 20, 40, 3, 1, (2, 2), 2, 1),
    (1, 8, 9, 12, 18, 3, 1, (1, 1), 1, 3),
    (1, 31, 29, 3, 70, 7, 2, (3, 2), 1, 1),
    (2, 15, 15, 64, 64, 1, 1, (0, 0), 1, 1),
    (1, 5, 6, 7, 7, 3, 1, (1, 1), 1, 7),
]


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize(("kind", "zero_point"), [(S8, -7), (U8, 131)])
@pytest.mark.parametrize("sizes", CONVOLUTIONS)
def test_convolutions_with_a_scale_per_channel(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    sizes: Any,
    kind: DataType,
    zero_point: int,
    layout: DataLayout,
) -> None:
    n, h, w, c, o, k, stride, pad, dilation, groups = sizes
    rng = np.random.default_rng(1)
    x = stored(rng, (n, h, w, c), kind)
    weights = stored(rng, (o, k, k, c // groups), SYMMETRIC)
    bias = rng.integers(-9000, 9000, o, np.int32)
    scales = rng.uniform(0.001, 0.03, o).astype("f4")
    whole = convolved(x - np.int64(zero_point), weights.astype("i8"), stride, pad, dilation, groups)
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    network = Network()
    image = network.add_input("x", TensorInfo(x.transpose(order).shape, kind, 0.25, zero_point))
    ordered = np.ascontiguousarray(weights.transpose(order))
    out_scale = 0.01 * k * k * c
    made = network.add_convolution2d(
        image,
        network.add_constant(ordered, TensorInfo(ordered.shape, SYMMETRIC, scales, axis=0)),
        network.add_constant(bias),
        **window(stride, pad, dilation, layout),
        output=TensorInfo(None, kind, out_scale, zero_point + 3),
    )
    relu = network.add_activation(made, function=ActivationFunction.RELU, output=made.info)
    network.add_output("y", relu)
    result = run_network(network, x=np.ascontiguousarray(x.transpose(order)))
    back = result if layout is DataLayout.NHWC else result.transpose(0, 2, 3, 1)
    multipliers = 0.25 * scales.astype(float) / np.float32(out_scale)
    check_bytes(back, (whole + bias) * multipliers, zero_point + 3, lowest=zero_point + 3)


@pytest.mark.parametrize(
    ("sizes", "size", "stride", "dilation"),
    [
        ((3, 5, 7, 3), 3, 1, 1),
        ((1, 16, 17, 17), 3, 2, 1),
        ((1, 14, 15, 33), 5, 1, 1),
        ((2, 14, 15, 16), 5, 2, 1),
        ((1, 9, 20, 7), 3, 1, 3),
        ((1, 2, 1, 1), 7, 4, 1),
        ((1, 6, 5, 64), 1, 1, 1),
    ],
)
@pytest.mark.parametrize(("kind", "zero_point"), [(S8, 127), (U8, 3)])
def test_depthwise_convolutions(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    sizes: Any,
    size: int,
    stride: int,
    dilation: int,
    kind: DataType,
    zero_point: int,
) -> None:
    rng = np.random.default_rng(2)
    c = sizes[3]
    x = stored(rng, sizes, kind)
    weights = stored(rng, (1, size, size, c), SYMMETRIC)
    bias = rng.integers(-900, 900, c, np.int32)
    scales = rng.uniform(0.01, 0.03, c).astype("f4")
    pad = (size * dilation // 2, size * dilation // 2)
    full = weights[0].transpose(2, 0, 1)[..., None].astype("i8")
    whole = convolved(x - np.int64(zero_point), full, stride, pad, dilation, c)
    network = Network()
    made = network.add_depthwise_convolution2d(
        network.add_input("x", TensorInfo(sizes, kind, 0.5, zero_point)),
        network.add_constant(weights, TensorInfo(weights.shape, SYMMETRIC, scales, axis=3)),
        network.add_constant(bias),
        **window(stride, pad, dilation, DataLayout.NHWC),
        output=TensorInfo(None, kind, 4.0, 20),
    )
    network.add_output("y", made)
    check_bytes(run_network(network, x=x), (whole + bias) * 0.125 * scales.astype(float), 20)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("weight_kind", "weight_zero"), [(S8, 0), (S8, -5), (U8, 128), (U8, 30)])
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(1, 1, 1), (1, 70, 65), (3, 17, 7), (15, 33, 31), (29, 5, 97), (1, 515, 12), (2, 64, 32)],
)
def test_fully_connected(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    rows: int,
    depth: int,
    columns: int,
    weight_kind: DataType,
    weight_zero: int,
    threads: int,
) -> None:
    rng = np.random.default_rng(3)
    x = stored(rng, (rows, depth), S8)
    weights = stored(rng, (columns, depth), weight_kind)
    bias = rng.integers(-900, 900, columns, np.int32)
    network = Network()
    info = TensorInfo(weights.shape, weight_kind, 0.125, weight_zero)
    made = network.add_fully_connected(
        network.add_input("x", TensorInfo(x.shape, S8, 0.5, -3)),
        network.add_constant(weights, info),
        network.add_constant(bias),
        transpose_weight_matrix=True,
        output=TensorInfo(None, S8, 0.6 * depth, 1),
    )
    network.add_output("y", made)
    whole = (x + np.int64(3)) @ (weights - np.int64(weight_zero)).T + bias
    check_bytes(run_network(network, threads, x=x), whole * (0.0625 / (0.6 * depth)), 1)


@pytest.mark.parametrize("transposes", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(("kind", "points"), [(S8, (-4, 9)), (U8, (120, 3))])
def test_products_of_computed_matrices(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    kind: DataType,
    points: tuple[int, int],
    transposes: Any,
) -> None:
    rng = np.random.default_rng(4)
    x = stored(rng, (3, 19, 6) if transposes[0] else (3, 6, 19), kind)
    y = stored(rng, (1, 37, 19) if transposes[1] else (1, 19, 37), kind)
    network = Network()
    made = network.add_batch_mat_mul(
        network.add_input("x", TensorInfo(x.shape, kind, 0.5, points[0])),
        network.add_input("y", TensorInfo(y.shape, kind, 0.25, points[1])),
        transpose_x=transposes[0],
        transpose_y=transposes[1],
        output=TensorInfo(None, kind, 30.0, 7),
    )
    network.add_output("z", made)
    left, right = x - np.int64(points[0]), y - np.int64(points[1])
    left = left.swapaxes(1, 2) if transposes[0] else left
    right = right.swapaxes(1, 2) if transposes[1] else right
    check_bytes(run_network(network, x=x, y=y), left @ right * (0.125 / 30.0), 7)


def test_sums_that_float32_would_round_are_exact(run_network: Callable[..., Array]) -> None:
    depth = 4096
    x = np.full((2, depth), 127, np.int8)
    x[1, 0] = 100
    weights = np.full((3, depth), 127, np.int8)
    bias = np.array([0, 1, 50], np.int32) - depth * 127 * 127
    network = Network()
    made = network.add_fully_connected(
        network.add_input("x", TensorInfo(x.shape, S8, 1.0, 0)),
        network.add_constant(weights, TensorInfo(weights.shape, SYMMETRIC, 1.0)),
        network.add_constant(bias),
        transpose_weight_matrix=True,
        output=TensorInfo(None, S8, 1.0, 0),
    )
    network.add_output("y", made)
    assert run_network(network, x=x).tolist() == [[0, 1, 50], [-128, -128, -128]]


def test_the_extreme_bytes_do_not_saturate_on_the_way(run_network: Callable[..., Array]) -> None:
    """Two products of 255 and -128 exceed 16 bits."""
    x = np.full((1, 64), 255, np.uint8)
    weights = np.array([[-128] * 64, [127] * 64], np.int8)
    network = Network()
    made = network.add_fully_connected(
        network.add_input("x", TensorInfo(x.shape, U8, 1.0, 0)),
        network.add_constant(weights, TensorInfo(weights.shape, SYMMETRIC, 1.0)),
        transpose_weight_matrix=True,
        output=TensorInfo(None, U8, 32640.0, 100),
    )
    network.add_output("y", made)
    assert run_network(network, x=x).tolist() == [[36, 164]]
