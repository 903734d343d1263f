# SPDX-License-Identifier: MIT
"""Backends' answers about networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from asked_backend import Asked

from armnn import ActivationFunction, TensorInfo
from armnn.backends import (
    SUPPORTED,
    ModelContext,
    OptimizationViews,
    SubgraphView,
    Substitution,
    Support,
)
from armnn.errors import BackendError
from armnn.graph import Layer, Network
from armnn.layers import _spec
from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer import OptimizedNetwork, OptimizerOptions
from armnn.optimizer.assignment.assign import Evaluator, NetworkAnswers
from armnn.optimizer.participants import Candidate

INFO = TensorInfo((2,))


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
    young = _spec.RequiredApi((1, 7), "the age of it")
    monkeypatch.setattr("armnn.layers.required_api", lambda *_: young)
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
        match=r"burnt\nraised by supports of layer 'b' \(Activation\) of backend 'Asked'",
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


def test_what_has_one_right_value_asks_no_backend() -> None:
    network, backend = Network("n"), Asked(product="too hot", root="too hot")
    evaluate = Evaluator([Candidate(backend, ModelContext({}))])
    x = network.add_constant(np.float32([2, 3]))
    product = network.add_elementwise_binary(x, x, operation="Mul", name="product")
    found = evaluate(product.producer)
    assert found is not None
    assert found[0].tolist() == [4, 9]
    assert backend.questions == []
    root = network.add_elementwise_unary(x, operation="Sqrt", name="root")
    assert evaluate(root.producer) is None
    assert backend.questions == ["root"]
