# SPDX-License-Identifier: MIT
"""What graphs are drawn of a backend's claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from armnn.types import DataType
from armnn_conformance.cases import cases_of
from armnn_conformance.graphs import FAMILIES, Draw, Graph, candidates_of, drawn_layers, graphs_of
from armnn_conformance.graphs.families import (
    EVERY_LAYER,
    SHAPES,
    Claims,
    graph_with_large_constant,
    graphs_behind,
    large_graphs,
)
from armnn_conformance.subject import Subject
from fakes import misbehaving

MakeSubject = Callable[[type], Subject]
LAYERS = ("Addition", "Softmax", "Transpose", "Convolution2d")


@pytest.fixture
def claims(make_subject: MakeSubject) -> Claims:
    return Claims(make_subject(misbehaving.SmallBackend), LAYERS, lambda _: None)


def graphs(claims: Claims, family: str) -> list[Graph]:
    found = list(graphs_of(family, claims))
    assert found
    return found


def readers(graph: Graph) -> Counter[object]:
    return Counter(v for node in graph.nodes for v in node.inputs if v is not None)


@pytest.mark.parametrize("family", [*FAMILIES, EVERY_LAYER])
def test_a_graph_has_several_claimed_layers(claims: Claims, family: str) -> None:
    for graph in graphs(claims, family):
        assert len(graph.nodes) > 1
        assert {node.layer for node in graph.nodes} <= {"Addition", "Softmax", "Transpose"}
        assert graph.outputs
        graph.network().validate()


def test_graphs_are_the_same_each_time(make_subject: MakeSubject) -> None:
    subject = make_subject(misbehaving.SmallBackend)
    first, second = (
        [str(graph) for graph in graphs_of("chain", Claims(subject, LAYERS, lambda _: None))]
        for _ in range(2)
    )
    assert first == second


def test_a_diamond_has_a_value_with_two_readers(claims: Claims) -> None:
    for graph in graphs(claims, "diamond"):
        top = graph.nodes[0].outputs[0]
        assert readers(graph)[top] == 2
        assert "Addition" in {node.layer for node in graph.nodes}


def test_families_have_what_their_names_say(claims: Claims) -> None:
    for graph in graphs(claims, "intermediate outputs"):
        assert sum(readers(graph)[value] > 0 for value in graph.outputs) > 1
    for graph in graphs(claims, "an input as output"):
        assert graph.inputs[0] in graph.outputs
    assert any(
        node.inputs[0] is node.inputs[1]
        for graph in graphs(claims, "a repeated input")
        for node in graph.nodes
        if node.layer == "Addition"
    )
    shared = [
        max(count for value, count in readers(graph).items() if value.constant)  # type: ignore[attr-defined]  # asked for just before
        for graph in graphs(claims, "a shared constant")
    ]
    assert max(shared) > 1
    for graph in graphs(claims, "several inputs and outputs"):
        assert len(graph.inputs) == 2
        assert len(graph.outputs) > 1


def test_every_layer_occurs(claims: Claims) -> None:
    found = {node.layer for graph in graphs(claims, EVERY_LAYER) for node in graph.nodes}
    assert found == {"Addition", "Softmax", "Transpose"}


def test_large_graphs_and_constants_are_large(claims: Claims) -> None:
    assert all(graph.inputs[0].real.size > 10_000 for graph in large_graphs(claims))
    graph = graph_with_large_constant(claims)
    assert graph is not None
    constants = [v for node in graph.nodes for v in node.inputs if v is not None and v.constant]
    assert max(v.real.size for v in constants) >= 5000


def test_layers_follow_the_cases_of_others(claims: Claims) -> None:
    some = [next(iter(cases_of(layer, DataType.FLOAT32))) for layer in ("Softmax", "Addition")]
    (graph,) = graphs_behind(some, claims)
    assert [node.oracle is None for node in graph.nodes].count(True) == 2
    assert len(graph.nodes) > 2
    assert len(graph.outputs) == len(graph.nodes)


def test_a_backend_that_claims_nothing_gets_no_graph(make_subject: MakeSubject) -> None:
    none = Claims(make_subject(misbehaving.SmallBackend), ["Floor", "Pad"], lambda _: None)
    assert list(graphs_of("chain", none)) == []
    assert graph_with_large_constant(none) is None


def drawn(layer: str) -> Iterator[None]:
    draw = Draw(DataType.FLOAT32, [8])
    for shape in SHAPES:
        for _ in range(4):
            for made in candidates_of(layer, draw, draw.input(shape)):
                assert made.layer == layer
                yield


@pytest.mark.parametrize("layer", drawn_layers())
def test_each_layer_can_be_drawn(layer: str) -> None:
    assert sum(1 for _ in drawn(layer)) > 0
