# SPDX-License-Identifier: MIT
"""Gemms under FastMathEnabled: bfloat16 where the level multiplies it."""

from __future__ import annotations

import platform
import runpy
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, Network, TensorInfo
from armnn.storage.folder import SUFFIX
from armnn.tensor import info_of

Array: TypeAlias = NDArray[Any]
Run: TypeAlias = Callable[..., Array]

BUILD = runpy.run_path(str(Path(__file__).resolve().parents[1] / "native_build/levels.py"))
LEVELS = {level.name: level for level in BUILD["levels_of"](platform.machine())}


def multiplies_bfloat16(name: str) -> bool:
    """Return whether a level or its base does."""
    level = LEVELS.get(name)
    return level is not None and (
        "gemm_bfloat16" in level.sources or multiplies_bfloat16(level.adds_to)
    )


# The levels that multiply in bfloat16, each with the nearest one below that does not.
WITH_BFLOAT16 = {
    name: next(base for base in list(LEVELS)[place:] if not multiplies_bfloat16(base))
    for place, name in enumerate(LEVELS)
    if multiplies_bfloat16(name)
}
LEAST_DEPTH, LEAST_COLUMNS = 4, 8
"""Smaller products are computed in float32."""


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def rounded(x: Array) -> Array:
    """Return the nearest bfloat16 numbers, halves to even."""
    return x.astype(ml_dtypes.bfloat16).astype(np.float64)


@pytest.fixture
def run(level: str) -> Run:
    """Return a function that runs a one-output network."""

    def compute(
        network: Network,
        feeds: dict[str, Array],
        *,
        fast: bool,
        threads: int = 1,
        cache: Path | None = None,
    ) -> Array:
        options = {"CpuAcc": {"FastMathEnabled": fast, "NumberOfThreads": threads}}
        with armnn.Runtime() as runtime:
            loaded = runtime.load_model(
                network, backends=["CpuAcc"], backend_options=options, cache_dir=cache
            )
            (result,) = loaded.run(feeds).values()
            return np.array(result)

    return compute


class Case(NamedTuple):
    """A product of an input and weights.

    Attributes:
        network: Its input is "x", its output "y".
        x: What it receives.
        exact: The product in float64 of any input and weights of these shapes.
        weights: Those of the network.
        depth: How many products of one tap a sum has.
    """

    network: Network
    x: Array
    exact: Callable[[Array, Array], Array]
    weights: Array
    depth: int


def connected(rows: int, depth: int, columns: int) -> Case:
    x, weights = random(rows, depth), random(depth, columns)
    network = Network("connected")
    to = network.add_fully_connected(network.add_input("x", info_of(x)), weights)
    network.add_output("y", to)
    return Case(network, x, np.matmul, weights, depth)


def convolution(
    image: tuple[int, int, int, int],
    columns: int,
    window: tuple[int, int],
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
) -> Case:
    """Return a convolution with padding 1, weights [O,KH,KW,I]."""
    channels = image[3] // groups
    x, weights = random(*image), random(columns, *window, channels)
    network = Network("convolution")
    to = network.add_convolution2d(
        network.add_input("x", info_of(x)),
        weights,
        pad_left=1,
        pad_right=1,
        pad_top=1,
        pad_bottom=1,
        stride_x=stride,
        stride_y=stride,
        dilation_x=dilation,
        dilation_y=dilation,
        data_layout=DataLayout.NHWC,
    )
    network.add_output("y", to)

    def exact(x: Array, weights: Array) -> Array:
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        sides = [
            (padded.shape[1 + axis] - (window[axis] - 1) * dilation - 1) // stride + 1
            for axis in (0, 1)
        ]
        y: Array = np.zeros((x.shape[0], *sides, columns))
        wide = columns // groups
        for group, i, j in product(range(groups), range(window[0]), range(window[1])):
            seen = padded[
                :,
                i * dilation : i * dilation + (sides[0] - 1) * stride + 1 : stride,
                j * dilation : j * dilation + (sides[1] - 1) * stride + 1 : stride,
                group * channels : (group + 1) * channels,
            ]
            mine = slice(group * wide, (group + 1) * wide)
            y[..., mine] += seen @ weights[mine, i, j].T
        return y

    return Case(network, x, exact, weights, channels)


CASES: dict[str, Callable[[], Case]] = {
    "one row": lambda: connected(1, 70, 33),
    "an odd depth": lambda: connected(29, 37, 64),
    "columns of half a vector": lambda: connected(15, 5, 8),
    "rows that would crowd the cache": lambda: connected(19, 1024, 40),
    "several tasks": lambda: connected(300, 64, 200),
    "1x1": lambda: convolution((2, 7, 5, 17), 35, (1, 1)),
    "1x1 of crowded pixels": lambda: convolution((1, 6, 5, 512), 48, (1, 1), stride=2),
    "3x3 with a stride": lambda: convolution((1, 13, 9, 20), 24, (3, 3), stride=2),
    "2x2, which is not filtered": lambda: convolution((3, 5, 4, 18), 12, (2, 2)),
    "5x3, dilated": lambda: convolution((1, 11, 12, 19), 40, (5, 3), dilation=2),
    "few channels": lambda: convolution((1, 19, 23, 3), 32, (7, 7), stride=2),
    "groups": lambda: convolution((1, 8, 9, 24), 48, (3, 3), groups=3),
    "lines shorter than a register of rows": lambda: convolution((2, 7, 7, 40), 33, (2, 4)),
    "lines of several tasks": lambda: convolution((1, 3, 530, 17), 40, (2, 4)),
    "lines of several phases": lambda: convolution((1, 14, 31, 24), 40, (5, 2), stride=3),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_operands_are_rounded_and_sums_are_float32(
    run: Run, level: str, name: str, threads: int
) -> None:
    case = CASES[name]()
    feeds = {"x": case.x}
    fast = run(case.network, feeds, fast=True, threads=threads)
    slow = run(case.network, feeds, fast=False, threads=threads)
    if level not in WITH_BFLOAT16:
        np.testing.assert_array_equal(fast, slow)
        return
    sizes = case.exact(np.abs(case.x.astype(np.float64)), np.abs(case.weights))
    # A sum of float32 loses at most 2^-24 of all that it adds per step.
    expected = case.exact(rounded(case.x), rounded(case.weights))
    assert np.all(np.abs(fast - expected) <= 1e-5 * sizes)
    # Two roundings of half of 2^-7 at most.
    exact = case.exact(case.x.astype(np.float64), case.weights.astype(np.float64))
    assert np.all(np.abs(fast - exact) <= (2**-8 + 2**-8) * sizes)
    assert np.abs(fast - exact).max() > 1e-4 * np.abs(exact).max()


@pytest.mark.parametrize(
    ("depth", "columns"), [(LEAST_DEPTH - 1, 64), (64, LEAST_COLUMNS - 1), (1, 1)]
)
def test_a_product_that_gains_nothing_stays_in_float32(run: Run, depth: int, columns: int) -> None:
    case = connected(9, depth, columns)
    fast, slow = (run(case.network, {"x": case.x}, fast=fast) for fast in (True, False))
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("transposed", [False, True])
def test_both_sides_of_a_batch_may_be_computed(run: Run, level: str, transposed: bool) -> None:
    x, y = random(3, 1, 21, 13), random(2, 13, 30)
    other = np.ascontiguousarray(y.swapaxes(1, 2)) if transposed else y
    network = Network("batch")
    left = network.add_input("x", info_of(x))
    right = network.add_input("y", info_of(other))
    network.add_output("z", network.add_batch_mat_mul(left, right, transpose_y=transposed))
    feeds = {"x": x, "y": other}
    fast = run(network, feeds, fast=True, threads=2)
    if level not in WITH_BFLOAT16:
        np.testing.assert_array_equal(fast, run(network, feeds, fast=False, threads=2))
        return
    sizes = np.abs(x) @ np.abs(y)
    assert np.all(np.abs(fast - rounded(x) @ rounded(y)) <= 1e-5 * sizes)


def test_attention_is_off_by_the_rounding_of_its_operands(run: Run, level: str) -> None:
    query, key, value = random(1, 4, 70, 24), random(1, 2, 133, 24), random(1, 2, 133, 40)
    network = Network("attention")
    feeds = {"query": query, "key": key, "value": value}
    values = [network.add_input(name, info_of(each)) for name, each in feeds.items()]
    network.add_output("y", network.add_attention(*values))
    fast = run(network, feeds, fast=True, threads=2)
    slow = run(network, feeds, fast=False, threads=2)
    if level not in WITH_BFLOAT16:
        np.testing.assert_array_equal(fast, slow)
        return
    off = np.abs(fast - slow)
    assert 1e-5 < off.max() < 0.02


def numbers() -> Iterator[float]:
    """Yield ties, their neighbors, overflowing and non-finite numbers."""
    one = 2.0**-8
    for sign in (1.0, -1.0):
        yield from (sign * (1 + one), sign * (1 + 3 * one), sign * (1 + one + 2**-20))
        yield from (sign * (1 + 3 * one - 2**-20), sign * 3.3e38, sign * 3.4e38, sign * np.inf)
        yield from (sign * 0.0, sign * 2.0**-126)
    yield np.nan


def test_numbers_are_rounded_to_the_nearest_and_nan_stays(run: Run, level: str) -> None:
    x = np.array(list(numbers()), np.float32)[:, np.newaxis] * np.ones(5, np.float32)
    network = Network("rounding")
    weights = np.zeros((5, 8), np.float32)
    weights[:, :] = np.eye(5, 8)
    # One number of each row and zeros beside it: an infinity times 0 would be NaN.
    x[:, 1:] = 0
    to = network.add_fully_connected(network.add_input("x", info_of(x)), weights)
    network.add_output("y", to)
    given = x[:, 0]
    right = given.astype(ml_dtypes.bfloat16).astype(np.float32) if level in WITH_BFLOAT16 else given
    made = run(network, {"x": x}, fast=True)[:, 0]
    np.testing.assert_array_equal(made, right)


def test_nan_in_weights_stays(run: Run) -> None:
    case = connected(3, 9, 16)
    weights = case.weights.copy()
    # The quietest and the loudest, whose upper halves alone might be an infinity.
    weights[2, 5], weights[3, 6] = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    network = Network("nan")
    to = network.add_fully_connected(network.add_input("x", info_of(case.x)), weights)
    network.add_output("y", to)
    is_nan = np.isnan(run(network, {"x": case.x}, fast=True))
    np.testing.assert_array_equal(is_nan, np.isin(np.arange(16), (5, 6))[np.newaxis].repeat(3, 0))


def test_nan_of_one_pixel_reaches_no_other_one(run: Run) -> None:
    case = convolution((1, 6, 7, 5), 9, (1, 1))
    x = case.x.copy()
    x[0, 2, 3, 0] = np.nan
    is_nan = np.isnan(run(case.network, {"x": x}, fast=True)).any(-1)
    # The padding of 1 shifts outputs by 1.
    np.testing.assert_array_equal(np.argwhere(is_nan), [[0, 3, 4]])


def test_nan_of_one_pixel_reaches_all_windows_that_see_it(run: Run) -> None:
    case = convolution((1, 12, 13, 5), 9, (2, 2))
    x = case.x.copy()
    x[0, 4, 12, 0] = np.nan
    is_nan = np.isnan(run(case.network, {"x": x}, fast=True)).any(-1)
    seen = [[0, y, x] for y in (4, 5) for x in (12, 13)]  # the padding of 1 shifts outputs
    np.testing.assert_array_equal(np.argwhere(is_nan), seen)


def test_a_fused_function_and_sum_follow(run: Run) -> None:
    case = convolution((1, 9, 8, 24), 24, (1, 1))
    network = Network("fused")
    x = network.add_input("x", info_of(case.x))
    bias = random(24)
    made = network.add_convolution2d(x, case.weights, bias, data_layout=DataLayout.NHWC)
    total = network.add_addition(made, x)
    network.add_output("y", network.add_activation(total, function=armnn.ActivationFunction.RELU))
    off, on = (run(network, {"x": case.x}, fast=fast) for fast in (False, True))
    sums = case.x.astype(np.float64) @ case.weights[:, 0, 0].T.astype(np.float64)
    right = np.maximum(sums + bias + case.x, 0)
    np.testing.assert_allclose(off, right, atol=1e-4)
    assert np.abs(on - right).max() <= 0.01 * right.max()


def test_the_last_level_computes_what_the_one_below_does_without_the_option(
    monkeypatch: pytest.MonkeyPatch, best_level: str
) -> None:
    """A level that adds bfloat16 differs by nothing else."""
    below = WITH_BFLOAT16.get(best_level, best_level)
    case = convolution((1, 20, 23, 32), 40, (3, 3))
    results = []
    for level in (best_level, below):
        monkeypatch.setenv("ARMNN_CPUACC_ISA", level)
        monkeypatch.setattr("armnn.backends.discovery._found", {})
        with armnn.Runtime() as runtime:
            loaded = runtime.load_model(case.network, backends=["CpuAcc"])
            results.append(np.array(loaded.run({"x": case.x})["y"]))
    np.testing.assert_array_equal(results[0], results[1])


def test_a_stored_program_is_of_its_option_and_has_half_the_weights(
    run: Run, level: str, tmp_path: Path
) -> None:
    case = connected(5, 256, 512)
    feeds = {"x": case.x}
    sizes: list[int] = []
    for fast in (False, True):
        fresh = run(case.network, feeds, fast=fast)
        for _ in range(2):
            kept = run(case.network, feeds, fast=fast, cache=tmp_path)
            np.testing.assert_array_equal(kept, fresh)
        files = sorted(tmp_path.rglob(f"*{SUFFIX}"), key=lambda file: file.stat().st_mtime_ns)
        assert len(files) == len(sizes) + 1
        sizes.append(files[-1].stat().st_size)
    ratio = sizes[1] / sizes[0]
    assert 0.45 < ratio < 0.55 if level in WITH_BFLOAT16 else 0.9 < ratio < 1.1


def test_images_of_no_pixels_are_empty(run: Run) -> None:
    network = Network("empty")
    x = network.add_input("x", TensorInfo((0, 4, 4, 16)))
    made = network.add_convolution2d(x, random(8, 1, 1, 16), data_layout=DataLayout.NHWC)
    network.add_output("y", made)
    feeds = {"x": np.zeros((0, 4, 4, 16), np.float32)}
    assert run(network, feeds, fast=True).shape == (0, 4, 4, 8)
