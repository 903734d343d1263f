# SPDX-License-Identifier: MIT
"""Weights in float16 or 8-bit steps give float32's bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn import DataLayout, DataType, Network, Runtime, TensorInfo
from armnn.profiling import Recorder
from armnn.storage.folder import SUFFIX
from armnn_backend_neon.tuning import lanes

Array: TypeAlias = NDArray[Any]
Build: TypeAlias = Callable[[Array], Network]

# As many as keep three threads busy with tasks of enough rows.
ROWS = 2689
# As many as fill panels of 8, 12, 16 and 32 columns, one of which each level has.
COLUMNS = 96


def halves(*shape: int) -> Array:
    """Return float16 numbers of each size, subnormals included."""
    rng = np.random.default_rng(len(shape))
    sizes = np.exp2(rng.integers(-18, 2, shape))
    return (rng.standard_normal(shape) * sizes).astype(np.float16).astype(np.float32)


def steps(*shape: int) -> Array:
    """Return numbers that are steps, of one size per column.

    Of several, the second has at least two steps in each number, and the third one is empty.
    """
    rng = np.random.default_rng(len(shape))
    weights = rng.integers(-128, 128, shape).astype(np.float32)
    columns = of_columns(weights)
    columns[1:2] = rng.choice(np.float32([-3, 2]), columns[1:2].shape)
    columns[2:3] = 0
    columns *= rng.uniform(0.01, 0.1, (len(columns), *[1] * (columns.ndim - 1))).astype(np.float32)
    return weights


def of_columns(weights: Array) -> Array:
    """Return a view with the columns as the first axis."""
    return np.moveaxis(weights, -1, 0) if weights.ndim == 3 else weights


def fully_connected(weights: Array) -> Network:
    net = Network("fully connected")
    x = net.add_input("x", TensorInfo((ROWS, weights.shape[1])))
    made = net.add_fully_connected(x, weights, halves(len(weights)), transpose_weight_matrix=True)
    net.add_output("y", made)
    return net


def matrices(weights: Array) -> Network:
    net = Network("matrices")
    x = net.add_input("x", TensorInfo((len(weights), ROWS, weights.shape[1])))
    net.add_output("y", net.add_batch_mat_mul(x, weights))
    return net


def convolution(weights: Array) -> Network:
    """Return a strided convolution with as many groups as needed."""
    net = Network("convolution")
    x = net.add_input("x", TensorInfo((1, 103, 95, 34)))
    net.add_output(
        "y",
        net.add_convolution2d(
            x, weights, stride_x=2, stride_y=2, pad_left=1, data_layout=DataLayout.NHWC
        ),
    )
    return net


def crowded(weights: Array) -> Network:
    """Return rows so far apart that they are copied."""
    net = Network("crowded")
    x = net.add_input("x", TensorInfo((1, 97, 97, 256)))
    made = net.add_convolution2d(x, weights, stride_x=2, stride_y=2, data_layout=DataLayout.NHWC)
    net.add_output("y", made)
    return net


CASES: dict[str, tuple[Build, tuple[int, ...]]] = {
    "a fully connected layer": (fully_connected, (67, 45)),
    "one column": (fully_connected, (1, 45)),
    "an even depth": (fully_connected, (67, 44)),
    "one number per column": (fully_connected, (67, 1)),
    "products of matrices": (matrices, (3, 29, 37)),
    "windows": (convolution, (41, 3, 3, 34)),
    "windows of few columns": (convolution, (36, 3, 3, 34)),
    "a window of one": (convolution, (41, 1, 1, 34)),
    "groups": (convolution, (10, 3, 2, 17)),
    "copied rows": (crowded, (97, 1, 1, 256)),
}


def run(
    network: Network, x: Array, threads: int = 1, folder: Path | None = None
) -> tuple[Array, int, list[str]]:
    """Return the output, the weights' bytes and the cache's outcomes."""
    recorder = Recorder()
    with Runtime() as runtime:
        options = {"CpuAcc": {"NumberOfThreads": threads}}
        optimized = runtime.optimize(
            network, ["CpuAcc"], backend_options=options, cache_dir=folder, profiler=recorder
        )
        model = runtime.load_network(optimized)
        (part,) = model.report.compiled_parts
        (result,) = model.run({"x": x}).values()
        outcomes = [str(e.details["outcome"]) for e in recorder.events if e.name == "cache"]
        return np.array(result), part.footprint.weight_bytes, outcomes


def input_of(network: Network) -> Array:
    (layer,) = network.inputs
    shape = layer.output.info.static_shape
    return np.random.default_rng(2).standard_normal(shape, np.float32)


def without_halves(weights: Array) -> Array:
    """Return the weights with one that float16 cannot hold.

    It is in the first column.
    """
    result = weights.copy()
    result.flat[0] = np.float32(1 + 2**-11)
    return result


def without_steps(weights: Array) -> Array:
    """Return weights with a broken step in column 0."""
    result = weights.copy()
    result.flat[0] = np.float32(math.pi / 1000)
    return result


def has_halves(level: str) -> bool:
    return level != "sse2"


@dataclass(frozen=True)
class Narrow:
    """Weights that need less than 32 bits.

    Args: make: such weights; spoil: makes one of the first column a number that needs 32.
    """

    make: Callable[..., Array]
    spoil: Callable[[Array], Array]


NARROW = {"float16": Narrow(halves, without_halves), "steps": Narrow(steps, without_steps)}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("level")
def test_columns_are_the_same_bits_beside_one_that_needs_float32(
    name: str, kind: str, threads: int
) -> None:
    build, shape = CASES[name]
    weights = NARROW[kind].make(*shape)
    network = build(weights)
    x = input_of(network)
    small, _, _ = run(network, x, threads)
    large, _, _ = run(build(NARROW[kind].spoil(weights)), x, threads)
    unequal = np.flatnonzero((small != large).any(axis=tuple(range(small.ndim - 1))))
    assert unequal.tolist() == [0]


def sizes(name: str, kind: str) -> tuple[int, int]:
    """Return the bytes of narrow weights and of others."""
    build, shape = CASES[name]
    network = build(NARROW[kind].make(*shape))
    x = input_of(network)
    _, small, _ = run(network, x)
    _, large, _ = run(build(NARROW[kind].spoil(NARROW[kind].make(*shape))), x)
    bias = 4 * shape[0] if build is fully_connected else 0
    return small - bias, large - bias


@pytest.mark.parametrize("name", CASES)
def test_weights_in_float16_take_half_the_memory(name: str, level: str) -> None:
    small, large = sizes(name, "float16")
    share = 2 if has_halves(level) else 1
    assert abs(small * share - large) <= 64 * share * CASES[name][1][0]


# One number takes less without a step of its own.
@pytest.mark.parametrize("name", [name for name in CASES if name != "one number per column"])
@pytest.mark.usefixtures("level")
def test_weights_in_steps_take_a_quarter_of_the_memory(name: str) -> None:
    small, large = sizes(name, "steps")
    build, shape = CASES[name]
    numbers = large // 4
    columns = numbers // (shape[1] if build is matrices else math.prod(shape[1:]))
    expected = numbers + 4 * columns
    assert expected <= small <= expected + 64 * math.ceil(columns / 8)


@pytest.mark.parametrize("depth", [44, 45])
@pytest.mark.usefixtures("level")
def test_few_columns_are_packed_in_rows_of_a_register(depth: int) -> None:
    """Two rows share one whose half has all columns."""
    floats = lanes()
    are_shared = floats > 4 and depth % 2 == 0
    expected = {
        floats // 2: floats // 2 if are_shared else floats,
        floats // 2 + 1: floats,
        floats: floats,
    }
    rng = np.random.default_rng(5)
    for columns, row in expected.items():
        network = fully_connected(rng.standard_normal((columns, depth), np.float32))
        _, found, _ = run(network, input_of(network))
        bias = 4 * columns
        assert 0 <= found - bias - 4 * row * depth < 64


@pytest.mark.usefixtures("level")
def test_few_numbers_per_column_are_not_stored_in_steps() -> None:
    _, small, _ = run(fully_connected(steps(COLUMNS, 7)), np.ones((ROWS, 7), np.float32))
    _, large, _ = run(fully_connected(steps(COLUMNS, 8)), np.ones((ROWS, 8), np.float32))
    bias = 4 * COLUMNS
    assert small - bias == COLUMNS * 7 * 4
    assert 0 <= large - bias - COLUMNS * (8 + 4) <= 64 * COLUMNS // 8


# Beside -100 and 1 of it.
STEP = np.float32(0.013)
IN_STEPS: Mapping[str, float] = {
    "the lowest": -128 * STEP,
    "the highest": 127 * STEP,
    "nothing": 0.0,
    "minus zero": -0.0,
}
NOT_IN_STEPS: Mapping[str, float] = {
    "above the highest": 128 * STEP,
    "below the lowest": -129 * STEP,
    "half a step": 0.5 * STEP,
    "beside a step": np.nextafter(5 * STEP, np.float32(1)),
    "infinity": np.inf,
    "no number": np.nan,
}


@pytest.mark.parametrize("number", [*IN_STEPS, *NOT_IN_STEPS])
@pytest.mark.usefixtures("level")
def test_only_whole_steps_are_stored_as_such(number: str) -> None:
    weights = np.full((COLUMNS, 32), -100 * STEP, np.float32)
    weights[:, 0] = STEP
    x = np.zeros((ROWS, 32), np.float32)
    _, expected, _ = run(fully_connected(weights), x)
    weights[-1, 31] = {**IN_STEPS, **NOT_IN_STEPS}[number]
    x[:, 31] = 1
    made, weight_bytes, _ = run(fully_connected(weights), x)
    assert (weight_bytes == expected) == (number in IN_STEPS)
    np.testing.assert_array_equal(made, np.tile(weights[:, 31] + halves(COLUMNS), (ROWS, 1)))


@pytest.mark.parametrize(("rows", "share"), [(15, 4), (16, 1)])
def test_steps_need_some_rows(rows: int, share: int) -> None:
    net = Network("some rows")
    x = net.add_input("x", TensorInfo((rows, 64)))
    net.add_output(
        "y", net.add_fully_connected(x, steps(COLUMNS, 64), transpose_weight_matrix=True)
    )
    _, weight_bytes, _ = run(net, input_of(net))
    assert weight_bytes // (64 * COLUMNS) == share


SPECIAL: Mapping[str, float] = {
    "the largest": 65504.0,
    "the smallest": 2.0**-24,
    "minus zero": -0.0,
    "infinity": np.inf,
    "no number": np.nan,
}
BEYOND: Mapping[str, float] = {
    "above the largest": 65520.0,
    "below the smallest": 2.0**-25,
    "between two subnormal ones": 1.5 * 2.0**-24,
    "between two": 1 + 2.0**-11,
}


@pytest.mark.parametrize("number", [*SPECIAL, *BEYOND])
def test_only_what_float16_holds_is_stored_in_it(number: str, level: str) -> None:
    weights = halves(COLUMNS, 32)
    _, expected, _ = run(fully_connected(weights), np.ones((ROWS, 32), np.float32))
    weights = weights.copy()
    weights[-1, 31] = {**SPECIAL, **BEYOND}[number]
    x = np.zeros((ROWS, 32), np.float32)
    x[:, 31] = 1
    made, weight_bytes, _ = run(fully_connected(weights), x)
    is_larger = has_halves(level) and number in BEYOND
    assert weight_bytes == expected + (COLUMNS * 32 * 2 if is_larger else 0)
    np.testing.assert_array_equal(made, np.tile(weights[:, 31] + halves(COLUMNS), (ROWS, 1)))


def test_constants_of_float16_stay_as_they_are(level: str) -> None:
    net = Network("halves")
    x = net.add_input("x", TensorInfo((ROWS, 32), DataType.FLOAT16))
    weights = halves(32, COLUMNS).astype(np.float16)
    net.add_output("y", net.add_fully_connected(x, net.add_constant(weights)))
    rows = input_of(net).astype(np.float16)
    made, weight_bytes, _ = run(net, rows)
    assert weight_bytes == 32 * COLUMNS * (2 if has_halves(level) else 4)
    exact = rows.astype(np.float64) @ weights.astype(np.float64)
    np.testing.assert_allclose(made.astype(np.float64), exact, rtol=2**-10, atol=1e-4)


def test_few_rows_read_float32() -> None:
    net = Network("one row")
    x = net.add_input("x", TensorInfo((1, 64)))
    net.add_output("y", net.add_fully_connected(x, halves(64, COLUMNS)))
    _, weight_bytes, _ = run(net, input_of(net))
    assert weight_bytes == 64 * COLUMNS * 4


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", NARROW)
def test_a_stored_program_keeps_narrow_weights(
    kind: str, tmp_path: Path, threads: int, level: str
) -> None:
    network = crowded(NARROW[kind].make(COLUMNS, 1, 1, 256))
    x = input_of(network)
    first = run(network, x, threads, tmp_path)
    again = run(network, x, threads, tmp_path)
    assert (first[2], again[2]) == (["compiled and stored"], ["taken from the cache"])
    assert first[1] == again[1]
    np.testing.assert_array_equal(first[0], again[0])
    (path,) = tmp_path.glob(f"*{SUFFIX}")
    assert first[1] <= path.stat().st_size < first[1] + 4096
    if kind == "steps":
        assert 0 <= first[1] - COLUMNS * (256 + 4) <= 64 * COLUMNS // 8
    elif threads == 1 and has_halves(level):
        assert first[1] == COLUMNS * 256 * 2


@pytest.mark.parametrize("numbers", [("1", "3"), ("3", "1")])
@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.usefixtures("level")
def test_a_stored_program_runs_with_another_number_of_threads(
    kind: str, tmp_path: Path, numbers: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = crowded(NARROW[kind].make(128, 1, 1, 256))
    x = input_of(network)
    made = []
    for number in numbers:
        monkeypatch.setenv("ARMNN_CPUACC_THREADS", number)
        made.append(run(network, x, 0, tmp_path))
    (first, _, stored), (again, _, taken) = made
    assert (stored, taken) == (["compiled and stored"], ["taken from the cache"])
    np.testing.assert_array_equal(first, again)
