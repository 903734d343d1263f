# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import CreationOptions
from armnn.backends.registry import BackendRegistry
from armnn_conformance.faults import FAULTS, PAIRS, Fault, FaultyBackend, pair_of, planted_network

if TYPE_CHECKING:
    from armnn.backends import Backend
    from armnn.graph import Network


@pytest.fixture(scope="module")
def right() -> Backend:
    return BackendRegistry(CreationOptions()).get("CpuRef")


def outputs(network: Network, backend: Backend, runs: int = 1) -> list[dict[str, Any]]:
    """Return the outputs of runs with inputs of alternating signs."""
    armnn.register_backend("Faulty", lambda: backend)
    try:
        loaded = armnn.load_model(network, backends=["Faulty"], rewrite=False)
        inputs = {
            name: np.random.default_rng(1).standard_normal(info.static_shape).astype(np.float32)
            for name, info in loaded.inputs.items()
        }
        return [
            loaded.run({name: array * (-1) ** run for name, array in inputs.items()})
            for run in range(runs)
        ]
    finally:
        armnn.unregister_backend("Faulty")


def differ(got: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    return any(
        not np.array_equal(a[name], b[name])
        for a, b in zip(got, expected, strict=True)
        for name in b
    )


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_makes_its_network_wrong(fault: Fault, right: Backend) -> None:
    network = planted_network(fault.network, fault.layer)
    runs = 20 if fault.is_flaky else 2
    expected = outputs(network, FaultyBackend(right), runs)
    assert differ(outputs(network, FaultyBackend(right, fault), runs), expected)
    elsewhere = next(each for each in FAULTS if each.layer != fault.layer)
    other = planted_network(elsewhere.network, elsewhere.layer)
    if all(layer.type != fault.layer for layer in other.layers):
        right_elsewhere = outputs(other, FaultyBackend(right), 2)
        assert not differ(outputs(other, FaultyBackend(right, fault), 2), right_elsewhere)


@pytest.mark.parametrize("fault", [each for each in FAULTS if each.is_fused], ids=lambda f: f.name)
def test_a_fault_of_fusions_is_not_in_the_layer_alone(fault: Fault, right: Backend) -> None:
    network = planted_network(fault.network, fault.layer)
    layer = next(each for each in network.layers if each.name == f"planted {fault.layer}")
    backend = FaultyBackend(right, fault)
    operands = [
        np.ones(value.info.static_shape, np.float32) if value is not None else None
        for value in layer.inputs
    ]
    model = backend.create_model_context({})
    (alone,) = backend.compute(layer, operands, "", model)
    (plain,) = FaultyBackend(right).compute(layer, operands, "", model)
    assert np.array_equal(alone, plain)


def test_names_are_unique_and_pairs_are_of_two_layer_types() -> None:
    by_name = {fault.name: fault for fault in FAULTS}
    assert len(by_name) == len(FAULTS) >= 40
    assert len(PAIRS) == 15
    for first, second in PAIRS:
        assert by_name[first].layer != by_name[second].layer
        network = pair_of(
            (by_name[first].network, by_name[first].layer),
            (by_name[second].network, by_name[second].layer),
        )
        assert len(network.outputs) == 2
