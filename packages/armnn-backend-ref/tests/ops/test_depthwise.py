# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn_backend_ref.ops import _depthwise
from armnn_backend_ref.ops._depthwise import sum_across_channels, sum_along_planes
from armnn_backend_ref.ops._windows import Window

Array: TypeAlias = NDArray[Any]
ORDERS = [sum_along_planes, sum_across_channels]


def definition(x: Array, taps: Array, bias: Array, window: Window, outer: tuple[int, int]) -> Array:
    padded = np.pad(x, [(0, 0), (0, 0), (window.before[0], 20), (window.before[1], 20)])
    y = np.zeros((*x.shape[:2], taps.shape[3], *outer))
    for (i, j), (row, column) in itertools.product(np.ndindex(window.size), np.ndindex(outer)):
        down = row * window.stride[0] + i * window.dilation[0]
        right = column * window.stride[1] + j * window.dilation[1]
        y[..., row, column] += padded[:, :, None, down, right] * taps[i, j]
    return y + bias[:, :, None, None]


@pytest.mark.parametrize("block", [1, 1 << 20])
@pytest.mark.parametrize(
    ("window", "outer"),
    [
        (Window((1, 1), (1, 1), (1, 1), (0, 0)), (6, 5)),
        (Window((3, 2), (1, 1), (1, 1), (1, 0)), (6, 4)),
        (Window((3, 3), (2, 3), (1, 1), (1, 2)), (3, 2)),
        (Window((2, 3), (3, 2), (2, 1), (0, 1)), (2, 3)),
        (Window((2, 2), (2, 2), (3, 3), (2, 3)), (3, 3)),
        (Window((2, 2), (4, 5), (1, 1), (0, 0)), (2, 1)),
        (Window((2, 2), (1, 1), (1, 1), (4, 4)), (12, 11)),
    ],
    ids=["pointwise", "plain", "strided", "mixed", "dilated", "leaping", "mostly padding"],
)
@pytest.mark.parametrize("convolve", ORDERS)
def test_both_orders_are_the_definition(
    convolve: Callable[..., None],
    window: Window,
    outer: tuple[int, int],
    block: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_depthwise, "BLOCK_BYTES", block)
    generator = np.random.default_rng(0)
    x = generator.normal(size=(2, 3, 6, 5)).astype(np.float32)
    taps = generator.normal(size=(*window.size, 3, 2)).astype(np.float32)
    bias = generator.normal(size=(3, 2)).astype(np.float32)
    y = np.full((2, 3, 2, *outer), np.nan, np.float32)
    convolve(x, taps, bias, window, y)
    expected = definition(x, taps, bias, window, outer)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("convolve", ORDERS)
def test_nan_and_infinity_stay_within_their_windows(convolve: Callable[..., None]) -> None:
    x = np.zeros((1, 1, 3, 4), np.float32)
    x[..., 0, 3], x[..., 2, 0] = np.nan, np.inf
    y = np.empty((1, 1, 1, 3, 3), np.float32)
    convolve(x, np.ones((1, 2, 1, 1), np.float32), None, Window((1, 2), (1, 1), (1, 1), (0, 0)), y)
    assert y[0, 0, 0].tolist()[1:] == [[0, 0, 0], [np.inf, 0, 0]]
    np.testing.assert_array_equal(y[0, 0, 0, 0], [0, 0, np.nan])
