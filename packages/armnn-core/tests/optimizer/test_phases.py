# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.errors import GraphError
from armnn.graph import Network
from armnn.layers.reshaping import ReshapeDescriptor
from armnn.optimizer import OptimizedNetwork, OptimizerOptions
from armnn.optimizer.passes import pass_control
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
        head, _ = layers_before_backends(network, {"x": (2, 3)}, parties, options)
        layers = {layer.name: layer.type for layer in head.topological_order()}
        rows = {row.layer: row.type for row in optimized.report}
        assert rows["last"] == "Fused"
        assert rows.items() <= layers.items()
        others = set(layers.values()) - set(rows.values())
        assert others == {"Input", "Output", "Constant"}


def test_a_network_of_known_shapes_is_rewritten_once(make_backend, participants) -> None:
    rounds: list[str] = []

    def control(name, network, rewrite) -> int:
        rounds.extend([name] if name == "squash_equal_siblings" else [])
        return rewrite(network)

    def prepared(shape: tuple[int | str, ...]) -> list[str]:
        network = Network("n")
        x = network.add_input("x", TensorInfo(shape))
        flat = network.add_reshape(x, target_shape=(-1,))
        network.add_output("y", network.add_reshape(flat, target_shape=(6, -1), name="last"))
        token = pass_control.set(control)
        try:
            rounds.clear()
            optimized = OptimizedNetwork(
                network, participants(make_backend("B")), OptimizerOptions()
            )
            made = optimized.specialize({"x": (2, 3)}, {}).network
        finally:
            pass_control.reset(token)
        (last,) = (layer for layer in made.layers if layer.type == "Reshape")
        assert last.descriptor == ReshapeDescriptor(target_shape=(6, 1))
        assert last.inputs[0] is made.inputs[0].output
        return rounds[:]

    assert len(prepared((2, 3))) == 2
    assert len(prepared(("N", 3))) > 2
