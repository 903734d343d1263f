# SPDX-License-Identifier: MIT
"""Plain convolutions whose windows reach over all borders."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, Network
from armnn.tensor import info_of

Array: TypeAlias = NDArray[Any]

CHANNELS, COLUMNS = 20, 18
"""More channels than the direct kernel takes."""


class Case(NamedTuple):
    """Sizes, rows before columns.

    Attributes:
        image: Of the image.
        window: Taps of a window.
        stride: From one window to the next.
        dilation: From one tap to the next.
        pads: At the top and the bottom; on the left and the right.
    """

    image: tuple[int, int]
    window: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pads: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))


CASES = {
    "lines shorter than a tile": Case((9, 6), (3, 3), pads=((1, 1), (1, 1))),
    "lines longer than a tile": Case((3, 45), (3, 3), pads=((1, 1), (1, 1))),
    "lines of three": Case((11, 3), (3, 3), pads=((1, 1), (1, 1))),
    "lines of one": Case((29, 1), (5, 1), pads=((2, 2), (0, 0))),
    "strides": Case((13, 22), (3, 5), stride=(2, 3), pads=((1, 1), (3, 2))),
    "taps that are always outside": Case((4, 9), (3, 1), dilation=(9, 1), pads=((9, 9), (0, 0))),
    "wide windows": Case((5, 17), (1, 4), dilation=(1, 6), pads=((0, 0), (12, 7))),
    "dilated in both ways": Case((19, 14), (3, 3), (2, 1), (4, 5), ((4, 3), (6, 5))),
}


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def exact(case: Case, x: Array, weights: Array) -> Array:
    """Return the sums in float64."""
    padded = np.pad(x.astype(np.float64), ((0, 0), *case.pads, (0, 0)))
    sides = [
        (padded.shape[1 + axis] - (case.window[axis] - 1) * case.dilation[axis] - 1)
        // case.stride[axis]
        + 1
        for axis in (0, 1)
    ]
    y: Array = np.zeros((len(x), *sides, COLUMNS))
    for tap in product(*map(range, case.window)):
        rows, columns = (
            slice(
                tap[axis] * case.dilation[axis],
                tap[axis] * case.dilation[axis] + (sides[axis] - 1) * case.stride[axis] + 1,
                case.stride[axis],
            )
            for axis in (0, 1)
        )
        y += padded[:, rows, columns] @ weights[:, tap[0], tap[1]].T.astype(np.float64)
    return y


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_taps_outside_of_the_image_are_zeros(
    monkeypatch: pytest.MonkeyPatch, level: str, name: str, threads: int
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", "plain")
    case = CASES[name]
    x, weights = random(2, *case.image, CHANNELS), random(COLUMNS, *case.window, CHANNELS)
    network = Network("windows")
    made = network.add_convolution2d(
        network.add_input("x", info_of(x)),
        weights,
        stride_y=case.stride[0],
        stride_x=case.stride[1],
        dilation_y=case.dilation[0],
        dilation_x=case.dilation[1],
        pad_top=case.pads[0][0],
        pad_bottom=case.pads[0][1],
        pad_left=case.pads[1][0],
        pad_right=case.pads[1][1],
        data_layout=DataLayout.NHWC,
    )
    network.add_output("y", made)
    options = {"CpuAcc": {"NumberOfThreads": threads}}
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"], backend_options=options)
        y = np.array(loaded.run({"x": x})["y"])
    right = exact(case, x, weights)
    assert y.shape == right.shape
    np.testing.assert_allclose(y, right, atol=1e-5 * np.abs(right).max())
