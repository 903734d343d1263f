# SPDX-License-Identifier: MIT
"""Functions, sums, products and slopes of bytes, against float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn import ActivationFunction, DataType, Network, TensorInfo
from armnn.types import BinaryOperation

Array: TypeAlias = NDArray[Any]

S8, U8 = DataType.QASYMM_S8, DataType.QASYMM_U8

SHAPES = [
    ((2, 5, 7, 17), (2, 5, 7, 17)),
    ((2, 5, 7, 17), (17,)),
    ((1, 3, 3, 65), (1, 1, 1, 1)),
    ((1,), (4, 33)),
    ((3, 1, 5), (3, 4, 5)),
]


def stored(shape: Any, kind: DataType, seed: int) -> Array:
    """Return all kinds of bytes."""
    limits = np.iinfo(kind.numpy_dtype)
    rng = np.random.default_rng(seed)
    numbers: Array = rng.integers(limits.min, limits.max, shape, kind.numpy_dtype, endpoint=True)
    return numbers


@pytest.mark.parametrize("kind", [S8, U8])
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("operation", ["ADD", "SUB", "MUL"])
def test_pairs(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    operation: str,
    shapes: Any,
    kind: DataType,
) -> None:
    x, y = stored(shapes[0], kind, 1), stored(shapes[1], kind, 2)
    network = Network()
    made = network.add_elementwise_binary(
        network.add_input("x", TensorInfo(x.shape, kind, 0.037, 7)),
        network.add_input("y", TensorInfo(y.shape, kind, 0.011, 3)),
        operation=BinaryOperation[operation],
        output=TensorInfo(None, kind, 0.041, 20),
    )
    network.add_output("z", made)
    left, right = (x - 7.0) * np.float32(0.037), (y - 3.0) * np.float32(0.011)
    real = {"ADD": left + right, "SUB": left - right, "MUL": left * right}[operation]
    check_bytes(run_network(network, x=x, y=y), real / np.float32(0.041), 20)


@pytest.mark.parametrize("kind", [S8, U8])
@pytest.mark.parametrize("shapes", SHAPES[:3])
def test_slopes_of_numbers_below_zero(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    shapes: Any,
    kind: DataType,
) -> None:
    x, slope = stored(shapes[0], kind, 1), stored(shapes[1], kind, 2)
    network = Network()
    made = network.add_prelu(
        network.add_input("x", TensorInfo(x.shape, kind, 0.037, 7)),
        network.add_constant(slope, TensorInfo(slope.shape, kind, 0.011, 3)),
        output=TensorInfo(None, kind, 0.031, 20),
    )
    network.add_output("z", made)
    whole = np.float32(0.037) / np.float32(0.031)
    factor = np.where(x < 7, (slope - 3.0) * np.float32(whole * np.float32(0.011)), whole)
    check_bytes(run_network(network, x=x), (x - 7.0) * factor, 20)


def test_scales_too_far_apart_for_fixed_point_are_added_in_floats(
    run_network: Callable[..., Array],
) -> None:
    x = stored((5,), S8, 1)
    network = Network()
    info = TensorInfo(x.shape, S8, 1.0)
    made = network.add_addition(
        network.add_input("x", info),
        network.add_input("y", info),
        output=TensorInfo(None, S8, 4096.0),
    )
    network.add_output("z", made)
    assert run_network(network, x=x, y=x).tolist() == [0] * 5


def test_a_sum_takes_over_the_bounds_that_follow(
    run_network: Callable[..., Array], check_bytes: Callable[..., None]
) -> None:
    x, y = stored((3, 50), S8, 1), stored((3, 50), S8, 2)
    info, sum_info = TensorInfo(x.shape, S8, 0.5, -3), TensorInfo(None, S8, 0.25, 4)
    network = Network()
    made = network.add_addition(
        network.add_input("x", info), network.add_input("y", info), output=sum_info
    )
    bounded = network.add_activation(
        made, function=ActivationFunction.BOUNDED_RELU, a=6.0, output=sum_info
    )
    network.add_output("z", bounded)
    real = ((x + 3.0) * 0.5 + (y + 3.0) * 0.5) / 0.25
    check_bytes(run_network(network, x=x, y=y), real.clip(0, 24), 4)


@pytest.mark.parametrize("kinds", [(S8, S8), (U8, S8), (S8, U8)])
def test_functions(
    run_network: Callable[..., Array], check_bytes: Callable[..., None], kinds: Any
) -> None:
    limits = np.iinfo(kinds[0].numpy_dtype)
    x = np.arange(limits.min, limits.max + 1).astype(kinds[0].numpy_dtype)
    network = Network()
    made = network.add_activation(
        network.add_input("x", TensorInfo(x.shape, kinds[0], 0.05, 9)),
        function=ActivationFunction.TANH,
        a=1.0,
        b=1.0,
        output=TensorInfo(None, kinds[1], 0.01, 5),
    )
    network.add_output("y", made)
    real = np.tanh((x - 9.0) * np.float32(0.05)) / np.float32(0.01)
    check_bytes(run_network(network, x=x), real, 5)


def test_requantization_saturates(run_network: Callable[..., Array]) -> None:
    x = np.array([0, 1, 100, 255], np.uint8)
    network = Network()
    made = network.add_quantize(
        network.add_input("x", TensorInfo(x.shape, U8, 1.0, 100)),
        output=TensorInfo(None, S8, 0.5, -10),
    )
    network.add_output("y", made)
    assert run_network(network, x=x).tolist() == [-128, -128, -10, 127]


@pytest.mark.parametrize("axis", [-1, 1])
def test_softmax(
    run_network: Callable[..., Array], check_bytes: Callable[..., None], axis: int
) -> None:
    x = stored((2, 9, 33), S8, 1)
    network = Network()
    made = network.add_softmax(
        network.add_input("x", TensorInfo(x.shape, S8, 0.04, 11)),
        axis=axis,
        output=TensorInfo(None, S8, 1 / 256, -128),
    )
    network.add_output("y", made)
    power = np.exp((x - 11.0) * np.float32(0.04))
    check_bytes(run_network(network, x=x), power / power.sum(axis, keepdims=True) * 256, -128)


def test_padding_writes_the_zero_point(run_network: Callable[..., Array]) -> None:
    x = np.array([[1, 2]], np.int8)
    network = Network()
    image = network.add_input("x", TensorInfo(x.shape, S8, 0.5, -7))
    made = network.add_pad(image, pad_list=((1, 0), (0, 2)))
    network.add_output("y", network.add_pad(made, pad_list=((0, 0), (1, 0)), pad_value=1.0))
    assert run_network(network, x=x).tolist() == [[-5, -7, -7, -7, -7], [-5, 1, 2, -7, -7]]
