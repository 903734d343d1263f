# SPDX-License-Identifier: MIT
from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from armnn import Network, TensorInfo
from armnn.optimizer.assignment.partition import partition

if TYPE_CHECKING:
    from armnn.graph import Layer

INFO = TensorInfo((1,))


def chain(kinds: str) -> tuple[Network, list[Layer]]:
    network = Network()
    value = network.add_input("x", INFO)
    layers = []
    for kind in kinds:
        value = network.add_activation(value)
        value.producer.backend = kind
        layers.append(value.producer)
    network.add_output("y", value)
    return network, layers


def random_network(seed: int, size: int, kinds: str) -> Network:
    """Return a random acyclic graph with random backends.

    Its layers are unary and binary.
    """
    chance = random.Random(seed)
    network = Network()
    values = [network.add_input("x", INFO)]
    for _ in range(size):
        first, second = chance.choice(values), chance.choice(values)
        if chance.random() < 0.5:
            value = network.add_activation(first)
        else:
            value = network.add_prelu(first, second)
        value.producer.backend = chance.choice(kinds)
        values.append(value)
    for index, value in enumerate(values):
        if not value.uses:
            network.add_output(f"y{index}", value)
    return network


def backend_of(layer: Layer) -> str | None:
    return layer.backend


def has_cycle(network: Network, groups: list[tuple[Layer, ...]]) -> bool:
    """Return whether groups wait for each other (Kahn's algorithm)."""
    group_of: dict[Layer, object] = {layer: layer for layer in network.layers}
    for index, group in enumerate(groups):
        group_of.update(dict.fromkeys(group, index))
    edges = {
        (group_of[value.producer], group_of[layer])
        for layer in network.layers
        for value in layer.inputs
        if value is not None and group_of[value.producer] is not group_of[layer]
    }
    nodes = set(group_of.values())
    while nodes:
        free = {node for node in nodes if not any(b == node and a in nodes for a, b in edges)}
        if not free:
            return True
        nodes -= free
    return False


def test_a_chain_of_one_backend_is_one_subgraph() -> None:
    network, layers = chain("AAAA")
    assert partition(network, backend_of) == [tuple(layers)]


def test_a_foreign_layer_in_the_middle_splits_a_chain() -> None:
    network, (a, b, c) = chain("ABA")
    assert partition(network, backend_of) == [(a,), (b,), (c,)]


def test_branches_join_unless_they_would_wait_for_themselves() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    left = network.add_activation(x, name="left")
    middle = network.add_activation(left, name="middle")
    other = network.add_activation(x, name="other")
    join = network.add_prelu(middle, other, name="join")
    network.add_output("y", join)
    for value, backend in ((left, "A"), (middle, "B"), (other, "A"), (join, "A")):
        value.producer.backend = backend
    names = [[layer.name for layer in group] for group in partition(network, backend_of)]
    assert names == [["left", "other"], ["middle"], ["join"]]


def test_separate_parts_of_one_backend_are_one_subgraph() -> None:
    network = Network()
    for name in "pq":
        value = network.add_activation(network.add_input(name, INFO), name=f"layer_{name}")
        value.producer.backend = "A"
        network.add_output(name, value)
    (group,) = partition(network, backend_of)
    assert [layer.name for layer in group] == ["layer_p", "layer_q"]


def test_constants_tie_nothing_together_and_belong_to_nobody() -> None:
    network = Network()
    alpha = network.add_constant(np.array([0.5], np.float32))
    x = network.add_prelu(network.add_input("x", INFO), alpha)
    y = network.add_prelu(x, alpha)
    x.producer.backend, y.producer.backend = "A", "B"
    network.add_output("y", y)
    assert partition(network, backend_of) == [(x.producer,), (y.producer,)]


@given(seed=st.integers(0, 10**6), size=st.integers(0, 14), kinds=st.sampled_from(["AB", "ABC"]))
def test_subgraphs_cover_the_layers_without_a_cycle_and_cannot_be_merged(
    seed: int, size: int, kinds: str
) -> None:
    network = random_network(seed, size, kinds)
    groups = partition(network, backend_of)
    covered = [layer for group in groups for layer in group]
    assert len(covered) == len(set(covered)) == size
    assert all(len({layer.backend for layer in group}) == 1 for group in groups)
    assert not has_cycle(network, groups)
    for first in range(len(groups)):
        for second in range(first):
            if groups[first][0].backend == groups[second][0].backend:
                rest = [g for i, g in enumerate(groups) if i not in (first, second)]
                assert has_cycle(network, [*rest, groups[first] + groups[second]])


def test_the_same_network_is_always_cut_the_same_way() -> None:
    cuts = {
        tuple(
            tuple(layer.name for layer in group)
            for group in partition(random_network(7, 40, "ABC"), backend_of)
        )
        for _ in range(3)
    }
    assert len(cuts) == 1


def test_a_long_alternating_chain_is_cut_quickly_and_right() -> None:
    network, layers = chain("AB" * 400)
    assert partition(network, backend_of) == [(layer,) for layer in layers]
