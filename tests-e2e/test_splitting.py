# SPDX-License-Identifier: MIT
"""Networks compute the same however they are split.

They are always split in the same way.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn import ActivationFunction, Network, Runtime, TensorInfo
from armnn.backends import ModelContext, TensorHandleFactories
from armnn.optimizer import Candidate, OptimizedNetwork, OptimizerOptions, Participants
from armnn_backend_ref.backend import RefBackend
from fakes import DeviceBackend, SelectiveBackend

SHAPE = (2, 3)


def random_network(chance: random.Random, size: int) -> Network:
    """Return an acyclic graph of cheap layers keeping the shape."""
    network = Network("random")
    values = [network.add_input("x", TensorInfo(SHAPE))]
    for _ in range(size):
        first, second = chance.choice(values), chance.choice(values)
        kind = chance.randrange(5)
        if kind == 0:
            value = network.add_activation(first, function=ActivationFunction.TANH, a=1, b=0.5)
        elif kind == 1:
            value = network.add_reshape(first, target_shape=SHAPE)
        elif kind == 2:
            value = network.add_maximum(first, second)
        elif kind == 3:
            value = network.add_addition(first, np.full(SHAPE, 0.25, np.float32))
        else:
            value = network.add_subtraction(first, second)
        values.append(value)
    for index, value in enumerate(values):
        if not value.uses or chance.random() < 0.2:
            network.add_output(f"y{index}", value)
    return network


def random_support(chance: random.Random, network: Network) -> dict[str, bool | str]:
    return {layer.name: chance.random() < 0.5 or "not this one" for layer in network.layers}


def run(network: Network, *backends: Any) -> tuple[dict[str, np.ndarray], OptimizedNetwork]:
    factories = TensorHandleFactories()
    for backend in backends:
        backend.register_tensor_handle_factories(factories)
    candidates = tuple(Candidate(backend, ModelContext({})) for backend in backends)
    participants = Participants(candidates, (), lambda: candidates, factories)
    optimized = OptimizedNetwork(network, participants, OptimizerOptions(rewrite=False))
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(SHAPE)
    with Runtime() as runtime:
        return runtime.load_network(optimized).run({"x": x}), optimized


@given(seed=st.integers(0, 10**9), size=st.integers(0, 25))
def test_the_results_are_those_of_the_unsplit_network(seed: int, size: int) -> None:
    chance = random.Random(seed)
    network = random_network(chance, size)
    reference = RefBackend()
    first = SelectiveBackend("First", random_support(chance, network), inner=reference)
    second = SelectiveBackend("Second", random_support(chance, network), inner=reference)
    whole, _ = run(network, reference)
    split, optimized = run(network, first, second, reference)
    assert list(split) == list(whole)
    for name, expected in whole.items():
        np.testing.assert_array_equal(split[name], expected)
    for row in optimized.report:
        assert [refusal.backend for refusal in row.refusals] == {
            "First": [],
            "Second": ["First"],
            "CpuRef": ["First", "Second"],
        }[row.backend]


@given(seed=st.integers(0, 10**9), size=st.integers(0, 15))
def test_copies_at_the_borders_of_device_memory_change_nothing(seed: int, size: int) -> None:
    chance = random.Random(seed)
    network = random_network(chance, size)
    reference = RefBackend()
    selective = SelectiveBackend("Selective", random_support(chance, network), inner=reference)
    whole, _ = run(network, reference)
    split, _ = run(network, DeviceBackend("Device", inner=selective), reference)
    for name, expected in whole.items():
        np.testing.assert_array_equal(split[name], expected)


def describe_split(seed: int) -> dict[str, Any]:
    """Return a split's layers, backends, order and memory."""
    chance = random.Random(seed)
    network = random_network(chance, 40)
    support = random_support(chance, network)
    reference = RefBackend()
    selective = SelectiveBackend("Selective", support, inner=reference)
    outputs, optimized = run(network, DeviceBackend("Device", inner=selective), reference)
    return {
        "report": [row.as_dict() for row in optimized.report],
        "layers": [layer.name for layer in optimized.network.topological_order()],
        "outputs": {name: array.tolist() for name, array in outputs.items()},
    }


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_the_split_does_not_depend_on_the_order_of_hashes(hash_seed: str) -> None:
    done = subprocess.run(
        [sys.executable, __file__],
        env={
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [describe_split(seed) for seed in range(5)]


if __name__ == "__main__":
    print(json.dumps([describe_split(seed) for seed in range(5)]))
