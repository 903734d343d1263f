# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import ActivationFunction, Network, TensorInfo
from armnn.backends import OptimizationViews, SubgraphView, Substitution
from armnn.errors import OptimizationError
from armnn.optimizer import OptimizedNetwork, OptimizerOptions

if TYPE_CHECKING:
    from armnn.graph import Layer

INFO = TensorInfo((2,))


def chain(*names: str) -> Network:
    """Return additions x+x one after the other, by name."""
    network = Network("chain")
    value = network.add_input("x", INFO)
    for name in names:
        value = network.add_addition(value, value, name=name)
    network.add_output("y", value)
    return network


def optimize(network: Network, parties: Any) -> OptimizedNetwork:
    return OptimizedNetwork(network, parties, OptimizerOptions(rewrite=False))


def layers_of(optimized: OptimizedNetwork) -> list[tuple[str, str, str | None]]:
    return [
        (layer.name, layer.type, layer.backend)
        for layer in optimized.network.topological_order()
        if layer.type not in ("Input", "Output", "Constant")
    ]


def precompile(view: SubgraphView, *layers: Layer) -> Substitution:
    part = view.part(*layers) if layers else view
    replacement = part.replacement()
    outputs = replacement.add_pre_compiled(
        [layer.output for layer in replacement.inputs],
        num_output_slots=len(part.outputs),
        outputs=[value.info for value in part.outputs],
        name="pre-compiled",
    )
    outputs[0].producer.compiled = [layer.name for layer in part.layers]
    for index, value in enumerate(outputs):
        replacement.add_output(f"{index}", value)
    return Substitution(part, replacement)


def test_untouched_layers_stay(make_backend, participants) -> None:
    optimized = optimize(chain("a", "b"), participants(make_backend("First")))
    assert layers_of(optimized) == [("a", "Addition", "First"), ("b", "Addition", "First")]


def test_a_substitution_takes_the_place_of_its_pattern(make_backend, participants) -> None:
    def optimize_subgraph(self, view, model):
        return OptimizationViews(substitutions=[precompile(view)])

    backend = make_backend("First", optimize_subgraph=optimize_subgraph)
    optimized = optimize(chain("a", "b"), participants(backend))
    assert layers_of(optimized) == [("pre-compiled", "PreCompiled", "First")]
    assert optimized.network.find("pre-compiled").compiled == ["a", "b"]
    rows = [(row.layer, row.backend, row.compiled_into) for row in optimized.report]
    assert rows == [("a", "First", "pre-compiled"), ("b", "First", "pre-compiled")]


def test_a_subgraph_has_its_inputs_and_outputs_in_order(make_backend, participants) -> None:
    seen: list[SubgraphView] = []

    def optimize_subgraph(self, view, model):
        seen.append(view)
        return OptimizationViews(substitutions=[precompile(view)])

    network = Network()
    p, q = network.add_input("p", INFO), network.add_input("q", INFO)
    first = network.add_addition(q, p, name="first")
    second = network.add_addition(first, np.ones(2, np.float32), name="second")
    network.add_output("kept", first)
    network.add_output("last", second)
    backend = make_backend("First", optimize_subgraph=optimize_subgraph)
    optimized = optimize(network, participants(backend))
    (view,) = seen
    assert [value.name for value in view.inputs][:2] == ["q", "p"]
    assert view.inputs[2].constant is not None
    assert [output.inputs[0].index for output in optimized.network.outputs] == [0, 1]


def test_part_of_a_subgraph_can_be_replaced(make_backend, participants) -> None:
    def optimize_subgraph(self, view, model):
        middle = next(layer for layer in view.layers if layer.name == "b")
        rest = [layer for layer in view.layers if layer is not middle]
        return OptimizationViews(
            substitutions=[precompile(view, middle)], untouched=[view.part(*rest)]
        )

    backend = make_backend("First", optimize_subgraph=optimize_subgraph)
    optimized = optimize(chain("a", "b", "c"), participants(backend))
    assert [name for name, *_ in layers_of(optimized)] == ["a", "pre-compiled", "c"]


def test_failed_parts_go_to_the_next_backend_and_are_optimized_there(
    make_backend, participants
) -> None:
    seen: list[list[str]] = []

    def fail_b(self, view, model):
        failed = [layer for layer in view.layers if layer.name == "b"]
        return OptimizationViews(failed=[view.part(*failed)], reasons={"b": "too wide"})

    def take_all(self, view, model):
        seen.append([layer.name for layer in view.layers])
        return OptimizationViews(substitutions=[precompile(view)])

    parties = participants(
        make_backend("First", optimize_subgraph=fail_b),
        make_backend("Second", optimize_subgraph=take_all),
    )
    optimized = optimize(chain("a", "b", "c"), parties)
    assert seen == [["b"]]
    assert layers_of(optimized) == [
        ("a", "Addition", "First"),
        ("pre-compiled", "PreCompiled", "Second"),
        ("c", "Addition", "First"),
    ]
    (row,) = optimized.report.fallbacks
    assert (row.layer, row.backend, row.reason) == ("b", "Second", "First: too wide")


def test_a_failed_part_joins_what_the_next_backend_already_has(make_backend, participants) -> None:
    seen: list[list[str]] = []

    def fail_all(self, view, model):
        return OptimizationViews(failed=[view])

    def look(self, view, model):
        seen.append([layer.name for layer in view.layers])
        return OptimizationViews()

    parties = participants(
        make_backend("First", {"b": "not b"}, optimize_subgraph=fail_all),
        make_backend("Second", optimize_subgraph=look),
    )
    optimized = optimize(chain("a", "b", "c"), parties)
    assert seen == [["a", "b", "c"]]
    assert {row.reason for row in optimized.report} == {
        "First: its optimization of the layer failed",
        "First: not b",
    }


def test_a_part_that_everybody_fails_is_an_error(make_backend, participants) -> None:
    def fail_all(self, view, model):
        return OptimizationViews(failed=[view])

    parties = participants(make_backend("First", optimize_subgraph=fail_all))
    with pytest.raises(OptimizationError, match=r"'a' .Addition.: First: its optimization of the"):
        optimize(chain("a"), parties)


def test_parts_that_border_on_each_other_are_deleted_and_replaced_together(
    make_backend, participants
) -> None:
    def optimize_subgraph(self, view: SubgraphView, model: object) -> OptimizationViews:
        first, *gone, last = view.layers
        return OptimizationViews(
            substitutions=[precompile(view, last), precompile(view, first)],
            deleted=[view.part(layer) for layer in gone],
        )

    kind = make_backend("First", optimize_subgraph=optimize_subgraph)
    optimized = optimize(chain("a", "b", "c", "d"), participants(kind))
    first, last = (layer for layer in optimized.network.topological_order() if layer.compiled)
    assert (first.compiled, last.compiled) == (["a"], ["d"])
    assert list(last.inputs) == [first.output]


def test_a_deleted_layer_hands_its_input_on(make_backend, participants) -> None:
    def delete_reshape(self, view, model):
        gone = [layer for layer in view.layers if layer.type == "Reshape"]
        return OptimizationViews(deleted=[view.part(layer) for layer in gone])

    network = Network()
    x = network.add_input("x", INFO)
    value = network.add_addition(x, x, name="a")
    value = network.add_reshape(value, target_shape=(2,), name="r")
    network.add_output("y", network.add_addition(value, value, name="b"))
    backend = make_backend("First", optimize_subgraph=delete_reshape)
    optimized = optimize(network, participants(backend))
    assert [name for name, *_ in layers_of(optimized)] == ["a", "b"]


def bad_views(kind: str, view: SubgraphView) -> OptimizationViews:
    first = view.part(view.layers[0])
    if kind == "twice":
        return OptimizationViews(failed=[first], untouched=[first])
    if kind == "outside":
        other = chain("z")
        return OptimizationViews(untouched=[SubgraphView.of(other, [other.find("z")])])
    if kind == "inputs":
        fragment = Network()
        fragment.add_output("o", fragment.add_input("i", TensorInfo((3,))))
        return OptimizationViews(substitutions=[Substitution(first, fragment)])
    if kind == "outputs":
        fragment = first.replacement()
        return OptimizationViews(substitutions=[Substitution(first, fragment)])
    network, (a, b), (x,) = view.network, view.layers, view.inputs
    if kind == "deleted":
        a.output.info = TensorInfo((2, 1))
        return OptimizationViews(deleted=[first])
    layers, inputs, outputs = {
        "order": ((b, a), (x,), (b.output,)),
        "read": ((a,), (x,), ()),
        "foreign": ((b,), (a.output, x), (b.output, a.output)),
        "cycle": ((a,), (b.output,), (a.output,)),
        "gone": ((a, b), (a.output,), (b.output,)),
    }[kind]
    return OptimizationViews(deleted=[SubgraphView(network, layers, inputs, outputs)])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("twice", "layer 'a' is in two of the lists"),
        ("outside", "layer 'z' is not in the subgraph"),
        ("inputs", r"got inputs \['Float32\[3\]'\], expected \['Float32\[2\]'\]"),
        ("outputs", r"got outputs \[\], expected \['Float32\[2\]'\]"),
        ("deleted", r"deleted layer 'a', but its output Float32\[2,1\] is read"),
        ("order", "layer 'b' is listed before a layer that it reads"),
        (
            "read",
            "layer 'a' is replaced or deleted, but 'b' reads it and it is not among",
        ),
        ("foreign", "an output of a subgraph is of layer 'a' outside of it"),
        ("cycle", r"\[.*'b'.*\] would wait for each other"),
        ("gone", "a subgraph reads layer 'a', which is replaced"),
    ],
)
def test_views_that_do_not_fit_are_refused(
    kind: str, message: str, make_backend, participants
) -> None:
    backend = make_backend(
        "Bad", optimize_subgraph=lambda _self, view, _model: bad_views(kind, view)
    )
    with pytest.raises(OptimizationError, match=message):
        optimize(chain("a", "b"), participants(backend))


def test_a_part_may_have_layers_on_both_sides_of_one_that_stays(make_backend, participants) -> None:
    def delete(self, view, model):
        return OptimizationViews(deleted=[view.part(view.layers[0], view.layers[2])])

    optimized = optimize(
        chain("a", "b", "c"), participants(make_backend("First", optimize_subgraph=delete))
    )
    assert layers_of(optimized) == [("b", "Addition", "First")]


def test_an_error_of_a_backend_that_optimizes_names_it(make_backend, participants) -> None:
    def fail(self, view, model):
        raise ZeroDivisionError("boom")

    parties = participants(make_backend("Broken", optimize_subgraph=fail))
    with pytest.raises(
        ZeroDivisionError, match=r"boom\nraised by optimize_subgraph of layer 'a' .*'Broken'"
    ):
        optimize(chain("a"), parties)


def test_a_replacement_keeps_the_names_of_its_layers(make_backend, participants) -> None:
    def fuse(self, view, model):
        (layer,) = view.layers
        replacement = view.replacement()
        value = replacement.add_activation(
            replacement.inputs[0].output, function=ActivationFunction.LINEAR, a=2.0, name=layer.name
        )
        replacement.add_output("o", value)
        return OptimizationViews(substitutions=[Substitution(view, replacement)])

    optimized = optimize(chain("a"), participants(make_backend("First", optimize_subgraph=fuse)))
    assert layers_of(optimized) == [("a", "Activation", "First")]
