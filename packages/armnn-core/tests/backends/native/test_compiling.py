# SPDX-License-Identifier: MIT
from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armnn import Network, Runtime, TensorInfo
from armnn.backends import ModelContext, SubgraphView
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn.backends.native.programs import graph
from armnn.errors import BackendError
from armnn.optimizer import OptimizedNetwork, OptimizerOptions

X = np.array([1.0, -2.0, 3.5, 0.0], np.float32)
WEIGHTS = np.array([2, 2, 4, 8], np.float32)
INFO = TensorInfo((4,))


@pytest.fixture(scope="module")
def releasing(build: Callable[..., Path]) -> NativeLibrary:
    """Return a mock that drops constants while it compiles.

    It copies them first.
    """
    return NativeLibrary.open(build("mock.c", "-DMOCK_RELEASES"))


def scaled() -> Network:
    network = Network("scaled")
    product = network.add_multiplication(network.add_input("x", INFO), WEIGHTS.copy(), name="scale")
    network.add_output("y", product)
    return network


def constant(network: Network) -> Any:
    """Return the only constant of a network."""
    (data,) = (layer.data for layer in network.layers if layer.type == "Constant")
    return data


def view_of(network: Network) -> SubgraphView:
    return SubgraphView.of(network, [network.find("scale")])


def test_a_constant_goes_while_it_is_compiled(releasing: NativeLibrary) -> None:
    network, backend = scaled(), NativeBackend(releasing)
    network.lets_constants_go = True
    gone = weakref.ref(constant(network))
    views = backend.optimize_subgraph(view_of(network), ModelContext({}))
    assert (constant(network), gone()) == (None, None)
    (substitution,) = views.substitutions
    assert [layer.type for layer in substitution.replacement.layers] == [
        *("Input", "Input", "PreCompiled", "Output")
    ]


def test_pages_of_constants_that_went_go_back_meanwhile(
    releasing: NativeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimmed: list[str] = []
    monkeypatch.setattr(graph, "TRIMMED_BYTES", 2 * WEIGHTS.nbytes)
    monkeypatch.setattr(graph, "trim_memory", lambda: trimmed.append("trimmed"))
    network = Network("scaled")
    value = network.add_input("x", INFO)
    for number in range(5):
        value = network.add_multiplication(value, WEIGHTS + number)
    network.add_output("y", value)
    network.lets_constants_go = True
    layers = [layer for layer in network.layers if layer.type == "Multiplication"]
    view = SubgraphView.of(network, layers)
    NativeBackend(releasing).optimize_subgraph(view, ModelContext({}))
    assert len(trimmed) == 2


@pytest.mark.parametrize("lets_go", [True, False])
def test_a_constant_stays_unless_both_sides_let_it_go(
    releasing: NativeLibrary, mock: NativeLibrary, lets_go: bool
) -> None:
    network = scaled()
    network.lets_constants_go = lets_go
    backend = NativeBackend(mock if lets_go else releasing)
    backend.optimize_subgraph(view_of(network), ModelContext({}))
    np.testing.assert_array_equal(constant(network), WEIGHTS)


def test_a_constant_that_others_read_stays_for_them(releasing: NativeLibrary) -> None:
    network = scaled()
    (weights,) = (layer for layer in network.layers if layer.type == "Constant")
    network.add_output("z", network.add_activation(weights.output))
    network.lets_constants_go = True
    NativeBackend(releasing).optimize_subgraph(view_of(network), ModelContext({}))
    np.testing.assert_array_equal(constant(network), WEIGHTS)


def test_a_network_whose_constants_went_computes_the_same(
    releasing: NativeLibrary, participants: Any
) -> None:
    network = scaled()
    gone = weakref.ref(constant(network))
    parties = participants(lambda: NativeBackend(releasing))
    optimized = OptimizedNetwork(network, parties, OptimizerOptions(), may_change=True)
    assert gone() is None
    with Runtime() as runtime:
        loaded = runtime.load_network(optimized)
        for _ in range(2):
            np.testing.assert_array_equal(loaded.run({"x": X})["y"], X * WEIGHTS)


def test_a_network_that_others_have_keeps_its_constants(
    releasing: NativeLibrary, participants: Any
) -> None:
    network = scaled()
    parties = participants(lambda: NativeBackend(releasing))
    OptimizedNetwork(network, parties, OptimizerOptions())
    np.testing.assert_array_equal(constant(network), WEIGHTS)


def test_a_backend_that_refuses_a_layer_whose_constants_went_fails(
    releasing: NativeLibrary,
) -> None:
    network, backend = scaled(), NativeBackend(releasing)
    model = backend.create_model_context({"Behaviour": "regret"})
    views = backend.optimize_subgraph(view_of(network), model)
    assert views.reasons == {"scale": "too hard after all"}
    network.lets_constants_go = True
    with pytest.raises(BackendError, match="too hard after all"):
        backend.optimize_subgraph(view_of(network), model)
