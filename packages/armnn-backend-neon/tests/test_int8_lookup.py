# SPDX-License-Identifier: MIT
"""Functions of bytes by table, alone and fused, every level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn import ActivationFunction, DataType, Network, TensorInfo, Value
from armnn.types import BinaryOperation, DataLayout, PoolingAlgorithm

Array: TypeAlias = NDArray[Any]
Build: TypeAlias = Callable[[Network, Value], Value]

S8, U8 = DataType.QASYMM_S8, DataType.QASYMM_U8
MADE = TensorInfo(None, S8, 0.0625, -20)
LAST = TensorInfo(None, U8, 0.03125, 40)
SUM = TensorInfo(None, S8, 0.11, 5)
IMAGE = (2, 9, 7, 17)
NHWC = DataLayout.NHWC


def bytes_of(*shape: int, kind: DataType = S8) -> Array:
    limits = np.iinfo(kind.numpy_dtype)
    rng = np.random.default_rng(5)
    numbers: Array = rng.integers(limits.min, limits.max, shape, kind.numpy_dtype, endpoint=True)
    return numbers


def weights(network: Network, *shape: int) -> Value:
    return network.add_constant(bytes_of(*shape), TensorInfo(shape, DataType.QSYMM_S8, 0.004))


MAKERS: dict[str, Build] = {
    "convolution": lambda net, x: net.add_convolution2d(
        x, weights(net, 33, 3, 3, 17), data_layout=NHWC, output=MADE
    ),
    "pointwise": lambda net, x: net.add_convolution2d(
        x, weights(net, 70, 1, 1, 17), data_layout=NHWC, output=MADE
    ),
    "groups": lambda net, x: net.add_convolution2d(
        net.add_slice(x, begin=(0, 0, 0, 0), size=(2, 9, 7, 16)),
        weights(net, 10, 3, 3, 8),
        data_layout=NHWC,
        output=MADE,
    ),
    "depthwise": lambda net, x: net.add_depthwise_convolution2d(
        x, weights(net, 1, 3, 3, 17), data_layout=NHWC, pad_left=1, output=MADE
    ),
    "fully connected": lambda net, x: net.add_fully_connected(
        x, weights(net, 9 * 7 * 17, 35), output=MADE
    ),
    "pooling": lambda net, x: net.add_pooling2d(
        x,
        pool_type=PoolingAlgorithm.AVERAGE,
        pool_width=2,
        pool_height=3,
        stride_x=2,
        stride_y=1,
        data_layout=NHWC,
        output=MADE,
    ),
    "sum": lambda net, x: net.add_addition(
        x, net.add_constant(bytes_of(17), TensorInfo((17,), S8, 0.1, 3)), output=MADE
    ),
}


def tanh(net: Network, x: Value) -> Value:
    return net.add_activation(x, function=ActivationFunction.TANH, a=1.0, b=1.0, output=MADE)


def number(net: Network, value: int) -> Value:
    """Add (value - 2) / 4 as a byte."""
    return net.add_constant(np.full((1, 1), value, np.int8), TensorInfo((1, 1), S8, 0.25, 2))


def binary(net: Network, operation: str, x: Value, y: Value, info: TensorInfo = LAST) -> Value:
    return net.add_elementwise_binary(x, y, operation=BinaryOperation[operation], output=info)


def grid(real: Array, info: TensorInfo) -> Array:
    """Return real values as they are once they are stored."""
    limits = np.iinfo(info.data_type.numpy_dtype)
    steps = np.trunc(real / info.scale + np.copysign(0.5, real)) + info.zero_point
    stored: Array = (steps.clip(limits.min, limits.max) - info.zero_point) * info.scale
    return stored


def bounded(net: Network, x: Value) -> Value:
    return net.add_activation(x, function=ActivationFunction.RELU, output=MADE)


FUNCTIONS: dict[str, tuple[Build, Callable[[Array], Array]]] = {
    "requantized": (lambda net, x: net.add_quantize(x, output=LAST), lambda x: x),
    "times a function of it": (
        lambda net, x: binary(net, "MUL", x, tanh(net, x)),
        lambda x: x * grid(np.tanh(x), MADE),
    ),
    "a function minus it": (
        lambda net, x: binary(net, "SUB", tanh(net, x), x),
        lambda x: grid(np.tanh(x), MADE) - x,
    ),
    "times its bounds": (
        lambda net, x: net.add_quantize(binary(net, "MUL", x, bounded(net, x), SUM), output=LAST),
        lambda x: grid(x * np.maximum(x, 0), SUM),
    ),
    "bounded, then a table, then a table": (
        lambda net, x: net.add_quantize(tanh(net, bounded(net, x)), output=LAST),
        lambda x: grid(np.tanh(np.maximum(x, 0)), MADE),
    ),
    "a table, then bounded": (
        lambda net, x: net.add_quantize(bounded(net, tanh(net, x)), output=LAST),
        lambda x: np.maximum(grid(np.tanh(x), MADE), 0),
    ),
}


@pytest.mark.parametrize("maker", list(MAKERS))
@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_a_table_goes_into_what_makes_its_bytes(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    maker: str,
    function: str,
) -> None:
    x = bytes_of(*IMAGE)
    info = TensorInfo(IMAGE, S8, 0.1, 9)
    build, expect = FUNCTIONS[function]
    alone, fused = Network(), Network()
    alone.add_output("y", MAKERS[maker](alone, alone.add_input("x", info)))
    fused.add_output("y", build(fused, MAKERS[maker](fused, fused.add_input("x", info))))
    made = (run_network(alone, x=x).astype(np.float64) - MADE.zero_point) * MADE.scale
    check_bytes(run_network(fused, x=x), expect(made) / LAST.scale, LAST.zero_point)


FOLLOWING: dict[str, Build] = {
    "nothing": lambda net, x: x,
    "bounds": lambda net, x: net.add_activation(x, function=ActivationFunction.RELU, output=SUM),
    "a table, then a sum with itself": lambda net, x: binary(
        net, "ADD", tanh(net, x), tanh(net, x), MADE
    ),
    "a table, then bounds": lambda net, x: bounded(net, tanh(net, x)),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("maker", list(MAKERS))
@pytest.mark.parametrize("following", list(FOLLOWING))
@pytest.mark.parametrize(("operation", "is_left"), [("ADD", True), ("ADD", False), ("SUB", False)])
def test_a_sum_goes_into_what_makes_one_of_its_operands(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    maker: str,
    following: str,
    operation: str,
    is_left: bool,
    threads: int,
) -> None:
    x, info = bytes_of(*IMAGE), TensorInfo(IMAGE, S8, 0.1, 9)
    alone = Network()
    alone.add_output("y", MAKERS[maker](alone, alone.add_input("x", info)))
    made = run_network(alone, x=x)
    other = bytes_of(*made.shape)[::-1].copy()

    fused, apart = Network(), Network()
    for net, is_read in ((fused, False), (apart, True)):
        one = net.add_input("other", TensorInfo(other.shape, S8, 0.03, -7))
        if is_read:  # what is read as it is stays as it is
            two = net.add_input("made", TensorInfo(made.shape, S8, MADE.scale, MADE.zero_point))
        else:
            two = MAKERS[maker](net, net.add_input("x", info))
        total = binary(net, operation, *((two, one) if is_left else (one, two)), SUM)
        net.add_output("y", FOLLOWING[following](net, total))
    result = run_network(fused, threads, x=x, other=other)
    np.testing.assert_array_equal(result, run_network(apart, threads, made=made, other=other))
    if following == "nothing":
        first, second = (other + 7.0) * 0.03, (made.astype(float) - MADE.zero_point) * MADE.scale
        real = first - second if operation == "SUB" else first + second
        check_bytes(result, real / SUM.scale, SUM.zero_point)


OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "DIV": np.divide,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "SQ_DIFF": lambda x, y: (x - y) ** 2,
}


@pytest.mark.parametrize("operation", list(OPERATIONS))
@pytest.mark.parametrize("is_left", [False, True])
def test_arithmetic_with_a_number(
    run_network: Callable[..., Array],
    check_bytes: Callable[..., None],
    operation: str,
    is_left: bool,
) -> None:
    x = np.arange(-128, 128).astype(np.int8).reshape(2, 128)
    if operation == "DIV" and is_left:
        x = np.where(x == 9, np.int8(10), x)
    network = Network()
    value = network.add_input("x", TensorInfo(x.shape, S8, 0.1, 9))
    operands = (number(network, 8), value) if is_left else (value, number(network, 8))
    network.add_output("y", binary(network, operation, *operands))
    real = (x - 9.0) * np.float32(0.1)
    result = OPERATIONS[operation](*((1.5, real) if is_left else (real, 1.5)))
    check_bytes(run_network(network, x=x), result / LAST.scale, LAST.zero_point)


def test_what_others_read_keeps_its_bytes(
    run_network: Callable[..., Array], check_bytes: Callable[..., None]
) -> None:
    x = bytes_of(3, 67)
    info = TensorInfo(x.shape, S8, 0.0625, -20)
    network = Network()
    value = network.add_input("x", info)
    made = binary(network, "ADD", value, value, MADE)
    network.add_output("y", binary(network, "MUL", tanh(network, made), made))
    second = Network()
    value = second.add_input("x", info)
    made = binary(second, "ADD", value, value, MADE)
    curve = tanh(second, made)
    second.add_output("y", binary(second, "MUL", curve, binary(second, "ADD", made, curve, MADE)))
    twice = grid((x + 20.0) * 0.125, MADE)
    curved = grid(np.tanh(twice), MADE)
    check_bytes(run_network(network, x=x), twice * curved / LAST.scale, LAST.zero_point)
    total = grid(twice + curved, MADE)
    check_bytes(run_network(second, x=x), total * curved / LAST.scale, LAST.zero_point)
