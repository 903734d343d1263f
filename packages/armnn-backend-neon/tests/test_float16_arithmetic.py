# SPDX-License-Identifier: MIT
"""Float16 layers round float32 once, on every level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import ActivationFunction, BinaryOperation, DataType, Network, TensorInfo, UnaryOperation
from armnn.tensor import info_of

Array: TypeAlias = NDArray[Any]
Run: TypeAlias = Callable[..., Array]

A, B, U = ActivationFunction, BinaryOperation, UnaryOperation


def all_halves() -> Array:
    """Return each half, and five more for a partial vector."""
    return np.arange(2**16 + 5, dtype=np.uint32).astype(np.uint16).view(np.float16)


def some_halves(seed: int) -> Array:
    """Return zeros, subnormals, limits, infinities, NaN, random bits."""
    bits = [0, 1, 2, 0x3FF, 0x400, 0x401, 0x3BFF, 0x3C00, 0x3C01, 0x7BFF, 0x7C00, 0x7C01, 0x7E00]
    any_bits = np.random.default_rng(seed).integers(0, 2**16, 300)
    return np.array([*bits, *(bit | 0x8000 for bit in bits), *any_bits], np.uint16).view(np.float16)


def assert_same_bits(actual: Array, expected: Array) -> None:
    """Assert equal bits, and NaN at the same places."""
    assert actual.dtype == expected.dtype == np.float16
    assert actual.shape == expected.shape
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(actual), ~numbers)
    np.testing.assert_array_equal(
        actual[numbers].view(np.uint16), expected[numbers].view(np.uint16)
    )


def rounded(function: Callable[..., Array], *operands: Array) -> Array:
    """Compute in float32 and round once."""
    with np.errstate(all="ignore"):
        result = function(*(operand.astype(np.float32) for operand in operands))
        return result.astype(np.float16)


def largest(x: Array, y: Array) -> Array:
    return np.where(np.isnan(x), x, np.where(y < x, x, y))


def smallest(x: Array, y: Array) -> Array:
    return np.where(np.isnan(x), x, np.where(y > x, x, y))


def to_six(x: Array) -> Array:
    return np.where(x > 6, np.float32(6), np.where(x < 0, np.float32(0), x))


BINARY: dict[BinaryOperation, Callable[..., Array]] = {
    B.ADD: np.add,
    B.SUB: np.subtract,
    B.MUL: np.multiply,
    B.DIV: np.divide,
    B.MAXIMUM: largest,
    B.MINIMUM: smallest,
    B.SQ_DIFF: lambda x, y: np.square(x - y),
}
UNARY: dict[UnaryOperation, Callable[..., Array]] = {
    U.ABS: np.abs,
    U.NEG: np.negative,
    U.SQRT: np.sqrt,
}
ACTIVATIONS: dict[str, tuple[ActivationFunction, float, float, Callable[..., Array]]] = {
    "ReLu": (A.RELU, 0, 0, lambda x: np.where(x < 0, np.float32(0), x)),
    "ReLu to 6": (A.BOUNDED_RELU, 6, 0, to_six),
    "a sum": (A.LINEAR, 1, 0.25, lambda x: x + np.float32(0.25)),
    "a product": (A.LINEAR, 0.75, 0, lambda x: x * np.float32(0.75) + 0),
    "a factor that is no half": (A.LINEAR, 0.1, 0, lambda x: x * np.float32(0.1) + 0),
    "a square": (A.SQUARE, 0, 0, np.square),
}


@pytest.mark.parametrize("operation", BINARY, ids=lambda each: each.name)
def test_pairs_of_halves_are_rounded_once(operation: BinaryOperation, run_network: Run) -> None:
    x, y = np.meshgrid(some_halves(1), some_halves(2))
    net = Network("pairs")
    operands = [net.add_input("x", info_of(x)), net.add_input("y", info_of(y))]
    net.add_output("z", net.add_elementwise_binary(*operands, operation=operation))
    assert_same_bits(run_network(net, x=x, y=y), rounded(BINARY[operation], x, y))


@pytest.mark.parametrize("operation", BINARY, ids=lambda each: each.name)
def test_lines_and_columns_of_halves_broadcast(
    operation: BinaryOperation, run_network: Run
) -> None:
    x, y = some_halves(3)[:, None], some_halves(4)[None, :]
    net = Network("broadcast")
    operands = [net.add_input("x", info_of(x)), net.add_constant(y)]
    net.add_output("z", net.add_elementwise_binary(*operands, operation=operation))
    assert_same_bits(run_network(net, x=x), rounded(BINARY[operation], x, y))


@pytest.mark.parametrize("operation", UNARY, ids=lambda each: each.name)
def test_functions_of_every_half_are_rounded_once(
    operation: UnaryOperation, run_network: Run
) -> None:
    x = all_halves()
    net = Network("unary")
    made = net.add_elementwise_unary(net.add_input("x", info_of(x)), operation=operation)
    net.add_output("y", made)
    assert_same_bits(run_network(net, x=x), rounded(UNARY[operation], x))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_of_every_half_are_rounded_once(name: str, run_network: Run) -> None:
    function, a, b, expected = ACTIVATIONS[name]
    x = all_halves()
    net = Network("activation")
    image = net.add_input("x", info_of(x))
    net.add_output("y", net.add_activation(image, function=function, a=a, b=b))
    assert_same_bits(run_network(net, x=x), rounded(expected, x))


@pytest.mark.parametrize("number", [-2.5, 0.1, 65504.0, 6e-8])
@pytest.mark.parametrize("operation", [B.ADD, B.SUB, B.MUL, B.MAXIMUM], ids=lambda each: each.name)
def test_a_number_and_every_half(
    operation: BinaryOperation, number: float, run_network: Run
) -> None:
    x, one = all_halves(), np.array([number], np.float16)
    net = Network("number")
    operands = [net.add_input("x", info_of(x)), net.add_constant(one)]
    net.add_output("y", net.add_elementwise_binary(*operands, operation=operation))
    expected = rounded(BINARY[operation], x, one)
    actual = run_network(net, x=x)
    # A product with a constant is a * x + 0: zeros are positive.
    is_zero = (x == 0) & (operation is B.MUL)
    assert_same_bits(actual[~is_zero], expected[~is_zero])
    assert not actual[is_zero].any()


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 4099])
def test_every_layer_of_a_chain_rounds(size: int, run_network: Run) -> None:
    rng = np.random.default_rng(size)
    x, y = rng.standard_normal((2, size), np.float32).astype(np.float16)
    net = Network("chain")
    first, second = net.add_input("x", info_of(x)), net.add_input("y", info_of(y))
    total = net.add_addition(net.add_multiplication(first, second), first)
    gate = net.add_activation(total, function=A.SIGMOID, a=1, b=1)
    root = net.add_elementwise_unary(gate, operation=U.SQRT)
    net.add_output("z", net.add_subtraction(root, second))
    sums = rounded(np.add, rounded(np.multiply, x, y), x)
    # The logistic function is exact to some 2^-22 only, so it is taken from a layer of its own.
    alone = Network("alone")
    logits = alone.add_input("x", info_of(sums))
    alone.add_output("y", alone.add_activation(logits, function=A.SIGMOID, a=1, b=1))
    gates = run_network(alone, x=sums)
    expected = rounded(np.subtract, rounded(np.sqrt, gates), y)
    assert_same_bits(run_network(net, x=x, y=y), expected)


def test_arithmetic_in_halves_needs_no_buffers(computes_in_float16: bool) -> None:
    """Conversions around the arithmetic would need block buffers."""
    net = Network("buffers")
    image = net.add_input("x", TensorInfo((100, 1000), DataType.FLOAT16))
    net.add_output("y", net.add_activation(image, function=A.RELU))
    with armnn.Runtime() as runtime:
        (part,) = runtime.load_model(net, backends=["CpuAcc"]).report.compiled_parts
    assert part.footprint is not None
    assert (part.footprint.scratch_bytes == 0) is computes_in_float16
