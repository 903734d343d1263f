# SPDX-License-Identifier: MIT
"""Products of rows at equal distances, on every level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn import ActivationFunction, DataLayout, Network, TensorInfo

Array = NDArray[Any]
RunNetwork = Callable[..., Array]


class Product:
    """A network of function(x w + bias), and its numbers."""

    def __init__(
        self, rows: int, depth: int, columns: int, function: ActivationFunction | None = None
    ) -> None:
        generator = np.random.default_rng(rows + depth + columns)
        self.x = generator.standard_normal((rows, depth), np.float32)
        weights = generator.standard_normal((columns, depth), np.float32)
        bias = generator.standard_normal(columns, np.float32)
        self.y = self.x.astype(np.float64) @ weights.astype(np.float64).T + bias
        self.net = Network("product")
        fed = self.net.add_input("x", TensorInfo(self.x.shape))
        constants = [self.net.add_constant(numbers) for numbers in (weights, bias)]
        made = self.net.add_fully_connected(fed, *constants, transpose_weight_matrix=True)
        if function is not None:
            made = self.net.add_activation(made, function=function, a=1.0)
        self.net.add_output("y", made)


@pytest.mark.parametrize("columns", [1, 7, 16, 24, 33])
@pytest.mark.parametrize("depth", [6, 16, 37])
def test_a_row_has_the_same_bits_beside_any_number_of_rows(
    run_network: RunNetwork, depth: int, columns: int
) -> None:
    x = np.random.default_rng(3).standard_normal((47, depth), np.float32)
    weights = np.random.default_rng(4).standard_normal((columns, depth), np.float32)

    def products(rows: int, threads: int) -> Array:
        net = Network("rows")
        fed = net.add_input("x", TensorInfo((rows, depth)))
        made = net.add_fully_connected(fed, net.add_constant(weights), transpose_weight_matrix=True)
        net.add_output("y", made)
        return run_network(net, threads=threads, x=x[:rows])

    everything = products(47, 1)
    np.testing.assert_allclose(everything, x @ weights.T, rtol=1e-4, atol=1e-4)
    for rows in (5, 6, 8, 9, 13, 15, 17, 29, 46):
        np.testing.assert_array_equal(products(rows, rows % 2 + 1), everything[:rows])


@pytest.mark.parametrize(
    "function",
    [None, ActivationFunction.RELU, ActivationFunction.HARD_SWISH, ActivationFunction.ELU],
)
@pytest.mark.parametrize(("columns", "rows"), [(1, 33), (9, 16), (16, 15), (40, 29)])
def test_what_follows_the_sums(
    run_network: RunNetwork, rows: int, columns: int, function: ActivationFunction | None
) -> None:
    product = Product(rows, 24, columns, function)
    y = product.y
    expected = {
        None: lambda: y,
        ActivationFunction.RELU: lambda: np.maximum(y, 0.0),
        ActivationFunction.HARD_SWISH: lambda: y * np.clip(y + 3.0, 0.0, 6.0) / 6.0,
        ActivationFunction.ELU: lambda: np.where(y > 0.0, y, np.expm1(y)),
    }[function]()
    result = run_network(product.net, x=product.x)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("depth", [3, 15, 16, 17, 40, 64, 1024, 1030])
@pytest.mark.parametrize("rows", [5, 16, 31])
def test_one_column_of_any_depth(run_network: RunNetwork, depth: int, rows: int) -> None:
    product = Product(rows, depth, 1)
    result = run_network(product.net, x=product.x)
    np.testing.assert_allclose(result, product.y, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("width", [1, 2, 15, 18, 47])
@pytest.mark.parametrize("channels", [5, 8, 16])
def test_windows_of_one_output_channel(
    run_network: RunNetwork,
    channels: int,
    width: int,
    threads: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A NaN reaches only the windows that see it."""
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", "plain")
    generator = np.random.default_rng(width)
    x = generator.standard_normal((1, 5, width, channels), np.float32)
    x[0, 2, width // 2, channels - 1] = np.nan
    w = generator.standard_normal((1, 3, 3, channels), np.float32)
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = sum(
        padded[:, i : i + 5, j : j + width] @ w[:, i, j].astype(np.float64).T
        for i in range(3)
        for j in range(3)
    )
    net = Network("window")
    made = net.add_convolution2d(
        net.add_input("x", TensorInfo(x.shape)),
        net.add_constant(w),
        data_layout=DataLayout.NHWC,
        pad_top=1,
        pad_bottom=1,
        pad_left=1,
        pad_right=1,
    )
    net.add_output("y", made)
    result = run_network(net, threads=threads, x=x)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
