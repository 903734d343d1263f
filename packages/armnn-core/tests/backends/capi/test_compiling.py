# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import DataType, Network, Runtime, TensorInfo
from armnn.backends import ArrayHandle, ModelContext, SubgraphView
from armnn.backends.capi import graph
from armnn.backends.capi.values import constants
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn.errors import BackendError
from armnn.optimizer import OptimizedNetwork, OptimizerOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
    model = backend.create_model_context({"Behavior": "regret"})
    views = backend.optimize_subgraph(view_of(network), model)
    assert views.reasons == {"scale": "too hard after all"}
    network.lets_constants_go = True
    with pytest.raises(BackendError, match="too hard after all"):
        backend.optimize_subgraph(view_of(network), model)


def renamed(network: Network) -> None:
    network.rename(network.find("scale"), "other")


def reading_itself(network: Network) -> None:
    layer = network.find("scale")
    network.replace_input(layer, 1, layer.inputs[0])


def of_other_parameters(network: Network) -> None:
    layer = network.find("scale")
    network.replace_descriptor(layer, type(layer.descriptor)())


def of_another_info(network: Network) -> None:
    network.find("scale").output.info = TensorInfo((4,), DataType.FLOAT64)


def with_a_renamed_constant(network: Network) -> None:
    (weights,) = (layer for layer in network.layers if layer.type == "Constant")
    network.rename(weights, "other")


@pytest.mark.parametrize(
    ("change", "made"),
    [
        (lambda _: None, 1),
        (renamed, 2),
        (reading_itself, 2),
        (of_other_parameters, 2),
        (of_another_info, 2),
        (with_a_renamed_constant, 2),
    ],
)
def test_the_rows_of_a_query_are_compiled_unless_the_layers_changed(
    mock: NativeLibrary,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Network], None],
    made: int,
) -> None:
    laid_out: list[int] = []
    fill = graph.NativeGraph._fill
    monkeypatch.setattr(
        graph.NativeGraph, "_fill", lambda self: (laid_out.append(len(self.layers)), fill(self))
    )
    network, backend = scaled(), NativeBackend(mock)
    model = backend.create_model_context({})
    (layer,) = view_of(network).layers
    backend.query(SubgraphView.of(network, [layer]), model)
    change(network)
    backend.optimize_subgraph(SubgraphView.of(network, [layer]), model)
    assert len(laid_out) == made
    backend.optimize_subgraph(SubgraphView.of(network, [layer]), model)
    assert len(laid_out) == made + 1


@pytest.mark.parametrize("goes", [False, True])
def test_constants_are_lent_from_the_query_on(mock: NativeLibrary, goes: bool) -> None:
    network, backend = scaled(), NativeBackend(mock)
    network.lets_constants_go = goes
    before = len(constants)
    model = backend.create_model_context({})
    backend.query(view_of(network), model)
    assert len(constants) == before + 1
    backend.optimize_subgraph(view_of(network), model)
    gc.collect()  # the program has one, and goes with a network, which is a cycle
    assert len(constants) == before
    backend.query(view_of(network), model)
    del model  # of a network that another backend compiles
    assert len(constants) == before


def test_data_that_changed_since_a_query_is_compiled(
    releasing: NativeLibrary, participants: Any
) -> None:
    network, backend = scaled(), NativeBackend(releasing)
    model = backend.create_model_context({})
    backend.query(view_of(network), model)
    (weights,) = (layer for layer in network.layers if layer.type == "Constant")
    weights.data = WEIGHTS + 1
    gone = weakref.ref(weights.data)
    network.lets_constants_go = True
    views = backend.optimize_subgraph(view_of(network), model)
    assert gone() is None
    (substitution,) = views.substitutions
    (held,) = (each for each in substitution.replacement.layers if each.type == "PreCompiled")
    workload = backend.create_workload(held, model)
    made = np.zeros(4, np.float32)
    workload.bind([ArrayHandle(INFO, X)], [ArrayHandle(INFO, made)])()
    np.testing.assert_array_equal(made, X * (WEIGHTS + 1))
