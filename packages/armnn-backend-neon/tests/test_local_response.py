# SPDX-License-Identifier: MIT
"""Local response normalization on every level, against float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import DataLayout, Network, TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

SIZES = [(1, 1, 1, 1), (2, 5, 7, 3), (1, 9, 4, 40)]
"""Batch, height, width and channels."""


def windows(x: Array, axes: tuple[int, ...], radius: int) -> Array:
    """Return the sums of windows, padded with zeros."""
    for axis in axes:
        pad = [(radius, radius) if each == axis else (0, 0) for each in range(x.ndim)]
        seen = np.lib.stride_tricks.sliding_window_view(np.pad(x, pad), 2 * radius + 1, axis)
        x = seen.sum(-1)
    return x


def made_and_expected(
    x: Array, across: bool, layout: DataLayout, **rule: Any
) -> tuple[Array, Array]:
    """Return CpuAcc's result of [N,H,W,C], and float64's."""
    given = x if layout is DataLayout.NHWC else np.ascontiguousarray(np.moveaxis(x, -1, 1))
    net = Network("response")
    y = net.add_normalization(
        net.add_input("x", TensorInfo(given.shape)),
        norm_channel_type="Across" if across else "Within",
        data_layout=layout,
        **rule,
    )
    net.add_output("y", y)
    with armnn.Runtime() as runtime:
        made = np.array(runtime.load_model(net, backends=["CpuAcc"]).run({"x": given})["y"])
    made = made if layout is DataLayout.NHWC else np.moveaxis(made, 1, -1)
    real = x.astype(np.float64)
    sums = windows(real**2, (3,) if across else (1, 2), rule["norm_size"] // 2)
    return made, real * (rule["k"] + rule["alpha"] * sums) ** -rule["beta"]


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_neighbors_are_channels_or_pixels(
    sizes: tuple[int, ...], across: bool, layout: DataLayout, level: str
) -> None:
    x = np.random.default_rng(1).standard_normal(sizes, np.float32)
    for norm_size, beta in ((1, 0.75), (3, 0.5), (5, 1.0), (41, 0.75)):
        rule = {"norm_size": norm_size, "alpha": 0.3, "beta": beta, "k": 1.5}
        made, expected = made_and_expected(x, across, layout, **rule)
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("across", [False, True])
def test_squares_that_float32_does_not_hold(across: bool, level: str) -> None:
    x = np.full((1, 4, 3, 5), 2e25, np.float32)
    x[0, 1, 1, 1] = 1.0
    rule = {"norm_size": 3, "alpha": 1e-3, "beta": 0.75, "k": 1.0}
    made, expected = made_and_expected(x, across, DataLayout.NHWC, **rule)
    np.testing.assert_allclose(made, expected, rtol=1e-5)


def test_a_window_of_any_size_ends_at_the_picture() -> None:
    x = np.random.default_rng(2).standard_normal((1, 3, 4, 2), np.float32)
    rule: dict[str, Any] = {"norm_size": 2**31 - 1, "alpha": 0.3, "beta": 0.75, "k": 1.5}
    made, _ = made_and_expected(x, False, DataLayout.NHWC, **{**rule, "norm_size": 9})
    net = Network("all")
    value = net.add_input("x", TensorInfo(x.shape))
    net.add_output(
        "y",
        net.add_normalization(value, norm_channel_type="Within", data_layout="NHWC", **rule),
    )
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
    np.testing.assert_array_equal(y, made)
