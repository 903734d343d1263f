# SPDX-License-Identifier: MIT
"""Weights small enough for sums in 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, Network

Array = NDArray[Any]


def product(run_network: Callable[..., Array], x: Array, weights: Array, zero: int = 0) -> Array:
    """Return the integer product of fed bytes and constant weights."""
    network = Network()
    left = network.add_input("x", armnn.tensor.info_of(x))
    right = network.add_constant(weights)
    zeros = network.add_constant(np.array(zero, weights.dtype))
    network.add_output("y", network.add_mat_mul_integer(left, right, other_zero_point=zeros))
    return run_network(network, x=x)


def exact(x: Array, weights: Array, zero: int = 0) -> Array:
    result: Array = x.astype(np.int64) @ (weights.astype(np.int64) - zero)
    return result


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("total", [127, 128, 130, 136, 256])
@pytest.mark.parametrize("is_of_sixteen", [False, True])
def test_sums_at_the_limit_of_16_bits_are_exact(
    run_network: Callable[..., Array], is_of_sixteen: bool, total: int, sign: int, dtype: Any
) -> None:
    """Two and two neighbors of several k are added."""
    depth = 64
    weights = np.zeros((depth, 20), np.int8)
    neighbors = ([0, 1, 4, 5], [2, 3, 6, 7], [0, 1], [4], [3, 7], [0, 1, 4, 5, 8, 9, 12, 13])
    for column, taken in enumerate(neighbors[: None if is_of_sixteen else -1]):
        share = min(total // len(taken), 127)
        weights[np.array(taken) + 16, column] = sign * share
    weights[18, 3] = -sign * 128 if sign > 0 else 127  # the other sign does not count
    x = np.full((7, depth), np.iinfo(dtype).max, dtype)
    assert np.array_equal(product(run_network, x, weights), exact(x, weights))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 50])
@pytest.mark.parametrize("depth", [3, 4, 11, 64, 131, 400])
def test_few_large_weights_are_multiplied_apart(
    run_network: Callable[..., Array], depth: int, rows: int, dtype: Any
) -> None:
    rng = np.random.default_rng(depth + rows)
    weights = np.clip(rng.normal(0, 12, (depth, 37)), -127, 127).astype(np.int8)
    for place in {0, depth // 2, depth - 1}:
        weights[place, :5] = [-128, 127, -127, 127, -128]
    x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (rows, depth), dtype, endpoint=True)
    x[:, ::2] = np.iinfo(dtype).max
    assert np.array_equal(product(run_network, x, weights), exact(x, weights))


@pytest.mark.parametrize("zero", [119, 128, 131])
def test_panels_of_both_kinds_stand_side_by_side(
    run_network: Callable[..., Array], zero: int
) -> None:
    rng = np.random.default_rng(zero)
    weights = np.clip(rng.normal(zero, 9, (160, 150)), 0, 255).astype(np.uint8)
    weights[:, 40:90] = rng.integers(0, 256, (160, 50))  # nearly every sum is too large
    weights[10:12, 100] = 255
    x = rng.integers(0, 256, (70, 160), np.uint8)
    assert np.array_equal(product(run_network, x, weights, zero), exact(x, weights, zero))


@pytest.mark.parametrize("depth", [5, 72])
def test_large_weights_of_a_window_are_found_at_their_tap(
    run_network: Callable[..., Array], depth: int
) -> None:
    rng = np.random.default_rng(depth)
    x = rng.integers(0, 256, (1, 9, 8, depth), np.uint8)
    w = np.clip(rng.normal(0, 10, (18, 3, 3, depth)), -127, 127).astype(np.int8)
    w[3, 0, 0, 0] = w[4, 1, 2, depth - 1] = w[17, 2, 2, depth // 2] = -128
    w[9, 2, 2, depth - 2 :] = 127
    padded = np.pad(x.astype(np.int64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    expected = np.einsum("nhwcij,oijc->nhwo", seen, w.astype(np.int64), optimize=True)
    network = Network()
    image = network.add_input("x", armnn.tensor.info_of(x))
    sums = network.add_convolution_integer(
        image,
        network.add_constant(w),
        pad_left=1,
        pad_right=1,
        pad_top=1,
        pad_bottom=1,
        data_layout=DataLayout.NHWC,
    )
    network.add_output("y", sums)
    assert np.array_equal(run_network(network, x=x), expected)
