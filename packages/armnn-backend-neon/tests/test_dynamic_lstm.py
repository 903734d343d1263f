# SPDX-License-Identifier: MIT
"""DynamicQuantizeLstm of many sizes, on every level, beside NumPy."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import Network
from armnn.layers.sequence import DynamicQuantizeLstmDescriptor
from armnn.tensor import info_of
from armnn.types import SequenceDirection

Array = NDArray[Any]
Sizes: TypeAlias = tuple[int, int, int, int]

SIZES = [
    # steps, batch, inputs, units
    (1, 1, 1, 1),
    (5, 3, 2, 7),
    (4, 1, 40, 17),
    (3, 2, 5, 130),
    (9, 4, 3, 64),
    (4, 35, 3, 21),  # more items than take their steps together
]


def operands(sizes: Sizes, ways: int, kind: Any, largest: int) -> dict[str, Array]:
    """Return all inputs; weights are up to ``largest`` above and below their zero points."""
    steps, batch, width, units = sizes
    rng = np.random.default_rng([*sizes, largest])
    columns = 4 * units
    middle = 128 if kind is np.uint8 else 0

    def weights(rows: int) -> Array:
        drawn = rng.integers(-largest, largest, (ways, rows, columns)) + middle
        return drawn.astype(kind)

    def reals(*shape: int) -> Array:
        return rng.uniform(-1, 1, shape).astype(np.float32)

    scales = [(0.5 / largest / np.sqrt(n)).astype(np.float32) for n in (width, units)]
    points = (np.arange(ways) + middle).astype(kind)
    return {
        "x": reals(steps, batch, width), "w": weights(width), "r": weights(units),
        "b": reals(ways, 2 * columns), "lengths": np.arange(batch, dtype=np.int32) % steps + 1,
        "h": reals(ways, batch, units), "c": reals(ways, batch, units),
        "p": reals(ways, 3 * units),
        "ws": rng.uniform(scales[0], 2 * scales[0], (ways, columns)).astype(np.float32),
        "wz": points, "rs": np.full(ways, scales[1]), "rz": points,
    }  # fmt: skip


def rounded(x: Array) -> Array:
    """Return the numbers as bytes hold them."""
    low, high = np.float32(min(x.min(), 0)), np.float32(max(x.max(), 0))
    step = (high - low) / np.float32(255) or np.float32(1)
    zero = np.rint(-low / step)
    steps: Array = (np.clip(np.rint(x / step) + zero, 0, 255) - zero).astype(np.float64)
    return steps * np.float64(step)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def expected(given: dict[str, Array], direction: SequenceDirection) -> Array:
    """Return the outputs of all steps [T,D,N,U]."""
    x, lengths = rounded(given["x"]), given["lengths"]
    ways, batch, units = given["h"].shape
    outputs = np.zeros((len(x), ways, batch, units))
    for way in range(ways):
        w, r = (
            (given[name][way].astype(np.float64) - int(given[f"{name}z"][way]))
            * given[f"{name}s"][way].astype(np.float64)
            for name in ("w", "r")
        )
        bias = given["b"][way][: 4 * units] + given["b"][way][4 * units :]
        p_i, p_o, p_f = np.split(given["p"][way], 3)
        for item in range(batch):
            h, c = given["h"][way, item], given["c"][way, item]
            order = range(lengths[item])
            backward = way == 1 or direction is SequenceDirection.REVERSE
            for time in reversed(order) if backward else order:
                i, o, f, g = np.split(x[time, item] @ w + rounded(h) @ r + bias, 4)
                c = sigmoid(f + p_f * c) * c + sigmoid(i + p_i * c) * np.tanh(g)
                h = sigmoid(o + p_o * c) * np.tanh(c)
                outputs[time, way, item] = h
    return outputs


def network(given: dict[str, Array], direction: SequenceDirection, *computed: str) -> Network:
    result = Network()
    values = [
        result.add_input(name, info_of(array))
        if name in ("x", "lengths", *computed)
        else result.add_constant(array)
        for name, array in given.items()
    ]
    descriptor = DynamicQuantizeLstmDescriptor(direction=direction, time_major=True)
    result.add_output("all", result.add("DynamicQuantizeLstm", values, descriptor).outputs[0])
    return result


def run(
    given: dict[str, Array], direction: SequenceDirection, threads: int, *computed: str
) -> Array:
    feeds = {name: given[name] for name in ("x", "lengths", *computed)}
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(
            network(given, direction, *computed),
            backends=["CpuAcc"],
            backend_options={"CpuAcc": {"NumberOfThreads": threads}},
        )
        loaded.run(feeds)
        return np.array(loaded.run(feeds)["all"])  # the first run left nothing behind


@pytest.mark.parametrize(
    ("kind", "largest"), [(np.int8, 128), (np.int8, 20), (np.uint8, 20), (np.uint8, 124)]
)
@pytest.mark.parametrize("direction", SequenceDirection)
def test_outputs_are_rounded_between_steps(
    direction: SequenceDirection, kind: Any, largest: int, level: str
) -> None:
    """With weights that are small for a level, and with large ones.

    An output near the middle between two bytes may become either, so a few outputs are off by a
    part of a step.
    """
    ways = 2 if direction is SequenceDirection.BIDIRECTIONAL else 1
    for sizes in SIZES:
        given = operands(sizes, ways, kind, largest)
        results = [run(given, direction, threads) for threads in (1, 3)]
        np.testing.assert_array_equal(*results)
        errors = np.abs(results[0] - expected(given, direction))
        assert np.quantile(errors, 0.75) < 2e-6, sizes
        assert errors.max() < 2e-3, sizes


def test_a_bias_may_be_computed(level: str) -> None:
    given = operands((4, 2, 3, 9), 2, np.int8, 40)
    both = SequenceDirection.BIDIRECTIONAL
    np.testing.assert_allclose(run(given, both, 2, "b"), run(given, both, 2), 1e-5, 2e-6)


@pytest.mark.parametrize(
    ("computed", "change", "message"),
    [
        (("r",), {}, "the weights must be constant"),
        ((), {"wz": np.arange(36, dtype=np.int8)[None]}, "zero points that differ by column"),
    ],
)
def test_other_layers_are_refused(
    computed: tuple[str, ...], change: dict[str, Array], message: str
) -> None:
    given = operands((2, 1, 3, 9), 1, np.int8, 40) | change
    with armnn.Runtime() as runtime, pytest.raises(armnn.ArmnnError, match=message):
        runtime.load_model(
            network(given, SequenceDirection.FORWARD, *computed), backends=["CpuAcc"]
        )
