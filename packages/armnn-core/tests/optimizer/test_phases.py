# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.errors import GraphError
from armnn.graph import Network
from armnn.optimizer import OptimizedNetwork, OptimizerOptions
from armnn.optimizer.phases import layers_before_backends, prepare_network
from armnn.tensor import TensorInfo


def test_a_network_without_output_is_not_prepared(make_backend, participants) -> None:
    network = Network("n")
    network.add_input("x", TensorInfo((2,)))
    with pytest.raises(GraphError, match=r"network 'n' has no output: add_output\(\)"):
        prepare_network(network, participants(make_backend("Fake")), OptimizerOptions())


def test_a_cycle_is_not_prepared(make_backend, participants) -> None:
    network = Network("n")
    x = network.add_input("x", TensorInfo((2,)))
    first = network.add_addition(x, np.ones(2, np.float32), name="first")
    second = network.add_addition(first, x, name="second")
    network.add_output("y", second)
    network.replace_input(first.producer, 0, second)
    with pytest.raises(GraphError, match=r"\['first', 'second', 'y'\] .* form a cycle"):
        prepare_network(network, participants(make_backend("Fake")), OptimizerOptions())


def test_layers_as_backends_get_them_are_those_of_the_report(
    make_backend, participants, meanings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        meanings, "Fused", lambda _, x, y, factor, offset: (x + y) * factor + offset
    )
    network = Network("n")
    x = network.add_input("x", TensorInfo((2, 3)))
    value = network.add_multiplication(network.add_addition(x, x), np.float32([2]))
    value = network.add_addition(value, np.float32([3]), name="last")
    network.add_output("y", network.add_activation(value, function="ReLu", name="relu"))
    parties = participants(make_backend("First"))
    for options in (OptimizerOptions(), OptimizerOptions(reduce_fp32_to_fp16=True)):
        optimized = OptimizedNetwork(network, parties, options)
        segments = layers_before_backends(network, {"x": (2, 3)}, parties, options)
        layers = {layer.name: layer.type for layer in segments.head.topological_order()}
        rows = {row.layer: row.type for row in optimized.report}
        assert rows["last"] == "Fused"
        assert rows.items() <= layers.items()
        others = set(layers.values()) - set(rows.values())
        assert others == {"Input", "Output", "Constant"}
