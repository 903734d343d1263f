# SPDX-License-Identifier: MIT
"""Convolutions of few output channels, on every level.

Their outputs share a row.
"""

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
    """A case of an image [N,H,W,I] and window [O,KH,KW,I].

    Strides are down and across, padding is around.
    """

    image: tuple[int, int, int, int]
    window: tuple[int, int, int, int]
    strides: tuple[int, int] = (1, 1)
    pad: int = 0


CASES = [
    Case((1, 6, 32, 8), (8, 3, 9, 8), pad=1),
    Case((2, 5, 19, 8), (1, 5, 5, 8), pad=2),
    Case((1, 1, 131, 1), (1, 1, 16, 1), (1, 2)),
    Case((1, 7, 23, 33), (1, 3, 3, 33), pad=1),
    Case((3, 4, 17, 40), (3, 1, 5, 40), (2, 3)),
    Case((1, 3, 5, 3), (2, 3, 3, 3), pad=1),
    Case((1, 9, 18, 20), (5, 3, 3, 20), (2, 1), 1),
]


def convolved(x: NDArray[Any], w: NDArray[Any], case: Case) -> NDArray[Any]:
    """Return the sum over the window, tap by tap."""
    pads = (case.pad, case.pad)
    x = np.pad(x.astype(np.float64), ((0, 0), pads, pads, (0, 0)))
    down, across = case.strides
    height = (x.shape[1] - w.shape[1]) // down + 1
    width = (x.shape[2] - w.shape[2]) // across + 1
    y: NDArray[Any] = np.zeros((x.shape[0], height, width, w.shape[0]))
    for i, j in product(range(w.shape[1]), range(w.shape[2])):
        rows = slice(i, i + (height - 1) * down + 1, down)
        columns = slice(j, j + (width - 1) * across + 1, across)
        y += x[:, rows, columns] @ w[:, i, j].astype(np.float64).T
    return y


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_convolution(
    case: Case, layout: DataLayout, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")
    generator = np.random.default_rng(9)
    x = generator.standard_normal(case.image, np.float32)
    w = generator.standard_normal(case.window, np.float32)
    bias = generator.standard_normal(case.window[0], np.float32)
    expected = np.maximum(convolved(x, w, case) + bias, 0.0)
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    net = Network("narrow")
    image = net.add_input("x", TensorInfo(x.transpose(order).shape))
    made = net.add_convolution2d(
        image,
        net.add_constant(np.ascontiguousarray(w.transpose(order))),
        net.add_constant(bias),
        stride_y=case.strides[0],
        stride_x=case.strides[1],
        pad_left=case.pad,
        pad_right=case.pad,
        pad_top=case.pad,
        pad_bottom=case.pad,
        data_layout=layout,
    )
    net.add_output("y", net.add_activation(made, function=armnn.ActivationFunction.RELU))
    with armnn.Runtime() as runtime:
        model = runtime.load_model(net, backends=["CpuAcc"])
        (y,) = model.run({"x": np.ascontiguousarray(x.transpose(order))}).values()
    np.testing.assert_allclose(y, expected.transpose(order), rtol=1e-5, atol=5e-5)
