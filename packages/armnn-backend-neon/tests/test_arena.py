# SPDX-License-Identifier: MIT
"""Tensors share memory invisibly, and the report counts it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn import DataType, Network, Runtime, TensorInfo
from armnn.backends.cache import Footprint
from armnn.types import ActivationFunction, UnaryOperation

if TYPE_CHECKING:
    from armnn.graph import Value

Array: TypeAlias = NDArray[Any]
FLOAT = DataType.FLOAT32
BYTES = TensorInfo(None, DataType.QASYMM_S8, 0.05, 3)


@contextmanager
def sharing(kind: str | None) -> Iterator[None]:
    """Compile with less sharing of memory than usual."""
    if kind is not None:
        os.environ["ARMNN_CPUACC_SHARING"] = kind
    try:
        yield
    finally:
        os.environ.pop("ARMNN_CPUACC_SHARING", None)


def run(network: Network, kind: str | None = None, **feeds: Array) -> tuple[Footprint, list[Array]]:
    """Return a program's memory, and its results twice."""
    options = {"CpuAcc": {"NumberOfThreads": 2}}
    with sharing(kind), Runtime() as runtime:
        model = runtime.load_model(
            network.clone(), backends=["CpuAcc"], backend_options=options, strict=True
        )
        (part,) = model.report.compiled_parts
        results = [np.array(array) for _ in range(2) for array in model.run(feeds).values()]
    return part.footprint, results


def ramp(*shape: int) -> Array:
    return np.linspace(-2, 2, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def softmax(x: Array) -> Array:
    powers = np.exp(x.astype(np.float64))
    result: Array = powers / powers.sum(axis=-1, keepdims=True)
    return result


def test_a_line_of_functions_takes_the_memory_of_one_tensor() -> None:
    """Softmax has no place in another operation: x -> arena -> ... -> y."""
    net = Network("line")
    value = net.add_input("x", TensorInfo((5, 100), FLOAT))
    for _ in range(6):
        value = net.add_softmax(value)
    net.add_output("y", value)
    footprint, results = run(net, x=ramp(5, 100))
    assert footprint == Footprint(arena_bytes=2048, scratch_bytes=0, weight_bytes=0)
    assert run(net, "by_lifetime", x=ramp(5, 100))[0].arena_bytes == 2 * 2048
    assert run(net, "none", x=ramp(5, 100))[0].arena_bytes == 5 * 2048
    expected = ramp(5, 100)
    for _ in range(6):
        expected = softmax(expected)
    np.testing.assert_allclose(results[0], expected, rtol=1e-5)


def test_the_weights_of_the_footprint_are_the_packed_ones_and_the_bias() -> None:
    """Panels as wide as levels: 64 columns need no filler."""
    net = Network("product")
    x = net.add_input("x", TensorInfo((1, 48), FLOAT))
    product = net.add_fully_connected(x, ramp(48, 64), ramp(64), transpose_weight_matrix=False)
    net.add_output("y", product)
    footprint, _ = run(net, x=ramp(1, 48))
    assert footprint.weight_bytes >= (48 * 64 + 64) * 4
    assert footprint.weight_bytes - 4 * 64 <= 48 * 96 * 4
    assert footprint.arena_bytes == footprint.scratch_bytes > 0


def test_joined_tensors_are_written_where_they_are_joined() -> None:
    """Two functions write into the bytes that Softmax overwrites.

    They are 400 of 800 bytes each.
    """
    net = Network("join")
    x = net.add_input("x", TensorInfo((1, 100), FLOAT))
    halves = [
        net.add_elementwise_unary(x, operation=operation)
        for operation in (UnaryOperation.SIN, UnaryOperation.COS)
    ]
    joined = net.add_softmax(net.add_concat(halves, axis=0))
    net.add_output("y", net.add_elementwise_unary(joined, operation=UnaryOperation.SIN))
    footprint, results = run(net, x=ramp(1, 100))
    assert footprint.arena_bytes == 832  # 800 in whole lines of the cache
    assert run(net, "by_lifetime", x=ramp(1, 100))[0].arena_bytes > 832
    expected = np.sin(softmax(np.concatenate([np.sin(ramp(1, 100)), np.cos(ramp(1, 100))])))
    np.testing.assert_allclose(results[0], expected, rtol=1e-4, atol=1e-5)


def test_parts_of_an_input_are_read_where_they_are() -> None:
    net = Network("parts")
    x = net.add_input("x", TensorInfo((4, 64), FLOAT))
    first, second = net.add_splitter(x, axis=0, sizes=[1, 3])
    middle = net.add_slice(second, begin=[1, 0], size=[1, 64])
    net.add_output("y", net.add_multiplication(first, middle))
    footprint, results = run(net, x=ramp(4, 64))
    assert footprint.arena_bytes == 0
    np.testing.assert_array_equal(results[0], ramp(4, 64)[:1] * ramp(4, 64)[2:3])


def test_what_is_joined_twice_or_delivered_stays_what_it_was() -> None:
    net = Network("twice")
    x = net.add_input("x", TensorInfo((1, 64), FLOAT))
    sine = net.add_elementwise_unary(x, operation=UnaryOperation.SIN)
    joined = net.add_concat([sine, x, sine], axis=0)
    again = net.add_concat([joined, sine], axis=0)
    net.add_output("sine", sine)
    net.add_output("joined", joined)
    net.add_output("again", again)
    _, results = run(net, x=ramp(1, 64))
    wave = np.sin(ramp(1, 64))
    expected = [wave, np.concatenate([wave, ramp(1, 64), wave])]
    expected.append(np.concatenate([expected[1], wave]))
    for result, wanted in zip(results, expected * 2, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def elementwise(net: Network, x: Value, _: Value, draw: np.random.Generator) -> Value:
    operations = (UnaryOperation.SIN, UnaryOperation.COS, UnaryOperation.ABS, UnaryOperation.NEG)
    return net.add_elementwise_unary(x, operation=operations[draw.integers(4)])


def activation(net: Network, x: Value, _: Value, draw: np.random.Generator) -> Value:
    functions = (ActivationFunction.TANH, ActivationFunction.SIGMOID, ActivationFunction.RELU)
    return net.add_activation(x, function=functions[draw.integers(3)])


def pair(net: Network, x: Value, y: Value, draw: np.random.Generator) -> Value:
    add = (net.add_addition, net.add_multiplication, net.add_maximum)[draw.integers(3)]
    return add(x, y) if draw.integers(2) else add(y, x)


def broadcast(net: Network, x: Value, y: Value, draw: np.random.Generator) -> Value:
    axis = int(draw.integers(4))
    shape = list(x.info.static_shape)
    shape[axis] = 1
    line = net.add_slice(y, begin=[0] * 4, size=shape)
    return net.add_subtraction(x, line) if draw.integers(2) else net.add_subtraction(line, x)


def lines(net: Network, x: Value, _: Value, draw: np.random.Generator) -> Value:
    if draw.integers(2):
        return net.add_softmax(x, axis=int(draw.integers(4)))
    channels = x.info.static_shape[-1]
    return net.add_layer_normalization(x, ramp(channels), ramp(channels))


def parts(net: Network, x: Value, y: Value, draw: np.random.Generator) -> Value:
    """Join along an axis, and take an equally large part."""
    axis = int(draw.integers(4))
    joined = net.add_concat([x, y, x], axis=axis)
    begin = [0] * 4
    begin[axis] = int(draw.integers(2 * x.info.static_shape[axis] + 1))
    return net.add_slice(joined, begin=begin, size=list(x.info.static_shape))


def halves(net: Network, x: Value, y: Value, draw: np.random.Generator) -> Value:
    axis = int(draw.integers(1, 4))
    size = x.info.static_shape[axis] // 2
    left, right = net.add_splitter(x, axis=axis, sizes=[size, size])
    other, _ = net.add_splitter(y, axis=axis, sizes=[size, size])
    return net.add_concat([net.add_addition(right, other), left], axis=axis)


def residual(net: Network, x: Value, y: Value, draw: np.random.Generator) -> Value:
    channels = x.info.static_shape[1]
    side = int(draw.choice([1, 3]))
    weights = ramp(channels, channels, side, side) / (channels * side)
    pad = side // 2
    pads: dict[str, Any] = {"pad_left": pad, "pad_right": pad, "pad_top": pad, "pad_bottom": pad}
    made = net.add_convolution2d(x, weights, ramp(channels), **pads)
    return net.add_addition(made, y)


def reshaped(net: Network, x: Value, _: Value, draw: np.random.Generator) -> Value:
    flat = net.add_reshape(x, target_shape=(-1,))
    sine = net.add_elementwise_unary(flat, operation=UnaryOperation.SIN)
    return net.add_reshape(sine, target_shape=x.info.static_shape)


def transposed(net: Network, x: Value, _: Value, draw: np.random.Generator) -> Value:
    there = net.add_transpose(x, dim_mappings=(0, 2, 3, 1))
    sine = net.add_softmax(there, axis=-1)
    return net.add_transpose(sine, dim_mappings=(0, 3, 1, 2))


LAYERS: tuple[Callable[[Network, Value, Value, np.random.Generator], Value], ...] = (
    elementwise, activation, pair, broadcast, lines, parts, halves, residual, reshaped, transposed,
)  # fmt: skip


def random_network(seed: int, *, is_quantized: bool) -> Network:
    """Return layers that each read one or two recent values."""
    draw = np.random.default_rng(seed)
    batch = int(draw.integers(1, 3))
    shape = (batch, *(int(2 * draw.integers(1, 5)) for _ in range(3)))
    net = Network(f"random {seed}")
    values = [net.add_input(name, TensorInfo(shape, FLOAT)) for name in ("a", "b")]
    for _ in range(14):
        first, second = draw.integers(max(0, len(values) - 4), len(values), 2)
        layer = LAYERS[draw.integers(len(LAYERS))]
        value = layer(net, values[first], values[second], draw)
        if is_quantized and draw.integers(2):
            stored = net.add_quantize(value, output=BYTES)
            value = net.add_dequantize(net.add_addition(stored, stored, output=BYTES))
        values.append(value)
    for index in sorted({len(values) - 1, *draw.integers(2, len(values), 2).tolist()}):
        net.add_output(f"output {index}", values[index])
    return net


@pytest.mark.parametrize("is_quantized", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_shared_memory_changes_no_bit_and_needs_no_more(seed: int, is_quantized: bool) -> None:
    network = random_network(seed, is_quantized=is_quantized)
    draw = np.random.default_rng(seed)
    feeds: dict[str, Any] = {
        layer.name: draw.standard_normal(layer.output.info.static_shape, np.float32)
        for layer in network.inputs
    }
    shared, results = run(network, **feeds)
    by_lifetime, _ = run(network, "by_lifetime", **feeds)
    apart, expected = run(network, "none", **feeds)
    assert shared.arena_bytes <= by_lifetime.arena_bytes <= apart.arena_bytes
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result.view(np.uint8), wanted.view(np.uint8))
