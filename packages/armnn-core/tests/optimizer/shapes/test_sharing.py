# SPDX-License-Identifier: MIT
"""What a further plan of a network costs in memory."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import armnn
from armnn import _process_memory
from armnn.graph import DeferredOperator, Network, Value
from armnn.layers.plumbing import StandInDescriptor
from armnn.optimizer.shapes.specialize import SharedConstants
from armnn.tensor import TensorInfo

if TYPE_CHECKING:
    import pytest

RNG = np.random.default_rng(1)
WEIGHTS = RNG.standard_normal((512, 512), np.float32) / np.float32(30)


class Transposed(DeferredOperator):
    """A fully connected layer with weights transposed per plan."""

    operator = "Transposed"
    awaits = ()

    def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
        return [network.add_fully_connected(inputs[0], WEIGHTS.T.copy())]


def dense() -> Network:
    """Dense layers between batch normalizations, which are folded into them."""
    network = Network()
    value = network.add_input("x", TensorInfo(("batch", 512)))
    for _ in range(3):
        value = network.add_fully_connected(value, WEIGHTS.copy())
        value = network.add_multiplication(value, np.full(512, 1.5, np.float32))
    stand_in = network.add(
        "StandIn", [value], StandInDescriptor(num_outputs=1), outputs=[TensorInfo((None, 512))]
    )
    stand_in.compiled = Transposed()
    network.add_output("y", stand_in.output)
    return network


def traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_a_further_plan_adds_less_than_a_tenth_of_the_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        _process_memory, "_PLAIN", 1 << 30
    )  # tracemalloc does not see mapped blocks
    weights = 4 * WEIGHTS.nbytes
    tracemalloc.start()
    try:
        with armnn.load_model(dense(), backends=["CpuRef"]) as model:
            first = model.run({"x": np.ones((1, 512), np.float32)})["y"]
            held = traced()
            assert held > weights
            for batch in (4, 2, 3):
                model.prepare({"x": (batch, 512)})
                added, held = traced() - held, traced()
                assert added < weights / 10
            again = model.run({"x": np.ones((4, 512), np.float32)})["y"]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(again, np.repeat(first, 4, axis=0), rtol=1e-4, atol=1e-4)


def constants(*arrays: np.ndarray) -> Network:
    network = Network()
    for array in arrays:
        network.add_constant(array)
    return network


def test_equal_constants_become_one_array() -> None:
    shared = SharedConstants()
    one, two = constants(WEIGHTS.copy(), WEIGHTS.T), constants(WEIGHTS.T.copy(), WEIGHTS.copy())
    shared.share(one)
    shared.share(two)
    assert one.layers[0].data is two.layers[1].data
    assert one.layers[1].data is two.layers[0].data
    assert one.layers[0].data is not one.layers[1].data


def test_arrays_of_other_types_or_shapes_stay_apart() -> None:
    shared = SharedConstants()
    arrays = [WEIGHTS, WEIGHTS.view(np.int32), WEIGHTS.reshape(-1)]
    network = constants(*(array.copy() for array in arrays))
    before = [layer.data for layer in network.layers]
    shared.share(network)
    assert all(layer.data is array for layer, array in zip(network.layers, before, strict=True))


def test_what_the_network_holds_and_what_is_small_stays_as_it_is() -> None:
    shared = SharedConstants()
    network = constants(WEIGHTS.copy(), WEIGHTS.copy(), np.ones(3), np.ones(3))
    before = [layer.data for layer in network.layers]
    shared.add(network)
    shared.share(network)
    assert all(layer.data is array for layer, array in zip(network.layers, before, strict=True))


def test_different_constants_of_one_checksum_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zlib.crc32", lambda _: 0)
    shared, arrays = SharedConstants(), [np.full(1024, number, np.float32) for number in (1, 2, 1)]
    network = constants(*arrays)
    shared.share(network)
    first, second, third = (layer.data for layer in network.layers)
    assert third is first
    np.testing.assert_array_equal(second, arrays[1])


def test_views_of_constants_are_shared_without_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    held = np.frombuffer(WEIGHTS.tobytes(), np.float32).reshape(512, 512)
    shared = SharedConstants()
    shared.add(constants(held))
    monkeypatch.setattr("zlib.crc32", None)
    views = [(held.reshape(-1), held[1:], held.T, held.view(np.int32)) for _ in range(2)]
    first, second = (constants(*each) for each in views)
    shared.share(first)
    shared.share(second)
    for one, other, view in zip(first.layers, second.layers, views[0], strict=True):
        assert one.data is other.data is view
