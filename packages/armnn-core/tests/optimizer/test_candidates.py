# SPDX-License-Identifier: MIT
"""Backends' answers about networks, and about replacing layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from armnn import ActivationFunction, DataType, TensorInfo
from armnn.backends import (
    SUPPORTED,
    BackendVersion,
    ModelContext,
    OptimizationViews,
    SubgraphView,
    Substitution,
    Support,
)
from armnn.backends.base import NetworkBackend
from armnn.errors import BackendError
from armnn.graph import Layer, Network
from armnn.layers import _versions
from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer import OptimizedNetwork, OptimizerOptions
from armnn.optimizer.candidates import Candidate, FoldPermission, NetworkAnswers


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


INFO = TensorInfo((2,))
STORED = TensorInfo((2,), DataType.QASYMM_S8, 0.5, 3)


class Asked(NetworkBackend):
    """Takes all layers but those with reasons, and records queries."""

    id = "Asked"
    api_version = BackendVersion(1, 0)

    def __init__(self, **reasons: str) -> None:
        self.reasons = reasons
        self.queries: list[list[str]] = []
        self.questions: list[str] = []

    def query(self, view: SubgraphView, model: ModelContext) -> Sequence[Support]:
        self.queries.append([each.name for each in view.layers])
        return [self._answer(each) for each in view.layers]

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        self.questions.append(layer.name)
        return self._answer(layer)

    def _answer(self, layer: Layer) -> Support:
        reason = self.reasons.get(layer.name)
        return SUPPORTED if reason is None else Support.no(reason)

    def create_workload(self, layer: Layer, model: ModelContext) -> Any:
        raise NotImplementedError


def relus(*names: str) -> Network:
    network = Network("relus")
    value = network.add_input("x", INFO)
    for name in names:
        value = network.add_activation(value, function=ActivationFunction.RELU, name=name)
    network.add_output("y", value)
    return network


def answers_about(network: Network) -> NetworkAnswers:
    return NetworkAnswers(network, [each for each in network.layers if each.type == "Activation"])


def test_all_layers_are_asked_about_at_once_and_no_more() -> None:
    network, backend = relus("a", "b"), Asked(b="too hot")
    candidate, answers = Candidate(backend, ModelContext({})), answers_about(network)
    for _ in range(2):
        assert answers.of(candidate, network.find("a"))
        assert answers.of(candidate, network.find("b")).reason == "too hot"
    assert (backend.queries, backend.questions) == ([["a", "b"]], [])


@pytest.mark.parametrize("changed", ["descriptor", "input", "constant", "output"])
def test_a_layer_that_changed_is_asked_about_again_alone(changed: str) -> None:
    network, backend = relus("a", "b"), Asked()
    candidate, answers = Candidate(backend, ModelContext({})), answers_about(network)
    a, b = network.find("a"), network.find("b")
    answers.of(candidate, b)
    backend.reasons["b"] = "not any more"
    if changed == "descriptor":
        b.descriptor = ActivationDescriptor(function=ActivationFunction.TANH)
    elif changed == "input":
        a.output.info = TensorInfo((3,))
    elif changed == "constant":
        network.replace_input(b, 0, network.add_constant(np.ones(2, np.float32), INFO))
    else:
        b.output.info = TensorInfo((3,))
    assert answers.of(candidate, b).reason == "not any more"
    assert (backend.queries, backend.questions) == ([["a", "b"]], ["b"])
    assert answers.of(candidate, b).reason == "not any more"
    assert backend.questions == ["b"]


def test_what_is_around_a_layer_may_change() -> None:
    network, backend = relus("a", "b", "c"), Asked()
    candidate, answers = Candidate(backend, ModelContext({})), answers_about(network)
    answers.of(candidate, network.find("b"))
    other = network.add_activation(network.inputs[0].output, name="other")
    network.replace_input(network.find("b"), 0, other)
    network.replace_uses(network.find("b").output, other)
    assert answers.of(candidate, network.find("b"))
    assert backend.questions == []


def test_the_host_answers_for_an_older_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    network, backend = relus("a"), Asked()
    young = _versions.RequiredApi((1, 7), "the age of it")
    monkeypatch.setattr("armnn.optimizer.candidates.required_api", lambda *_: young)
    answer = answers_about(network).of(Candidate(backend, ModelContext({})), network.find("a"))
    assert answer.reason == ("needs Backend API 1.7 for the age of it, the backend declares 1.0")
    assert backend.queries == []


class FailsAtOnce(Asked):
    """A backend that fails on several or on named layers."""

    def query(self, view: SubgraphView, model: ModelContext) -> Sequence[Support]:
        super().query(view, model)
        raise BackendError("too many")

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        if not super().supports(layer, model):
            raise BackendError(self.reasons[layer.name])
        return SUPPORTED


def test_a_backend_that_fails_to_answer_at_once_is_asked_one_by_one() -> None:
    network, backend = relus("a", "b"), FailsAtOnce()
    candidate, answers = Candidate(backend, ModelContext({})), answers_about(network)
    for _ in range(2):
        assert answers.of(candidate, network.find("a"))
        assert answers.of(candidate, network.find("b"))
    assert (backend.queries, backend.questions) == ([["a", "b"]], ["a", "b"])


def test_the_layer_at_which_a_backend_fails_is_named() -> None:
    network, candidate = relus("a", "b"), Candidate(FailsAtOnce(b="burnt"), ModelContext({}))
    answers = answers_about(network)
    assert answers.of(candidate, network.find("a"))
    with pytest.raises(
        BackendError,
        match=r"backend 'Asked' failed when asked about layer 'b' \(Activation\): burnt",
    ):
        answers.of(candidate, network.find("b"))


def test_an_answer_that_does_not_hold_any_more_is_not_used(make_backend, participants) -> None:
    """The first backend makes an input of the second constant."""

    def optimize(_self: Any, view: SubgraphView, _model: ModelContext) -> OptimizationViews:
        replacement = view.replacement()
        replacement.add_output("y", replacement.add_constant(np.ones(2, np.float32), INFO))
        return OptimizationViews(substitutions=[Substitution(view, replacement)])

    class NoConstants(make_backend("Second")):
        def supports(self, layer: Layer, model: ModelContext) -> Support:
            constants = [value for value in layer.inputs if value and value.constant is not None]
            return Support.no("no constants") if constants else super().supports(layer, model)

    network = Network("n")
    x = network.add_input("x", INFO)
    flat = network.add_activation(x, function=ActivationFunction.RELU, name="flat")
    network.add_output("y", network.add_addition(flat, x, name="add"))
    first = make_backend("First", {"add": "no"}, optimize_subgraph=optimize)
    parties = participants(first, NoConstants, make_backend("Third"))
    optimized = OptimizedNetwork(network, parties, OptimizerOptions(rewrite=False))
    rows = {row.layer: (row.backend, row.reason) for row in optimized.report}
    assert rows["add"] == ("Third", "First: no; Second: no constants")


class NoStored(Asked):
    """Refuses layers on stored values by name, and compiles nothing."""

    def _answer(self, layer: Layer) -> Support:
        stored = layer.type == "Activation" and layer.output.info.is_quantized
        return super()._answer(layer) if stored else SUPPORTED


def quantised_relus(*names: str) -> Network:
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
        # The layers on stored values, then the network.
        ("", [["a", "b", "c"], ["a", "b", "c"]]),
        # Between the two, the refused layers on floats.
        ("b", [["a", "b", "c"], ["b"], ["a", "b/real", "b", "b/stored", "c"]]),
    ],
)
def test_a_quantised_network_is_asked_about_at_once(refused, queries, participants) -> None:
    class Backend(NoStored):
        def __init__(self) -> None:
            super().__init__(**{refused: "of floats only"})

    parties = participants(Backend)
    optimized = OptimizedNetwork(quantised_relus("a", "b", "c"), parties, OptimizerOptions())
    (backend,) = [candidate.backend for candidate in parties.candidates]
    assert (backend.queries, backend.questions) == (queries, [])
    assert [row.layer for row in optimized.report] == queries[-1]
