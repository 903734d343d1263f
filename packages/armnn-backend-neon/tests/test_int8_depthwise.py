# SPDX-License-Identifier: MIT
"""Depthwise convolutions of bytes, on every level, against integers."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from armnn import DataLayout, DataType, Network, TensorInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class Case(NamedTuple):
    """A case of an image [N,H,W,C] and window [KH,KW].

    Strides and dilations are down and across. Pads are those above, below, to the left and to the
    right.
    """

    image: tuple[int, int, int, int]
    window: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)


CASES = [
    Case((1, 59, 1, 96), (9, 1), pads=(4, 4, 0, 0)),
    Case((3, 13, 1, 7), (9, 1), (2, 1), pads=(3, 4, 0, 0)),
    Case((1, 1, 230, 17), (1, 9), pads=(0, 0, 4, 4)),
    Case((2, 1, 50, 33), (1, 6), (1, 3), (1, 2)),
    Case((1, 1, 1, 1), (9, 1), pads=(4, 4, 0, 0)),
    Case((2, 12, 11, 40), (3, 3), pads=(1, 1, 1, 1)),
    Case((1, 17, 12, 16), (3, 3), (2, 2), pads=(0, 1, 0, 1)),
    Case((1, 6, 30, 8), (5, 5), (3, 2), pads=(2, 2, 2, 2)),
    Case((1, 20, 9, 3), (2, 4), (1, 5), (3, 1), pads=(0, 3, 0, 2)),
    Case((1, 2, 3, 20), (5, 7), pads=(4, 4, 6, 6)),
    Case((2, 9, 200, 5), (4, 2), (5, 1), pads=(0, 2, 1, 0)),
    Case((1, 9, 11, 150), (3, 3), pads=(1, 1, 1, 1)),
    Case((1, 10, 9, 70), (5, 5), (2, 2), pads=(1, 2, 2, 1)),
    Case((2, 1, 49, 72), (1, 9), pads=(0, 0, 4, 4)),
    Case((1, 7, 40, 64), (3, 5), (1, 1), (2, 3), pads=(2, 2, 6, 0)),
    Case((1, 6, 300, 34), (6, 3), (1, 2), pads=(0, 5, 1, 1)),
    Case((1, 42, 12, 64), (40, 3), (1, 5)),
]


def convolved(x: NDArray[Any], w: NDArray[Any], case: Case) -> NDArray[Any]:
    """Return the sum over the window, tap by tap."""
    above, below, left, right = case.pads
    x = np.pad(x, ((0, 0), (above, below), (left, right), (0, 0)))
    (down, across), (apart_y, apart_x) = case.strides, case.dilations
    height = (x.shape[1] - (w.shape[0] - 1) * apart_y - 1) // down + 1
    width = (x.shape[2] - (w.shape[1] - 1) * apart_x - 1) // across + 1
    y: NDArray[Any] = np.zeros((x.shape[0], height, width, x.shape[3]), np.int64)
    for i, j in product(range(w.shape[0]), range(w.shape[1])):
        rows = slice(i * apart_y, i * apart_y + (height - 1) * down + 1, down)
        columns = slice(j * apart_x, j * apart_x + (width - 1) * across + 1, across)
        y += x[:, rows, columns] * w[i, j]
    return y


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", [DataType.QASYMM_S8, DataType.QASYMM_U8])
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_convolution(
    run_network: Callable[..., NDArray[Any]],
    check_bytes: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    case: Case,
    kind: DataType,
    threads: int,
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", str(threads))  # the smallest loops are split, too
    generator = np.random.default_rng(3)
    channels = case.image[3]
    limits = np.iinfo(kind.numpy_dtype)
    x = generator.integers(limits.min, limits.max, case.image, kind.numpy_dtype, endpoint=True)
    weights = generator.integers(-128, 128, (1, *case.window, channels), np.int8)
    bias = generator.integers(-900, 900, channels, np.int32)
    scales = generator.uniform(0.01, 0.03, channels).astype("f4")
    zero_point = limits.max - 3
    sums = convolved(x.astype(np.int64) - zero_point, weights[0].astype(np.int64), case) + bias
    net = Network("depthwise")
    image = net.add_input("x", TensorInfo(x.shape, kind, 0.5, zero_point))
    made = net.add_depthwise_convolution2d(
        image,
        net.add_constant(weights, TensorInfo(weights.shape, DataType.QSYMM_S8, scales, axis=3)),
        net.add_constant(bias),
        data_layout=DataLayout.NHWC,
        pad_top=case.pads[0],
        pad_bottom=case.pads[1],
        pad_left=case.pads[2],
        pad_right=case.pads[3],
        stride_y=case.strides[0],
        stride_x=case.strides[1],
        dilation_y=case.dilations[0],
        dilation_x=case.dilations[1],
        output=TensorInfo(None, kind, 4.0, 20),
    )
    net.add_output("y", made)
    check_bytes(run_network(net, threads=threads, x=x), sums * 0.125 * scales.astype(float), 20)
