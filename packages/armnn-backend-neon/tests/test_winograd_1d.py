# SPDX-License-Identifier: MIT
"""Winograd convolutions along one axis, on every level, against float64."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import armnn
from armnn import DataLayout, Network, TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Case(NamedTuple):
    """A case: image [N, H, W, I], channels, window, padding.

    Padding and dilation are those of height and width.
    """

    image: tuple[int, int, int, int]
    columns: int
    window: tuple[int, int]
    pads: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    dilation: tuple[int, int] = (1, 1)


CASES = [
    Case((1, 37, 63, 12), 12, (7, 3), ((3, 3), (1, 1))),
    Case((2, 130, 1, 48), 67, (5, 1), ((2, 0), (0, 0))),
    Case((1, 1, 259, 17), 40, (1, 7), ((0, 0), (3, 3))),
    Case((3, 19, 23, 33), 24, (5, 5), ((2, 2), (2, 2))),
    Case((1, 3, 700, 256), 40, (3, 5), ((1, 1), (0, 1))),
    Case((1, 41, 18, 7), 16, (3, 7), ((0, 2), (5, 6))),
    Case((1, 9, 16, 24), 8, (3, 3), ((1, 1), (1, 1))),
    Case((1, 600, 3, 16), 33, (3, 1), ((1, 1), (0, 0))),
    Case((1, 40, 63, 12), 12, (7, 3), ((6, 6), (1, 1)), (2, 1)),
    Case((2, 33, 29, 20), 36, (5, 3), ((4, 3), (2, 3)), (1, 3)),
]


def convolved(x: NDArray[Any], w: NDArray[Any], case: Case) -> NDArray[Any]:
    """Return the sum over the window, tap by tap."""
    x = np.pad(x.astype(np.float64), ((0, 0), *case.pads, (0, 0)))
    down, across = case.dilation
    height = x.shape[1] - (case.window[0] - 1) * down
    width = x.shape[2] - (case.window[1] - 1) * across
    y: NDArray[Any] = np.zeros((x.shape[0], height, width, w.shape[0]))
    for i, j in product(range(case.window[0]), range(case.window[1])):
        top, left = i * down, j * across
        y += x[:, top : top + height, left : left + width] @ w[:, i, j].astype(np.float64).T
    return y


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_plain_convolution_within_1e_5_of_the_largest_output(
    case: Case, layout: DataLayout, threads: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_ISA", level)
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", threads)
    generator = np.random.default_rng(9)
    x = generator.standard_normal(case.image, np.float32)
    w = generator.standard_normal((case.columns, *case.window, case.image[3]), np.float32)
    bias = generator.standard_normal(case.columns, np.float32)
    sums = convolved(x, w, case) + bias
    other = generator.standard_normal(sums.shape, np.float32)
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    net = Network("lines")
    image = net.add_input("x", TensorInfo(x.transpose(order).shape))
    added = net.add_input("other", TensorInfo(other.transpose(order).shape))
    made = net.add_convolution2d(
        image,
        net.add_constant(np.ascontiguousarray(w.transpose(order))),
        net.add_constant(bias),
        pad_top=case.pads[0][0],
        pad_bottom=case.pads[0][1],
        pad_left=case.pads[1][0],
        pad_right=case.pads[1][1],
        dilation_y=case.dilation[0],
        dilation_x=case.dilation[1],
        data_layout=layout,
    )
    total = net.add_addition(made, added)
    net.add_output("y", net.add_activation(total, function=armnn.ActivationFunction.RELU))
    feed = {"x": x.transpose(order), "other": other.transpose(order)}
    with armnn.Runtime() as runtime:
        model = runtime.load_model(net, backends=["CpuAcc"])
        y = model.run({name: np.ascontiguousarray(array) for name, array in feed.items()})["y"]
    expected = np.maximum(sums + other, 0.0).transpose(order)
    assert y.shape == expected.shape
    assert np.abs(y - expected).max() <= 1e-5 * np.abs(expected).max()
