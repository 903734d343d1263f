# SPDX-License-Identifier: MIT
"""Products with weights of 2, 4 and 8 bits of odd sizes, on every level, against float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataType, Network, TensorInfo
from armnn.errors import ExecutionError
from armnn.layers.matmul import MatMulNBitsDescriptor
from armnn.layers.quantizing import DequantizeBlocksDescriptor
from armnn.tensor import info_of

Array = NDArray[Any]

EXACT, ROUNDED = 1e-4, 8e-3
"""How far a result may be from float64, in parts of the largest: of two terms, and of one."""


def packed(numbers: Array, bits: int) -> Array:
    """Return rows of bytes, the first number of each in the lowest bits."""
    per = 8 // bits
    padded = np.pad(numbers, ((0, 0), (0, -numbers.shape[1] % per))).astype(np.uint8)
    parts = padded.reshape(len(padded), -1, per) << np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(parts, -1)


def weights(
    columns: int, size: int, bits: int, block_size: int, points: str, is_whole: bool
) -> tuple[list[Array | None], Array]:
    """Return weights, scales and zero points, and the real weights."""
    rng = np.random.default_rng([columns, size, bits])
    blocks = -(-size // block_size)
    length = blocks * block_size if is_whole else size
    numbers = rng.integers(0, 1 << bits, (columns, length))
    scales = rng.uniform(0.5, 2, (columns, blocks)).astype(np.float32) / (1 << bits)
    zeros: Array = np.full((columns, blocks), 1 << (bits - 1))
    given = None
    if points == "packed":
        zeros = rng.integers(0, 1 << bits, (columns, blocks))
        given = packed(zeros, bits)
    elif points == "real":
        zeros = given = rng.uniform(0, 1 << bits, (columns, blocks)).astype(np.float32)
    each = [np.repeat(a.astype(np.float64), block_size, 1)[:, :size] for a in (scales, zeros)]
    return [packed(numbers, bits), scales, given], each[0] * (numbers[:, :size] - each[1])


def multiply(
    x: Array, right: list[Array | None], bias: Array | None, threads: int = 1, **parameters: int
) -> Array:
    network = Network()
    held = [None if each is None else network.add_constant(each) for each in (*right, bias)]
    given = network.add_input("x", info_of(x))
    descriptor = MatMulNBitsDescriptor(**parameters)
    network.add_output("y", network.add("MatMulNBits", [given, *held], descriptor).output)
    options = {"CpuAcc": {"NumberOfThreads": threads}}
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"], backend_options=options)
        return np.array(loaded.run({"x": x})["y"])


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("level_of", [0, 4], ids=["exact", "rounded"])
@pytest.mark.parametrize("points", ["none", "packed", "real"])
@pytest.mark.parametrize(
    ("bits", "block_size", "size", "columns"),
    [(4, 32, 96, 130), (4, 16, 88, 64), (4, 512, 300, 7), (8, 32, 96, 65), (2, 64, 150, 33)],
)
def test_products_agree_with_numpy(
    bits: int, block_size: int, size: int, columns: int, points: str, level_of: int
) -> None:
    limit = ROUNDED if level_of == 4 else EXACT
    rng = np.random.default_rng(7)
    bias = rng.standard_normal(columns, np.float32)
    right, real = weights(columns, size, bits, block_size, points, size % 32 != 0)
    for rows, threads in (((), 1), ((1,), 3), ((2, 3), 1), ((70,), 3)):
        x = rng.standard_normal((*rows, size), np.float32)
        y = multiply(
            x,
            right,
            bias if rows else None,
            threads,
            bits=bits,
            block_size=block_size,
            accuracy_level=level_of,
        )
        expected = x.astype(np.float64) @ real.T + (bias if rows else 0)
        assert np.abs(y - expected).max() <= limit * np.abs(expected).max(), (rows, threads)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("level_of", [0, 4], ids=["exact", "rounded"])
@pytest.mark.parametrize("block_size", [16, 32, 128, 512])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_the_largest_products_do_not_saturate(bits: int, block_size: int, level_of: int) -> None:
    size = 2 * block_size
    numbers = np.full((40, size), (1 << bits) - 1)
    right = [packed(numbers, bits), np.ones((40, 2), np.float32), np.zeros((40, 2), np.float32)]
    x = np.array([[1.0], [-1.0], [2.0], [-2.0], [3.0]], np.float32) * np.ones(size, np.float32)
    x[4, ::2] = -3  # whose products nearly cancel each other where they are added in pairs
    y = multiply(x, right, None, bits=bits, block_size=block_size, accuracy_level=level_of)
    expected = x.astype(np.float64).sum(1, keepdims=True) * ((1 << bits) - 1)
    np.testing.assert_allclose(y, np.broadcast_to(expected, y.shape), 1e-5, 1e-2)


def rows_of_kind(kind: str, size: int) -> Array:
    """Return rows whose numbers are as large as each other, or some of which are far larger."""
    rng = np.random.default_rng(11)
    x = rng.standard_normal((40, size))
    if kind == "skewed":
        x *= np.exp(2 * rng.standard_normal(x.shape))
    elif kind == "outliers":
        x[:, ::97] *= 300
    elif kind == "one outlier":
        x[:, 7] *= 1000
    return x.astype(np.float32)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("kind", ["normal", "skewed", "outliers", "one outlier"])
@pytest.mark.parametrize("block_size", [16, 32, 256])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_large_numbers_spoil_few_others(bits: int, block_size: int, kind: str) -> None:
    x = rows_of_kind(kind, 576)
    for points in ("none", "packed", "real"):
        right, real = weights(70, 576, bits, block_size, points, False)
        expected = x.astype(np.float64) @ real.T
        y = multiply(x, right, None, bits=bits, block_size=block_size)
        assert np.abs(y - expected).max() <= EXACT * np.abs(expected).max(), points


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("points", ["packed", "real"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_rows_of_one_term_lose_no_more_than_by_rounding(bits: int, points: str) -> None:
    right, real = weights(96, 576, bits, 32, points, False)
    x = rows_of_kind("skewed", 576)
    expected = x.astype(np.float64) @ real.T
    blocks = x.astype(np.float64).reshape(40, 18, 32)
    steps = np.abs(blocks).max(-1, keepdims=True) / 127
    rounded = (np.rint(blocks / steps) * steps).reshape(40, 576) @ real.T
    made = multiply(x, right, None, accuracy_level=4, bits=bits, block_size=32)
    assert np.abs(made - expected).max() <= 1.01 * np.abs(rounded - expected).max()


def test_one_large_number_in_a_block_spoils_no_others() -> None:
    # With one term, the others of its block would be 0.
    right, real = weights(64, 64, 4, 32, "real", False)
    x = np.random.default_rng(8).standard_normal((1, 64)).astype(np.float32)
    x[0, 3] = 300
    y = multiply(x, right, None, bits=4, block_size=32)
    expected = x.astype(np.float64) @ real.T
    assert np.abs(y - expected).max() <= EXACT * np.abs(expected).max()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_spoils_its_row_alone(bad: float) -> None:
    right, real = weights(20, 64, 4, 32, "packed", False)
    x = np.ones((3, 64), np.float32)
    x[1, 40] = bad
    y = multiply(x, right, None, bits=4, block_size=32)
    assert not np.isfinite(y[1]).any()
    np.testing.assert_allclose(y[[0, 2]], np.ones((2, 64)) @ real.T, 1e-3, 1e-3)


@pytest.mark.parametrize("value", [0.0, 1e-42, 1e34])
def test_rows_of_extreme_numbers(value: float) -> None:
    right = weights(20, 32, 4, 32, "none", False)[0]
    right[0], right[1] = np.full((20, 16), 0x99, np.uint8), np.full((20, 1), 1e-3, np.float32)
    x = np.full((1, 32), value, np.float32)
    y = multiply(x, right, None, bits=4, block_size=32)
    np.testing.assert_allclose(y, np.full((1, 20), x[0, 0].astype(np.float64) * 0.032), 1e-4, 1e-37)


def test_a_row_has_the_same_bits_beside_others() -> None:
    right = weights(100, 96, 4, 32, "real", False)[0]
    x = np.random.default_rng(9).standard_normal((9, 96)).astype(np.float32)
    together = multiply(x, right, None, bits=4, block_size=32)
    for i, row in enumerate(x):
        np.testing.assert_array_equal(
            multiply(row[None], right, None, bits=4, block_size=32)[0], together[i]
        )


@pytest.mark.parametrize(
    ("block_size", "message"), [(24, "not a multiple of 16"), (8192, "larger than 4096")]
)
def test_other_blocks_are_refused(block_size: int, message: str) -> None:
    right = weights(4, 64, 4, block_size, "none", False)[0]
    with pytest.raises(armnn.ArmnnError, match=message):
        multiply(np.ones((1, 64), np.float32), right, None, bits=4, block_size=block_size)


@pytest.mark.parametrize("tied", ["value", "memory", ""])
@pytest.mark.parametrize(
    ("bits", "points"), [(2, "packed"), (4, "packed"), (4, "real"), (8, "none")]
)
def test_a_table_that_is_also_multiplied_is_there_once(
    bits: int, points: str, tied: str, tmp_path: Path
) -> None:
    columns, size, block_size = 4099, 512, 32  # small constants are copied, each by itself
    held, real = weights(columns, size, bits, block_size, points, is_whole=True)
    network = Network()
    indices = network.add_input("indices", TensorInfo((2, 3), DataType.SIGNED64))
    given = network.add_input("x", TensorInfo((1, size)))
    right = [None if each is None else network.add_constant(each) for each in held]
    table = right
    if tied != "value":  # as of a Reshape in a file, or a table of its own
        own = [None if a is None else a.constant if tied else a.constant.copy() for a in right]
        table = [None if each is None else network.add_constant(each[:]) for each in own]
    rows = [None if each is None else network.add_gather(each, indices, axis=0) for each in table]
    form = {"bits": bits, "block_size": block_size}
    floats = DequantizeBlocksDescriptor(**form, size=size)
    network.add_output("rows", network.add("DequantizeBlocks", rows, floats).output)
    product = MatMulNBitsDescriptor(**form)
    network.add_output("y", network.add("MatMulNBits", [given, *right], product).output)
    at = np.array([[0, 300, -1], [15, 16, 7]])
    x = np.random.default_rng(3).standard_normal((1, size), np.float32)
    file = tmp_path / "tied.armnn-prepared"
    with armnn.Runtime() as runtime:
        model = runtime.load_model(network, ["CpuAcc"])
        made = model.run({"indices": at, "x": x})
        np.testing.assert_allclose(made["rows"], real[at], rtol=1e-6)
        expected = x @ real.T
        assert np.abs(made["y"] - expected).max() < EXACT * np.abs(expected).max()
        for wrong in (columns, -columns - 1):
            with pytest.raises(ExecutionError, match=f"the index {wrong} is outside of an axis"):
                model.run({"indices": np.full((2, 3), wrong), "x": x})
        runtime.compile_network(network, file, ["CpuAcc"])
        again = runtime.load_model(file).run({"indices": at, "x": x})
        for name, array in made.items():
            np.testing.assert_array_equal(again[name], array)
    once = sum(each.nbytes for each in held if each is not None)
    assert (file.stat().st_size < 1.5 * once + 12_000) == bool(tied)
