# SPDX-License-Identifier: MIT
"""Convolutions of images with few channels, whose windows slide over lines, on every level."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from armnn import ActivationFunction, DataLayout, Network, TensorInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class Case(NamedTuple):
    """An image [N,H,W,I], a window [O,KH,KW,I]; strides and dilation down and across.

    Pads are those above, below, to the left and to the right.
    """

    image: tuple[int, int, int, int]
    window: tuple[int, int, int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation_down: int = 1


CASES = [
    Case((1, 9, 31, 3), (24, 5, 5, 3), (2, 2), (1, 2, 1, 2)),
    Case((1, 8, 40, 1), (16, 3, 3, 1)),
    Case((2, 7, 21, 3), (8, 3, 3, 3), (2, 2), (0, 1, 0, 1)),
    Case((3, 5, 17, 7), (17, 3, 3, 7), (1, 1), (1, 1, 1, 1)),
    Case((1, 6, 15, 16), (40, 2, 4, 16), (3, 1), (0, 0, 3, 5)),
    Case((1, 2, 3, 3), (12, 5, 7, 3), (1, 1), (4, 4, 6, 6)),
    Case((1, 1, 1, 1), (20, 1, 2, 1), (1, 3), (0, 0, 1, 4)),
    Case((1, 4, 9, 2), (28, 3, 2, 2), (1, 5), (2, 2, 0, 2), 2),
    Case((2, 3, 30, 4), (70, 1, 3, 4), (1, 4), (0, 0, 0, 0)),
]


def convolved(x: NDArray[Any], w: NDArray[Any], case: Case) -> NDArray[Any]:
    """The sum over the window, tap by tap."""
    above, below, left, right = case.pads
    x = np.pad(x, ((0, 0), (above, below), (left, right), (0, 0)))
    down, across = case.strides
    height = (x.shape[1] - (w.shape[1] - 1) * case.dilation_down - 1) // down + 1
    width = (x.shape[2] - w.shape[2]) // across + 1
    y: NDArray[Any] = np.zeros((x.shape[0], height, width, w.shape[0]), x.dtype)
    for i, j in product(range(w.shape[1]), range(w.shape[2])):
        first = i * case.dilation_down
        rows = slice(first, first + (height - 1) * down + 1, down)
        columns = slice(j, j + (width - 1) * across + 1, across)
        y += x[:, rows, columns] @ w[:, i, j].T
    return y


def fields(case: Case) -> dict[str, Any]:
    """The fields of the layer."""
    names = ("pad_top", "pad_bottom", "pad_left", "pad_right")
    return {
        **dict(zip(names, case.pads, strict=True)),
        "stride_y": case.strides[0],
        "stride_x": case.strides[1],
        "dilation_y": case.dilation_down,
    }


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_convolution(
    run_network: Callable[..., NDArray[Any]],
    case: Case,
    layout: DataLayout,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")  # the smallest loops are split, too
    generator = np.random.default_rng(9)
    x = generator.standard_normal(case.image, np.float32)
    w = generator.standard_normal(case.window, np.float32)
    bias = generator.standard_normal(case.window[0], np.float32)
    sums = convolved(x.astype(np.float64), w.astype(np.float64), case) + bias
    other = generator.standard_normal(sums.shape, np.float32)
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    net = Network("shallow")
    image = net.add_input("x", TensorInfo(x.transpose(order).shape))
    made = net.add_convolution2d(
        image,
        net.add_constant(np.ascontiguousarray(w.transpose(order))),
        net.add_constant(bias),
        data_layout=layout,
        **fields(case),
    )
    rest = net.add_constant(np.ascontiguousarray(other.transpose(order)))
    total = net.add_addition(made, rest)
    net.add_output("y", net.add_activation(total, function=ActivationFunction.RELU))
    expected = np.maximum(sums + other, 0.0).transpose(order)
    result = run_network(net, x=np.ascontiguousarray(x.transpose(order)))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [None, ActivationFunction.SIGMOID])
@pytest.mark.parametrize("columns", [1, 3, 4, 8, 9, 12, 16, 17, 24, 25, 32, 33])
@pytest.mark.parametrize("width", [1, 2, 5, 7, 30])
def test_any_number_of_columns(
    run_network: Callable[..., NDArray[Any]],
    columns: int,
    width: int,
    function: ActivationFunction | None,
) -> None:
    case = Case((1, 2, width + 1, 3), (columns, 2, 2, 3))
    generator = np.random.default_rng(columns)
    x = generator.standard_normal(case.image, np.float32)
    w = generator.standard_normal(case.window, np.float32)
    expected = convolved(x.astype(np.float64), w.astype(np.float64), case)
    net = Network("columns")
    image = net.add_input("x", TensorInfo(x.shape))
    made = net.add_convolution2d(image, net.add_constant(w), data_layout=DataLayout.NHWC)
    if function is not None:
        made = net.add_activation(made, function=function)
        expected = 1.0 / (1.0 + np.exp(-expected))
    net.add_output("y", made)
    np.testing.assert_allclose(run_network(net, x=x), expected, rtol=1e-5, atol=1e-5)
