# SPDX-License-Identifier: MIT
"""Tensors that FastMathEnabled stores in bfloat16."""

from __future__ import annotations

import os
import platform
import runpy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, Network
from armnn.graph import Value
from armnn.tensor import info_of

Array: TypeAlias = NDArray[Any]
Layer: TypeAlias = Callable[[Network, Value], Value]

BUILD = runpy.run_path(str(Path(__file__).resolve().parents[1] / "native_build/levels.py"))
LEVELS = {level.name: level for level in BUILD["levels_of"](platform.machine())}


NEAREST, BILINEAR = armnn.ResizeMethod.NEAREST_NEIGHBOR, armnn.ResizeMethod.BILINEAR
MAXIMUM, AVERAGE = armnn.PoolingAlgorithm.MAX, armnn.PoolingAlgorithm.AVERAGE


def multiplies_bfloat16(name: str) -> bool:
    """Return whether a level or its base does."""
    level = LEVELS.get(name)
    return level is not None and (
        "gemm_bfloat16" in level.sources or multiplies_bfloat16(level.adds_to)
    )


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def rounded(x: Array) -> Array:
    """Return the nearest bfloat16 numbers, halves to even, as float32."""
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def pointwise(depth: int, columns: int) -> Layer:
    def add(network: Network, x: Value) -> Value:
        weights = random(columns, 1, 1, depth)
        return network.add_convolution2d(x, weights, random(columns), data_layout=DataLayout.NHWC)

    return add


def convolution(depth: int, columns: int, size: int, stride: int = 2) -> Layer:
    def add(network: Network, x: Value) -> Value:
        return network.add_convolution2d(
            x,
            random(columns, size, size, depth),
            pad_left=1,
            pad_top=1,
            pad_right=1,
            pad_bottom=1,
            stride_x=stride,
            stride_y=stride,
            data_layout=DataLayout.NHWC,
        )

    return add


def normalized(channels: int) -> Layer:
    """Return a batch normalization and arithmetic by rows."""

    def add(network: Network, x: Value) -> Value:
        mean, variance, beta, gamma, factor, addend = random(6, channels)
        made = network.add_batch_normalization(
            x, mean, 1 + np.abs(variance), beta, gamma, data_layout=DataLayout.NHWC
        )
        made = network.add_multiplication(made, factor)
        made = network.add_addition(made, addend)
        return network.add_activation(made, function=armnn.ActivationFunction.RELU)

    return add


def depthwise(channels: int, size: int = 3, stride: int = 1, dilation: int = 1) -> Layer:
    def add(network: Network, x: Value) -> Value:
        made = network.add_depthwise_convolution2d(
            x,
            random(1, size, size, channels),
            random(channels),
            pad_left=1,
            pad_top=1,
            pad_right=1,
            pad_bottom=1,
            stride_x=stride,
            stride_y=stride,
            dilation_x=dilation,
            dilation_y=dilation,
            data_layout=DataLayout.NHWC,
        )
        return network.add_activation(made, function=armnn.ActivationFunction.RELU)

    return add


def connected(depth: int, columns: int) -> Layer:
    def add(network: Network, x: Value) -> Value:
        return network.add_fully_connected(x, random(depth, columns), random(columns))

    return add


def flat(*shape: int) -> Layer:
    def add(network: Network, x: Value) -> Value:
        return network.add_reshape(x, target_shape=shape)

    return add


def both(*layers: Layer) -> Layer:
    def add(network: Network, x: Value) -> Value:
        for layer in layers:
            x = layer(network, x)
        return x

    return add


def network_of(x: Array, *layers: Layer) -> Network:
    network = Network("layers")
    network.add_output("y", both(*layers)(network, network.add_input("x", info_of(x))))
    return network


@contextmanager
def sharing(kind: str | None) -> Iterator[None]:
    """Compile with less sharing of memory than usual."""
    if kind is not None:
        os.environ["ARMNN_CPUACC_SHARING"] = kind
    try:
        yield
    finally:
        os.environ.pop("ARMNN_CPUACC_SHARING", None)


class Outcome(NamedTuple):
    results: dict[str, Array]
    arena_bytes: int

    @property
    def y(self) -> Array:
        return self.results["y"]


def run(
    network: Network,
    x: Array,
    *,
    fast: bool = True,
    threads: int = 1,
    kind: str | None = None,
    cache: Path | None = None,
) -> Outcome:
    options = {"CpuAcc": {"FastMathEnabled": fast, "NumberOfThreads": threads}}
    with sharing(kind), armnn.Runtime() as runtime:
        loaded = runtime.load_model(
            network.clone(), backends=["CpuAcc"], backend_options=options, cache_dir=cache
        )
        results = {name: np.array(each) for name, each in loaded.run({"x": x}).items()}
        (part,) = loaded.report.compiled_parts
        return Outcome(results, part.footprint.arena_bytes)


class Case(NamedTuple):
    """Layers, and the one that rounds what they make."""

    x: Array
    maker: Layer
    reader: Layer


def pooled(pooling: armnn.PoolingAlgorithm) -> Layer:
    def add(network: Network, x: Value) -> Value:
        return network.add_pooling2d(
            x,
            pool_type=pooling,
            pool_width=3,
            pool_height=3,
            stride_x=2,
            stride_y=2,
            pad_right=1,
            pad_bottom=1,
            data_layout=DataLayout.NHWC,
        )

    return add


def resized(method: armnn.ResizeMethod, height: int, width: int) -> Layer:
    def add(network: Network, x: Value) -> Value:
        return network.add_resize(
            x,
            target_height=height,
            target_width=width,
            method=method,
            half_pixel_centers=True,
            data_layout=DataLayout.NHWC,
        )

    return add


def joined(*layers: Layer) -> Layer:
    """Return the channels of several layers side by side."""

    def add(network: Network, x: Value) -> Value:
        return network.add_concat([layer(network, x) for layer in layers], axis=3)

    return add


def half(first: int, last: int) -> Layer:
    """Return some channels."""

    def add(network: Network, x: Value) -> Value:
        return network.add_slice(x, begin=(0, 0, 0, first), size=(1, 9, 7, last - first))

    return add


def mean(*axes: int) -> Layer:
    def add(network: Network, x: Value) -> Value:
        return network.add_mean(x, axis=axes, keep_dims=True)

    return add


def combined(columns: int) -> Layer:
    """Return arithmetic with what is read twice and with rows."""

    def add(network: Network, x: Value) -> Value:
        means = network.add_mean(x, axis=(1, 2), keep_dims=True)
        made = network.add_addition(network.add_multiplication(x, means), x)
        made = network.add_maximum(network.add_subtraction(random(columns), made), x)
        return network.add_minimum(made, np.float32(3.5))

    return add


def least(columns: int) -> Layer:
    """Return one pointwise layer, which no other one absorbs."""

    def add(network: Network, x: Value) -> Value:
        return network.add_minimum(x, random(columns))

    return add


def scaled(columns: int) -> Layer:
    """Return several pointwise layers, which become a chain."""

    def add(network: Network, x: Value) -> Value:
        curved = network.add_activation(x, function=armnn.ActivationFunction.TANH, a=9.0, b=0.1)
        product = network.add_multiplication(curved, random(columns))
        return network.add_addition(product, x)

    return add


ROUNDED: dict[str, Case] = {
    "minima of products": Case(
        random(1, 9, 7, 24), both(pointwise(24, 70), least(70)), pointwise(70, 20)
    ),
    "minima": Case(random(1, 9, 7, 24), least(24), pointwise(24, 20)),
    "a chain": Case(random(1, 9, 7, 24), scaled(24), pointwise(24, 20)),
    "a chain of long rows": Case(random(1, 5, 3, 1500), scaled(1500), pointwise(1500, 20)),
    "a chain of odd rows": Case(random(1, 2, 3, 1511), scaled(1511), pointwise(1511, 20)),
    "normalized": Case(random(1, 9, 7, 40), normalized(40), pointwise(40, 20)),
    "maxima": Case(
        random(1, 9, 7, 24), both(pointwise(24, 40), pooled(MAXIMUM)), pointwise(40, 20)
    ),
    "nearest samples": Case(
        random(1, 9, 7, 24), both(pointwise(24, 37), resized(NEAREST, 17, 20)), pointwise(37, 20)
    ),
    "samples between": Case(random(1, 9, 7, 24), resized(BILINEAR, 17, 20), pointwise(24, 20)),
    "joined": Case(
        random(1, 9, 7, 24), joined(pointwise(24, 40), depthwise(24)), pointwise(64, 20)
    ),
    "padded": Case(random(1, 9, 7, 24), pointwise(24, 12), convolution(12, 20, 3)),
    "sliced": Case(random(1, 9, 7, 24), both(pointwise(24, 40), half(8, 39)), pointwise(31, 20)),
    "depthwise": Case(random(1, 9, 7, 40), depthwise(40), pointwise(40, 24)),
    "depthwise with a stride": Case(random(2, 8, 9, 33), depthwise(33, 5, 2), pointwise(33, 16)),
    "depthwise, dilated": Case(random(1, 9, 9, 16), depthwise(16, 3, 1, 2), pointwise(16, 20)),
    "depthwise of few channels": Case(random(1, 9, 9, 5), depthwise(5), pointwise(5, 20)),
    "1x1": Case(random(1, 6, 7, 24), pointwise(24, 37), pointwise(37, 20)),
    "3x3": Case(random(1, 9, 11, 24), pointwise(24, 48), convolution(48, 20, 3)),
    "crowded rows": Case(random(1, 5, 7, 16), pointwise(16, 512), pointwise(512, 20)),
    "gemm": Case(random(19, 30), connected(30, 45), connected(45, 24)),
    "reshaped": Case(random(3, 5, 4, 8), both(pointwise(8, 12), flat(3, 240)), connected(240, 24)),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ROUNDED)
def test_what_all_readers_round_is_rounded_where_it_is_made(
    level: str, name: str, threads: int
) -> None:
    case = ROUNDED[name]
    whole = network_of(case.x, case.maker, case.reader)
    # Cut in two, the part behind rounds what it is given.
    middle = run(network_of(case.x, case.maker), case.x, threads=threads).y
    end = run(network_of(middle, case.reader), middle, threads=threads).y
    made = run(whole, case.x, threads=threads)
    np.testing.assert_array_equal(made.y, end)
    slow = run(whole, case.x, fast=False, threads=threads)
    if multiplies_bfloat16(level):
        assert 0 < np.abs(made.y - slow.y).max() < 0.02 * np.abs(slow.y).max()
    else:
        np.testing.assert_array_equal(made.y, slow.y)


def added(layer: Layer) -> Layer:
    """Return a layer that adds its input to its result."""

    def add(network: Network, x: Value) -> Value:
        total = network.add_addition(layer(network, x), x)
        return network.add_activation(total, function=armnn.ActivationFunction.RELU)

    return add


CONVERTED: dict[str, Case] = {
    "a chain": Case(random(1, 9, 7, 24), pointwise(24, 70), both(scaled(70), pointwise(70, 20))),
    "a chain at the end": Case(random(1, 9, 7, 24), pointwise(24, 70), scaled(70)),
    # Behind a maximum: a convolution would absorb it.
    "normalized": Case(
        random(1, 9, 7, 24),
        both(pointwise(24, 70), pooled(MAXIMUM)),
        both(normalized(70), pointwise(70, 20)),
    ),
    "normalized at the end": Case(
        random(1, 9, 7, 24), both(pointwise(24, 37), pooled(MAXIMUM)), normalized(37)
    ),
    "arithmetic": Case(
        random(1, 9, 7, 24), pointwise(24, 70), both(combined(70), pointwise(70, 20))
    ),
    "arithmetic at the end": Case(random(1, 9, 7, 24), pointwise(24, 37), combined(37)),
    "means": Case(random(2, 9, 7, 24), pointwise(24, 117), mean(1, 2)),
    "means of rows": Case(random(2, 9, 7, 24), pointwise(24, 13), mean(2)),
    "samples between": Case(
        random(1, 9, 7, 24), pointwise(24, 37), both(resized(BILINEAR, 5, 20), pointwise(37, 20))
    ),
    "averages": Case(
        random(1, 9, 7, 24), pointwise(24, 70), both(pooled(AVERAGE), pointwise(70, 20))
    ),
    "depthwise": Case(random(1, 9, 7, 16), pointwise(16, 40), depthwise(40)),
    "depthwise with a stride": Case(random(2, 8, 9, 16), pointwise(16, 33), depthwise(33, 5, 2)),
    "depthwise, dilated": Case(random(1, 9, 9, 16), pointwise(16, 24), depthwise(24, 3, 1, 2)),
    "depthwise of few channels": Case(random(1, 9, 9, 16), pointwise(16, 9), depthwise(9)),
    "residual": Case(random(1, 9, 7, 16), pointwise(16, 40), added(pointwise(40, 40))),
    "residual of a gemm": Case(random(19, 16), connected(16, 45), added(connected(45, 45))),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", CONVERTED)
def test_readers_in_float32_get_rounded_numbers(level: str, name: str, threads: int) -> None:
    case = CONVERTED[name]
    whole = network_of(case.x, case.maker, case.reader)
    middle = run(network_of(case.x, case.maker), case.x, threads=threads).y
    made = run(whole, case.x, threads=threads)
    slow = run(whole, case.x, fast=False, threads=threads)
    if not multiplies_bfloat16(level):
        np.testing.assert_array_equal(made.y, slow.y)
        return
    exact, end = (
        run(network_of(each, case.reader), each, threads=threads).y
        for each in (middle, rounded(middle))
    )
    np.testing.assert_array_equal(made.y, end)
    assert np.any(end != exact)
    assert 0 < np.abs(made.y - slow.y).max() < 0.02 * np.abs(slow.y).max()


DIRECT = random(1, 4, 31, 7)
direct = convolution(7, 7, 3, stride=1)


def test_a_convolution_of_few_channels_rounds_what_it_makes(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In float32, as named; products of matrices are in bfloat16."""
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", "plain")
    reader = both(flat(4, 217), connected(217, 20))
    middle = run(network_of(DIRECT, direct), DIRECT).y
    made = run(network_of(DIRECT, direct, reader), DIRECT)
    np.testing.assert_array_equal(made.y, run(network_of(middle, reader), middle).y)
    slow = run(network_of(DIRECT, direct, reader), DIRECT, fast=False)
    assert (made.arena_bytes < slow.arena_bytes) == multiplies_bfloat16(level)


def test_a_convolution_of_few_channels_adds_what_is_rounded(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its residual comes from a product of matrices."""
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", "plain")
    product = both(flat(4, 217), connected(217, 217), flat(1, 4, 31, 7))
    network = Network("sum")
    given = network.add_input("x", info_of(DIRECT))
    network.add_output("y", network.add_addition(direct(network, given), product(network, given)))
    one, other = (run(network_of(DIRECT, layer), DIRECT).y for layer in (direct, product))
    if multiplies_bfloat16(level):
        assert np.any(rounded(other) != other)
        other = rounded(other)
    np.testing.assert_array_equal(run(network, DIRECT).y, one + other)


def test_an_output_is_not_rounded(level: str) -> None:
    x = random(1, 9, 7, 40)
    network = Network("outputs")
    middle = depthwise(40)(network, network.add_input("x", info_of(x)))
    network.add_output("middle", middle)
    network.add_output("y", pointwise(40, 24)(network, middle))
    results = run(network, x).results
    alone = run(network_of(x, depthwise(40)), x).y
    np.testing.assert_array_equal(results["middle"], alone)
    assert np.any(alone != rounded(alone))
    after = run(network_of(alone, pointwise(40, 24)), alone).y
    np.testing.assert_array_equal(results["y"], after)


def test_a_reader_that_computes_in_float32_gets_all_bits(level: str) -> None:
    """Softmax reads float32 only."""
    x = random(9, 30)
    network = Network("readers")
    middle = connected(30, 48)(network, network.add_input("x", info_of(x)))
    network.add_output("y", connected(48, 24)(network, middle))
    network.add_output("z", network.add_softmax(middle))
    results = run(network, x).results
    alone = run(network_of(x, connected(30, 48)), x).y
    softmax = run(network_of(alone, lambda net, value: net.add_softmax(value)), alone).y
    np.testing.assert_array_equal(results["z"], softmax)
    np.testing.assert_array_equal(results["y"], run(network_of(alone, connected(48, 24)), alone).y)


def network_of_all(x: Array) -> Network:
    """Return layers that store in every way."""
    return network_of(
        x,
        pointwise(16, 64),
        depthwise(64),
        pointwise(64, 512),
        convolution(512, 32, 3),
        normalized(32),
        combined(32),
        resized(NEAREST, 9, 10),
        depthwise(32, 5, 2),
        flat(1, 4 * 4 * 32),
        connected(512, 20),
    )


def test_bits_are_the_same_however_it_is_run(level: str, tmp_path: Path) -> None:
    x = random(1, 18, 20, 16)
    network = network_of_all(x)
    first = run(network, x).y
    if multiplies_bfloat16(level):
        assert run(network, x).arena_bytes < 0.7 * run(network, x, fast=False).arena_bytes
    for threads in (1, 2, 3):
        for kind in (None, "by_lifetime", "none"):
            made = run(network, x, threads=threads, kind=kind).y
            np.testing.assert_array_equal(made, first)
    for _ in range(2):
        np.testing.assert_array_equal(run(network, x, cache=tmp_path).y, first)
