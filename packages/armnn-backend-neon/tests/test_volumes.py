# SPDX-License-Identifier: MIT
"""Convolution and pooling of volumes, against CpuRef."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import DataLayout, Network, PoolingAlgorithm, TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray


def computed(net: Network, x: NDArray[Any], backend: str) -> NDArray[Any]:
    with armnn.Runtime() as runtime:
        y: NDArray[Any] = runtime.load_model(net, backends=[backend]).run({"x": x})["y"]
    return y


@pytest.mark.parametrize("layout", [DataLayout.NDHWC, DataLayout.NCDHW])
@pytest.mark.parametrize("channels", [1, 17])
def test_a_convolution_is_the_sum_of_its_planes(
    layout: DataLayout, channels: int, level: str
) -> None:
    rng = np.random.default_rng(channels)
    x = np.moveaxis(
        rng.standard_normal((2, 5, 6, 7, channels), np.float32), -1, layout.channel_axis
    )
    weights = rng.standard_normal((3, 3, 2, channels, 19), np.float32)
    net = Network("convolution")
    made = net.add_convolution3d(
        net.add_input("x", TensorInfo(x.shape)),
        weights,
        rng.standard_normal(19, np.float32),
        stride_z=2,
        pad_front=2,
        pad_back=3,
        pad_top=1,
        dilation_z=2,
        data_layout=layout,
    )
    net.add_output("y", made)
    x = np.ascontiguousarray(x)
    expected = computed(net, x, "CpuRef")
    np.testing.assert_allclose(computed(net, x, "CpuAcc"), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", PoolingAlgorithm)
def test_a_box_is_pooled_in_two_steps(kind: PoolingAlgorithm, level: str) -> None:
    x = np.random.default_rng(4).standard_normal((2, 5, 6, 7, 70), np.float32)
    net = Network("pooling")
    made = net.add_pooling3d(
        net.add_input("x", TensorInfo(x.shape)),
        pool_type=kind,
        pool_depth=3,
        pool_height=3,
        pool_width=2,
        stride_z=2,
        stride_y=2,
        stride_x=1,
        pad_front=1,
        pad_top=1,
        data_layout=DataLayout.NDHWC,
    )
    net.add_output("y", made)
    expected = computed(net, x, "CpuRef")
    np.testing.assert_allclose(computed(net, x, "CpuAcc"), expected, rtol=1e-5, atol=1e-6)
