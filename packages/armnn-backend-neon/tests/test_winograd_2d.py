# SPDX-License-Identifier: MIT
"""Winograd convolutions, on every level, against float64."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import armnn
from armnn import DataLayout, Network, TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Case(NamedTuple):
    """A case: image [N,H,W,I], output channels and padding."""

    image: tuple[int, int, int, int]
    columns: int
    pads: tuple[int, int] = (1, 1)


CASES = [
    Case((1, 20, 23, 32), 40),
    Case((3, 9, 30, 17), 24, (0, 0)),
    Case((1, 33, 17, 96), 24, (0, 2)),
    Case((1, 14, 14, 128), 129),
    Case((2, 7, 40, 65), 33, (2, 1)),
]

LARGE = [
    Case((1, 48, 48, 64), 64),
    Case((2, 34, 29, 96), 65),
    Case((1, 23, 36, 256), 48, (0, 1)),
]
"""Images with many tiles of 6 x 6."""


class Made(NamedTuple):
    """Inputs of a case, and its right sums."""

    x: NDArray[Any]
    weights: NDArray[Any]
    bias: NDArray[Any]
    other: NDArray[Any]
    sums: NDArray[Any]


@lru_cache(maxsize=1)  # a test computes a case twice
def made_for(case: Case) -> Made:
    """Return the numbers of a case, and what is right."""
    generator = np.random.default_rng(8)
    x = generator.standard_normal(case.image, np.float32)
    w = generator.standard_normal((case.columns, 3, 3, case.image[3]), np.float32)
    bias = generator.standard_normal(case.columns, np.float32)
    sums = convolved(x, w, case.pads) + bias
    return Made(x, w, bias, generator.standard_normal(sums.shape, np.float32), sums)


def convolved(x: NDArray[Any], w: NDArray[Any], pads: tuple[int, int]) -> NDArray[Any]:
    """Return the sum over the window, tap by tap."""
    x = np.pad(x.astype(np.float64), ((0, 0), pads, pads, (0, 0)))
    height, width = x.shape[1] - 2, x.shape[2] - 2
    y: NDArray[Any] = np.zeros((x.shape[0], height, width, w.shape[0]))
    for i, j in product(range(3), range(3)):
        y += x[:, i : i + height, j : j + width] @ w[:, i, j].astype(np.float64).T
    return y


def off_by(case: Case, layout: DataLayout, *, fast_math: bool) -> tuple[float, NDArray[Any]]:
    """Return the relative error and the outputs of CpuAcc.

    The error is relative to the largest output.
    """
    x, w, bias, other, sums = made_for(case)
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    net = Network("3x3")
    image = net.add_input("x", TensorInfo(x.transpose(order).shape))
    added = net.add_input("other", TensorInfo(other.transpose(order).shape))
    made = net.add_convolution2d(
        image,
        net.add_constant(np.ascontiguousarray(w.transpose(order))),
        net.add_constant(bias),
        pad_top=case.pads[0],
        pad_bottom=case.pads[1],
        pad_left=case.pads[0],
        pad_right=case.pads[1],
        data_layout=layout,
    )
    total = net.add_addition(made, added)
    net.add_output("y", net.add_activation(total, function=armnn.ActivationFunction.RELU))
    feeds = {
        "x": np.ascontiguousarray(x.transpose(order)),
        "other": np.ascontiguousarray(other.transpose(order)),
    }
    with armnn.Runtime() as runtime:
        options = {"CpuAcc": {"FastMathEnabled": fast_math}}
        model = runtime.load_model(net, backends=["CpuAcc"], backend_options=options)
        y = np.array(model.run(feeds)["y"])
    expected = np.maximum(sums + other, 0.0).transpose(order)
    assert y.shape == expected.shape
    return float(np.abs(y - expected).max() / np.abs(expected).max()), y


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_plain_convolution_within_2e_5_of_the_largest_output(
    case: Case, layout: DataLayout, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", "winograd_2d 4")
    assert off_by(case, layout, fast_math=False)[0] <= 2e-5


@pytest.mark.parametrize("case", LARGE)
def test_larger_tiles_under_fast_math_stay_within_1e_4(
    case: Case, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", "winograd_2d 4")
    exact, smaller = off_by(case, DataLayout.NHWC, fast_math=False)
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", "winograd_2d 6")
    fast, larger = off_by(case, DataLayout.NHWC, fast_math=True)
    assert exact <= 2e-5
    assert fast <= 1e-4
    assert not np.array_equal(smaller, larger)
