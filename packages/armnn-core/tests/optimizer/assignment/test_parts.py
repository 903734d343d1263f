# SPDX-License-Identifier: MIT
"""The parts of a report, and what crosses their borders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import OptimizationViews, SubgraphView, Substitution
from armnn.optimizer import Border, OptimizedNetwork, OptimizerOptions, Part, Report
from fakes.backends import DeviceFactory, DeviceMemory

if TYPE_CHECKING:
    from pathlib import Path

INFO = TensorInfo((2, 3))
BYTES = 2 * 3 * 4


def mixed() -> Network:
    """Return a, b and c; c reads both."""
    network = Network("mixed")
    x = network.add_input("x", INFO)
    a = network.add_addition(x, x, name="a")
    b = network.add_multiplication(a, np.full((2, 3), 3, np.float32), name="b")
    network.add_output("middle", b)
    network.add_output("y", network.add_subtraction(b, a, name="c"))
    return network


def report_of(network: Network, parties: Any, **options: Any) -> Report:
    return OptimizedNetwork(network, parties, OptimizerOptions(**options)).report


def test_tensors_between_parts_are_borders_with_their_bytes(make_backend, participants) -> None:
    parties = participants(make_backend("First", {"b": "no"}), make_backend("Second"))
    into_b = Border("a", "First", BYTES, copied=False)
    # c reads a from another part of its own backend: between the two is b.
    into_c = (Border("a", "First", BYTES, copied=False), Border("b", "Second", BYTES, copied=False))
    assert report_of(mixed(), parties).parts == (
        Part("a", "First", 1, "", ()),
        Part("b", "Second", 1, "", (into_b,)),
        Part("c", "First", 1, "", into_c),
    )


def test_one_backend_is_one_part_without_borders(make_backend, participants) -> None:
    parts = report_of(mixed(), participants(make_backend("First"))).parts
    assert parts == (Part("a", "First", 3, "", ()),)
    assert (parts[0].border_bytes, parts[0].copied_bytes) == (0, 0)


def test_tensors_that_change_memory_are_copied(make_backend, participants) -> None:
    device = {
        "handle_factory_preferences": ("device",),
        "register_tensor_handle_factories": lambda _, registry: registry.register(
            DeviceFactory("device")
        ),
        "create_memory_manager": lambda _: DeviceMemory(),
    }
    parties = participants(make_backend("Host", {"b": "no"}), make_backend("Device", **device))
    _, b, c = report_of(mixed(), parties).parts
    assert b.borders == (Border("a", "Host", BYTES, copied=True),)
    assert [(each.tensor, each.copied) for each in c.borders] == [("a", False), ("b", True)]
    assert (c.border_bytes, c.copied_bytes) == (2 * BYTES, BYTES)


def test_layers_of_a_compiled_part_are_counted_under_their_own_names(
    make_backend, participants
) -> None:
    def compiled(_self: Any, view: SubgraphView, _model: Any) -> OptimizationViews:
        one = view.replacement()
        outputs = one.add_pre_compiled(
            [layer.output for layer in one.inputs],
            num_output_slots=len(view.outputs),
            outputs=[value.info for value in view.outputs],
            name="compiled",
        )
        for index, value in enumerate(outputs):
            one.add_output(f"{index}", value)
        return OptimizationViews(substitutions=[Substitution(view, one)])

    first = make_backend("First", {"c": "no"}, optimize_subgraph=compiled)
    parts = report_of(mixed(), participants(first, make_backend("Second"))).parts
    assert [(part.name, part.layers) for part in parts] == [("a", 2), ("c", 1)]
    assert {each.tensor for each in parts[1].borders} == {"compiled", "compiled:1"}


def test_a_split_network_of_two_sets_of_shapes_has_parts_of_both(
    make_backend, make_runtime
) -> None:
    network = Network("open")
    x = network.add_input("x", TensorInfo(("n",)))
    network.add_output("y", network.add_addition(x, x, name="a"))
    model = make_runtime(make_backend("First")).load_model(network, ["First"])
    for size in (2, 3):
        model.run({"x": np.ones(size, np.float32)})
    assert [part.specialisation for part in model.report.parts] == ["x=[2]", "x=[3]"]


def test_a_cached_network_has_the_same_parts(make_backend, make_runtime, tmp_path: Path) -> None:
    runtime = make_runtime(make_backend("First", {"b": "no"}), make_backend("Second"))
    parts = [
        runtime.load_model(mixed(), ["First", "Second"], cache_dir=tmp_path).report.parts
        for _ in range(2)
    ]
    assert parts[0] == parts[1]
    assert len(parts[0]) == 3


def test_parts_are_json() -> None:
    part = Part("a", "Npu", 2, "x=[1]", (Border("b:1", "Cpu", None, copied=True),))
    assert json.loads(json.dumps(part.as_dict())) == {
        "name": "a",
        "backend": "Npu",
        "layers": 2,
        "specialisation": "x=[1]",
        "borders": [{"tensor": "b:1", "source": "Cpu", "bytes": None, "copied": True}],
    }


@pytest.mark.parametrize("known", [0, 8])
def test_bytes_that_only_a_run_knows_are_not_counted(known: int) -> None:
    borders = (Border("a", "Cpu", None, copied=True), Border("b", "Cpu", known, copied=False))
    part = Part("c", "Npu", 1, "", borders)
    assert (part.border_bytes, part.copied_bytes) == (known, 0)
