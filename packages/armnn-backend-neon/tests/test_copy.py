# SPDX-License-Identifier: MIT
"""Consecutive transpositions with reshapes between, against NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import DataType, Network, TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

Chain = list[tuple[tuple[int, ...], tuple[int, ...]]]
"""Each a shape and the order that its axes are brought into."""

CHANNELS_FIRST, CHANNELS_LAST = (0, 3, 1, 2), (0, 2, 3, 1)
CHAINS: list[Chain] = [
    [
        ((1, 5, 6, 12), CHANNELS_FIRST),
        ((1, 3, 4, 5, 6), (0, 2, 1, 3, 4)),
        ((1, 12, 5, 6), CHANNELS_LAST),
    ],
    [((2, 7, 3, 17), CHANNELS_FIRST), ((2, 17, 7, 3), CHANNELS_LAST)],
    [((6, 35), (1, 0)), ((5, 42), (1, 0))],  # 7 x 6 elements are no axis of the first
    [((4, 6, 10), (2, 0, 1)), ((20, 12), (1, 0)), ((3, 4, 20), (0, 2, 1))],
    [((3, 1, 5), (2, 1, 0)), ((1, 15), (1, 0)), ((15,), (0,))],
    [((1, 1), (1, 0)), ((1,), (0,))],
    [((0, 4, 3), (2, 1, 0)), ((12, 0), (1, 0))],
]


def ordered(x: NDArray[Any], chain: Chain) -> NDArray[Any]:
    """Return the chain's result on an array."""
    for shape, order in chain:
        x = x.reshape(shape).transpose(order)
    return np.ascontiguousarray(x)


def network(info: TensorInfo, chain: Chain, *, shows_first: bool = False) -> Network:
    """Return the chain as layers.

    Its first result may be an output, too.
    """
    net = Network("orders")
    value = net.add_input("x", info)
    for i, (shape, order) in enumerate(chain):
        value = net.add_transpose(net.add_reshape(value, target_shape=shape), dim_mappings=order)
        if shows_first and i == 0:
            net.add_output("first", value)
    net.add_output("y", value)
    return net


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_of_transpositions_is_that_of_numpy(chain: Chain, threads: int, level: str) -> None:
    x = np.random.default_rng(4).standard_normal(chain[0][0], np.float32)
    options = {"CpuAcc": {"NumberOfThreads": threads}}
    with armnn.Runtime() as runtime:
        net = network(TensorInfo(x.shape), chain)
        model = runtime.load_model(net, backends=["CpuAcc"], backend_options=options)
        np.testing.assert_array_equal(model.run({"x": x})["y"], ordered(x, chain))


@pytest.mark.parametrize("chain", CHAINS[:5])
def test_bytes_are_brought_into_the_same_order(chain: Chain, level: str) -> None:
    x = np.random.default_rng(5).integers(0, 256, chain[0][0], np.uint8)
    info = TensorInfo(x.shape, DataType.QASYMM_U8, 0.5, 3)
    with armnn.Runtime() as runtime:
        model = runtime.load_model(network(info, chain), backends=["CpuAcc"])
        np.testing.assert_array_equal(model.run({"x": x})["y"], ordered(x, chain))


@pytest.mark.parametrize("chain", CHAINS[:4])
def test_what_somebody_reads_in_between_is_there(chain: Chain, level: str) -> None:
    x = np.random.default_rng(6).standard_normal(chain[0][0], np.float32)
    with armnn.Runtime() as runtime:
        net = network(TensorInfo(x.shape), chain, shows_first=True)
        made = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})
    np.testing.assert_array_equal(made["first"], ordered(x, chain[:1]))
    np.testing.assert_array_equal(made["y"], ordered(x, chain))


def test_random_chains_are_those_of_numpy(level: str) -> None:
    generator = np.random.default_rng(7)
    sizes = [1, 2, 3, 4, 6, 8, 12, 24]
    for _ in range(60):
        chain: Chain = []
        for _ in range(int(generator.integers(2, 5))):
            left, shape = 24 * 6, []
            while left > 1:
                size = int(generator.choice([s for s in sizes if left % s == 0]))
                shape.append(size)
                left //= size
            shape = [*shape[:5], int(np.prod(shape[5:], dtype=np.int64))]
            order = tuple(int(axis) for axis in generator.permutation(len(shape)))
            chain.append((tuple(shape), order))
        x = generator.standard_normal(chain[0][0], np.float32)
        with armnn.Runtime() as runtime:
            model = runtime.load_model(network(TensorInfo(x.shape), chain), backends=["CpuAcc"])
            np.testing.assert_array_equal(model.run({"x": x})["y"], ordered(x, chain), str(chain))


BROADCASTS = [
    ((1,), (37,)),
    ((5, 1), (5, 7)),
    ((4, 9, 1), (4, 9, 65)),
    ((1, 6, 1, 3), (2, 6, 70, 3)),
    ((3, 1, 8, 1), (3, 70, 8, 33)),
]


@pytest.mark.parametrize(
    "data_type",
    [DataType.BOOLEAN, DataType.FLOAT16, DataType.FLOAT32, DataType.SIGNED64],
    ids=lambda each: each.arm_name,
)
def test_an_axis_of_one_is_repeated_as_by_numpy(data_type: DataType) -> None:
    generator = np.random.default_rng(8)
    for shape, to in BROADCASTS:
        x = generator.integers(0, 2 if data_type is DataType.BOOLEAN else 100, shape)
        x = x.astype(data_type.numpy_dtype)
        net = Network("broadcast")
        wide = net.add_broadcast_to(
            net.add_input("x", TensorInfo(shape, data_type)), broadcast_to_shape=to
        )
        net.add_output("y", wide)
        with armnn.Runtime() as runtime:
            made = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
        np.testing.assert_array_equal(made, np.broadcast_to(x, to), str(to))
