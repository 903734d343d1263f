# SPDX-License-Identifier: MIT
"""Pooling and reductions of bytes, on every level, against integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.types import PaddingMethod, PoolingAlgorithm, ReduceOperation

Array: TypeAlias = NDArray[Any]

S8, U8 = DataType.QASYMM_S8, DataType.QASYMM_U8


def stored(shape: Any, kind: DataType) -> Array:
    """Return all kinds of bytes."""
    limits = np.iinfo(kind.numpy_dtype)
    rng = np.random.default_rng(1)
    numbers: Array = rng.integers(limits.min, limits.max, shape, kind.numpy_dtype, endpoint=True)
    return numbers


def pooled(x: Array, fill: int, size: int, stride: int, pad: int) -> Array:
    """Return an NHWC image's windows, [N,H',W',C,window]."""
    sides = ((0, 0), (pad, pad), (pad, pad), (0, 0))
    padded = np.pad(x.astype(np.int64), sides, constant_values=fill)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (1, 2))
    chosen = windows[:, ::stride, ::stride]
    return chosen.reshape(*chosen.shape[:4], -1)


def network_of(
    x: Array, kind: DataType, size: int, stride: int, pad: int, **fields: Any
) -> Network:
    """Return a Pooling2d network, scale 0.5 and zero point 9."""
    fields |= dict.fromkeys(("pad_left", "pad_right", "pad_top", "pad_bottom"), pad)
    fields |= dict.fromkeys(("stride_x", "stride_y"), stride)
    network = Network()
    made = network.add_pooling2d(
        network.add_input("x", TensorInfo(x.shape, kind, 0.5, 9)),
        pool_width=size,
        pool_height=size,
        data_layout=DataLayout.NHWC,
        **fields,
    )
    network.add_output("y", made)
    return network


SIZES = [
    # shape, window, stride, pad
    ((3, 5, 7, 3), 3, 1, 1),
    ((1, 16, 17, 17), 2, 2, 0),
    ((2, 9, 9, 65), 3, 2, 1),
    ((1, 1, 1, 1), 1, 3, 0),
]


@pytest.mark.parametrize("kind", [S8, U8])
@pytest.mark.parametrize("sizes", SIZES)
def test_maxima(run_network: Callable[..., Array], sizes: Any, kind: DataType) -> None:
    x = stored(sizes[0], kind)
    network = network_of(
        x, kind, *sizes[1:], pool_type=PoolingAlgorithm.MAX, output=TensorInfo(None, kind, 0.5, 9)
    )
    windows = pooled(x, -1000, *sizes[1:])
    assert np.array_equal(run_network(network, x=x), windows.max(-1))


@pytest.mark.parametrize("kind", [S8, U8])
@pytest.mark.parametrize("sizes", SIZES)
def test_averages_that_count_padding_in_another_scale(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    sizes: Any,
    kind: DataType,
) -> None:
    x = stored(sizes[0], kind)
    network = network_of(
        x,
        kind,
        *sizes[1:],
        pool_type=PoolingAlgorithm.AVERAGE,
        padding_method=PaddingMethod.IGNORE_VALUE,
        output=TensorInfo(None, kind, 0.3, 2),
    )
    real = (pooled(x, 9, *sizes[1:]) - 9).mean(-1) * 0.5 / np.float32(0.3)
    check_bytes(run_network(network, x=x), real, 2)


def test_averages_in_one_scale_round_as_they_are_stored(run_network: Callable[..., Array]) -> None:
    x = np.array([[-2, 2], [-3, 3], [1, 7], [-128, 127]], np.int8).T.reshape(1, 1, 2, 4)
    network = Network()
    info = TensorInfo(x.shape, S8, 0.5, -4)
    made = network.add_pooling2d(
        network.add_input("x", info),
        pool_type=PoolingAlgorithm.AVERAGE,
        pool_width=2,
        pool_height=1,
        stride_x=2,
        stride_y=1,
        padding_method=PaddingMethod.EXCLUDE,
        data_layout=DataLayout.NHWC,
        output=TensorInfo(None, S8, 0.5, -4),
    )
    network.add_output("y", made)
    x[..., 0, 0], x[..., 1, 0] = -2, -3
    assert run_network(network, x=x).ravel().tolist() == [-3, 0, 4, -1]


@pytest.mark.parametrize(("axes", "keeps"), [((1, 2), True), ((1, 2), False), ((3,), True)])
def test_means(
    run_network: Callable[..., Array], check_bytes: Callable[..., None], axes: Any, keeps: bool
) -> None:
    x = stored((2, 7, 7, 19), S8)
    network = Network()
    made = network.add_mean(
        network.add_input("x", TensorInfo(x.shape, S8, 0.25, 4)),
        axis=axes,
        keep_dims=keeps,
        output=TensorInfo(None, S8, 0.02, 1),
    )
    network.add_output("y", made)
    real = (x - 4.0).mean(axes, keepdims=keeps) * 0.25 / np.float32(0.02)
    check_bytes(run_network(network, x=x), real, 1)


REDUCTIONS: dict[ReduceOperation, Callable[..., Array]] = {
    ReduceOperation.SUM: np.sum,
    ReduceOperation.MEAN: np.mean,
    ReduceOperation.MAX: np.max,
    ReduceOperation.MIN: np.min,
    ReduceOperation.PROD: np.prod,
}


@pytest.mark.parametrize("kind", [S8, U8])
@pytest.mark.parametrize("axes", [(1, 2), (0,), (3,), (1,)])
@pytest.mark.parametrize("operation", REDUCTIONS)
def test_reductions(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    operation: ReduceOperation,
    axes: Any,
    kind: DataType,
) -> None:
    x = stored((2, 7, 5, 19), kind)
    network = Network()
    made = network.add_reduce(
        network.add_input("x", TensorInfo(x.shape, kind, 0.25, 4)),
        axis=axes,
        reduce_operation=operation,
        output=TensorInfo(None, kind, 0.4, 1),
    )
    network.add_output("y", made)
    real = REDUCTIONS[operation]((x - 4.0) * 0.25, axis=axes) / np.float32(0.4)
    check_bytes(run_network(network, x=x), real, 1)


@pytest.mark.parametrize("kind", [S8, U8])
@pytest.mark.parametrize("operation", [ReduceOperation.MAX, ReduceOperation.MIN])
def test_extremes_of_one_scale_are_bytes_of_the_input(
    run_network: Callable[..., Array], operation: ReduceOperation, kind: DataType
) -> None:
    x = stored((1, 3, 4, 33), kind)
    network = Network()
    made = network.add_reduce(
        network.add_input("x", TensorInfo(x.shape, kind, 0.25, 4)),
        axis=(1, 2),
        reduce_operation=operation,
        keep_dims=True,
    )
    network.add_output("y", made)
    expected = REDUCTIONS[operation](x, axis=(1, 2), keepdims=True)
    np.testing.assert_array_equal(run_network(network, x=x), expected)
