# SPDX-License-Identifier: MIT
"""Pooling of few and many channels, against float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import armnn
from armnn import DataLayout, Network, PoolingAlgorithm, TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

MEANINGS: dict[PoolingAlgorithm, Callable[[NDArray[Any]], NDArray[Any]]] = {
    PoolingAlgorithm.MAX: lambda windows: windows.max(axis=(-2, -1)),
    PoolingAlgorithm.AVERAGE: lambda windows: windows.mean(axis=(-2, -1)),
    PoolingAlgorithm.L2: lambda windows: np.sqrt((windows**2).mean(axis=(-2, -1))),
}


@pytest.mark.parametrize("channels", [1, 17, 64, 77, 150])
@pytest.mark.parametrize("kind", MEANINGS)
def test_it_is_what_the_windows_say(kind: PoolingAlgorithm, channels: int, level: str) -> None:
    x = np.random.default_rng(1).standard_normal((2, 9, 8, channels), np.float32)
    net = Network("pooling")
    made = net.add_pooling2d(
        net.add_input("x", TensorInfo(x.shape)),
        pool_type=kind,
        pool_height=3,
        pool_width=2,
        stride_y=2,
        stride_x=1,
        data_layout=DataLayout.NHWC,
    )
    net.add_output("y", made)
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
    windows = sliding_window_view(x.astype(np.float64), (3, 2), axis=(1, 2))[:, ::2]
    np.testing.assert_allclose(y, MEANINGS[kind](windows), rtol=1e-5, atol=1e-6)


def test_a_nan_in_the_window_is_the_maximum(level: str) -> None:
    x = np.ones((1, 2, 2, 70), np.float32)
    x[0, 1, 0, 33] = np.nan
    net = Network("nan")
    made = net.add_pooling2d(
        net.add_input("x", TensorInfo(x.shape)),
        pool_type=PoolingAlgorithm.MAX,
        pool_height=2,
        pool_width=2,
        stride_y=1,
        stride_x=1,
        data_layout=DataLayout.NHWC,
    )
    net.add_output("y", made)
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
    assert list(np.flatnonzero(np.isnan(y))) == [33]
