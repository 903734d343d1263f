# SPDX-License-Identifier: MIT
"""Permission for folds."""

from __future__ import annotations

import numpy as np
import pytest
from asked_backend import Asked

from armnn import ActivationFunction, DataType, TensorInfo
from armnn.backends import SUPPORTED, Support
from armnn.graph import Layer, Network
from armnn.optimizer import OptimizedNetwork, OptimizerOptions
from armnn.optimizer.folds import FoldPermission

STORED = TensorInfo((2,), DataType.QASYMM_S8, 0.5, 3)


def floor(network: Network, name: str) -> Layer:
    return network.add("Floor", [np.zeros(3, np.float32)], name=name)


def takes(make_backend, participants, *refused: str, hint: str | None = None) -> bool:
    """Return whether backends A, B, ... permit a replacement.

    Each refuses what is named "old", "new" or both.
    """
    kinds = [
        make_backend(chr(ord("A") + index), dict.fromkeys(names.split(), "not here"))
        for index, names in enumerate(refused)
    ]
    candidates = participants(*kinds).candidates
    stored = Network()
    successor = floor(stored, "new")
    successor.backend_hint = hint
    permission = FoldPermission(candidates[:2], candidates[2:])
    return successor in permission(stored, lambda _, real: floor(real, "old"))


@pytest.fixture(autouse=True)
def _floors(meanings, monkeypatch) -> None:
    monkeypatch.setitem(meanings, "Floor", lambda _, x: np.floor(x))


def test_the_first_backend_that_takes_either_decides(make_backend, participants) -> None:
    assert takes(make_backend, participants, "", "new")
    assert not takes(make_backend, participants, "new", "")
    assert takes(make_backend, participants, "new old", "")
    assert not takes(make_backend, participants, "new old", "new old")


def test_a_hint_comes_first(make_backend, participants) -> None:
    assert not takes(make_backend, participants, "", "", "new", hint="C")
    assert takes(make_backend, participants, "", "", "new old", hint="C")
    assert takes(make_backend, participants, "new", "", "", hint="C")
    assert not takes(make_backend, participants, "new", "", "", hint="D")


class NoStored(Asked):
    """Refuses layers on stored values by name, and compiles nothing."""

    def _answer(self, layer: Layer) -> Support:
        stored = layer.type == "Activation" and layer.output.info.is_quantized
        return super()._answer(layer) if stored else SUPPORTED


def quantized_relus(*names: str) -> Network:
    network = Network("relus")
    value = network.add_input("x", STORED)
    for name in names:
        real = network.add_dequantize(value, name=f"{name}/real")
        made = network.add_activation(real, function=ActivationFunction.TANH, name=name)
        value = network.add_quantize(made, name=f"{name}/stored", output=STORED)
    network.add_output("y", value)
    return network


@pytest.mark.parametrize(
    ("refused", "queries"),
    [
        ("", [["a", "b", "c"]]),
        # The layers that it refuses, on floats; the network that is left.
        ("b", [["a", "b", "c"], ["b"], ["a", "b/real", "b", "b/stored", "c"]]),
    ],
)
def test_a_quantized_network_is_asked_about_at_once(refused, queries, participants) -> None:
    class Backend(NoStored):
        def __init__(self) -> None:
            super().__init__(**{refused: "of floats only"})

    parties = participants(Backend)
    optimized = OptimizedNetwork(quantized_relus("a", "b", "c"), parties, OptimizerOptions())
    (backend,) = [candidate.backend for candidate in parties.candidates]
    assert (backend.queries, backend.questions) == (queries, [])
    assert [row.layer for row in optimized.report] == queries[-1]


def test_a_stored_layer_that_was_there_before_makes_it_ask_about_all(participants) -> None:
    class Backend(Asked):
        """Refuses the addition, which no fold made."""

        def __init__(self) -> None:
            super().__init__(sum="no sums")

    network = quantized_relus("a", "b")
    last = network.find("b/stored").output
    total = network.add_addition(last, last, name="sum", output=STORED)
    network.replace_inputs(network.outputs[0], [total])
    parties = participants(Backend, type("Second", (Asked,), {"id": "Second"}))
    optimized = OptimizedNetwork(network, parties, OptimizerOptions())
    backend = parties.candidates[0].backend
    assert backend.queries == [["a", "b", "sum"], ["a", "b"], ["a", "b", "sum"]]
    chosen = {row.layer: row.backend for row in optimized.report}
    assert chosen == {"a": "Asked", "b": "Asked", "sum": "Second"}


def test_unknown_shapes_are_asked_about_before_and_for_each_set_of_shapes(participants) -> None:
    network = Network("dynamic")
    x = network.add_input("x", STORED.with_shape(("n",)))
    real = network.add_dequantize(x, name="real")
    made = network.add_activation(real, function=ActivationFunction.TANH, name="a")
    stored = STORED.with_shape(("n",))
    network.add_output("y", network.add_quantize(made, name="stored", output=stored))
    parties = participants(Asked)
    optimized = OptimizedNetwork(network, parties, OptimizerOptions())
    (backend,) = [candidate.backend for candidate in parties.candidates]
    assert backend.queries == [["a"]]
    for size in (2, 3):
        optimized.specialize({"x": (size,)}, {})
    assert backend.queries == [["a"]] * 3
