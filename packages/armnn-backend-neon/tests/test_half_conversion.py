# SPDX-License-Identifier: MIT
"""Float16 and BFloat16 are stored narrow, computed in float32."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import ActivationFunction, DataLayout, DataType, Network, TensorInfo
from armnn.tensor import info_of

Array: TypeAlias = NDArray[Any]

HALVES = [(DataType.FLOAT16, np.float16), (DataType.BFLOAT16, ml_dtypes.bfloat16)]


def run(network: Network, **feeds: Array) -> Array:
    """Return the output of a network of one."""
    with armnn.Runtime() as runtime:
        (result,) = runtime.load_model(network, backends=["CpuAcc"]).run(feeds).values()
        return np.array(result)


def cast(x: Array, to: DataType) -> Array:
    net = Network("cast")
    net.add_output("y", net.add_cast(net.add_input("x", info_of(x)), output=to))
    return run(net, x=x)


def as_float32(x: Array) -> Array:
    """Widen; on Arm NumPy warns of NaN that signals."""
    with np.errstate(invalid="ignore"):
        return x.astype(np.float32)


def everywhere() -> Array:
    """Return floats of all exponents, and around each half."""
    rng = np.random.default_rng(3)
    any_bits = rng.integers(0, 2**32, 100_000, dtype=np.uint32)
    halves = as_float32(np.arange(2**16, dtype=np.uint16).view(np.float16))
    between = halves.view(np.uint32)[:, None] + np.array([0, 0xFFF, 0x1000, 0x1001], np.uint32)
    return np.concatenate([any_bits, between.ravel()]).view(np.float32)


@pytest.mark.parametrize(("data_type", "dtype"), HALVES)
@pytest.mark.usefixtures("level")
def test_every_half_is_widened_exactly(data_type: DataType, dtype: Any) -> None:
    x = np.arange(2**16 + 7, dtype=np.uint32).astype(np.uint16).view(dtype)
    np.testing.assert_array_equal(cast(x, DataType.FLOAT32), as_float32(x))


@pytest.mark.parametrize(("data_type", "dtype"), HALVES)
@pytest.mark.usefixtures("level")
def test_a_float_becomes_the_nearest_half(data_type: DataType, dtype: Any) -> None:
    x = everywhere()
    with np.errstate(all="ignore"):
        expected = x.astype(dtype)
    actual = cast(x, data_type)
    numbers = x == x
    assert np.isnan(actual[~numbers].astype(np.float32)).all()
    np.testing.assert_array_equal(
        actual[numbers].view(np.uint16), expected[numbers].view(np.uint16)
    )


@pytest.mark.parametrize("size", [0, 1, 3, 7, 8, 17, 4099])
@pytest.mark.usefixtures("level")
def test_halves_of_any_number(size: int) -> None:
    x = np.linspace(-3, 3, size, dtype=np.float16)
    np.testing.assert_array_equal(cast(x, DataType.FLOAT32), x.astype(np.float32))


@pytest.mark.parametrize(("data_type", "dtype"), HALVES)
@pytest.mark.usefixtures("level")
def test_layers_on_halves_round_once_each(data_type: DataType, dtype: Any) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 6, 5, 17), np.float32).astype(dtype)
    weights = rng.standard_normal((21, 3, 3, 17), np.float32).astype(dtype)
    net = Network("halves")
    image = net.add_input("x", TensorInfo(x.shape, data_type))
    made = net.add_convolution2d(image, net.add_constant(weights), data_layout=DataLayout.NHWC)
    net.add_output("y", net.add_activation(made, function=ActivationFunction.RELU))
    actual = run(net, x=x)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), axis=(1, 2))
    sums = np.einsum("nyxcij,oijc->nyxo", windows, weights.astype(np.float64))
    assert actual.dtype == dtype
    step = 2.0 ** (-10 if dtype is np.float16 else -7)
    np.testing.assert_allclose(
        actual.astype(np.float64), np.maximum(sums, 0), rtol=0.6 * step, atol=1e-4
    )


@pytest.mark.parametrize("from_type", [np.int8, np.uint8, np.int16, np.bool_])
@pytest.mark.usefixtures("level")
def test_small_integers_become_halves(from_type: Any) -> None:
    x = np.arange(-128, 128).astype(from_type)
    np.testing.assert_array_equal(cast(x, DataType.FLOAT16), x.astype(np.float16))
