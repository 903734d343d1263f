# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from armnn import DataType, Network, TensorInfo
from armnn.backends import Support
from armnn.optimizer import OptimizedNetwork, OptimizerOptions
from armnn.optimizer.preparation import Template
from armnn.optimizer.symbolic.trace import Recipe
from armnn.profiling import Recorder

MEANINGS = {
    "Concat": lambda layer, *arrays: np.concatenate(arrays, layer.descriptor.axis),
    "Division": lambda _, x, y: x // y if x.dtype.kind == "i" else x / y,
    "Fill": lambda layer, _: np.full(layer.output.info.static_shape, layer.descriptor.value),
    "Gather": lambda layer, x, at: np.take(x, at.astype(np.int64), layer.descriptor.axis),
    "Multiplication": lambda _, x, y: x * y,
    "Reshape": lambda layer, x: x.reshape(layer.descriptor.target_shape),
    "Slice": lambda layer, x: x[
        tuple(
            slice(b, b + s)
            for b, s in zip(layer.descriptor.begin, layer.descriptor.size, strict=True)
        )
    ],
    "StridedSlice": lambda layer, x: x[layer.descriptor.index(x.ndim)],
    "Transpose": lambda layer, x: x.transpose(layer.descriptor.dim_mappings),
}


def flattened() -> Network:
    """Reshape x [N,2,M] to [N*M/2,4] by shape arithmetic."""
    network = Network("flattened")
    x = network.add_input("x", TensorInfo(("N", 2, "M")))
    shape = network.add_shape(x, output=DataType.SIGNED64)
    first = network.add_slice(shape, begin=(0,), size=(1,))
    last = network.add_gather(shape, np.array([2]), axis=0)
    rows = network.add_division(network.add_multiplication(first, last), np.array([2]))
    target = network.add_concat([rows, np.array([4])], axis=0)
    network.add_output("y", network.add_reshape(x, target))
    return network


def with_positions() -> Network:
    """Multiply by the first M rows of a table."""
    network = Network("positions")
    x = network.add_input("x", TensorInfo(("N", "M", 3)))
    shape = network.add_shape(x, output=DataType.SIGNED64)
    length = network.add_gather(shape, np.array([1]), axis=0)
    end = network.add_concat([length, np.array([3])], axis=0)
    table = network.add_constant(np.arange(60, dtype=np.float32).reshape(20, 3))
    ends = [table, np.array([0, 0]), end, np.array([1, 1])]
    rows = network.add("StridedSlice", ends, name="rows").output
    network.add_output("y", network.add_multiplication(x, rows))
    return network


@pytest.fixture(autouse=True)
def further(meanings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the shape arithmetic a meaning."""
    for name, meaning in MEANINGS.items():
        monkeypatch.setitem(meanings, name, meaning)


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the labels of specializations made from others."""
    labels: list[str] = []
    plain = Template.specialize

    def specialize(self: Template, shapes: Any, label: Callable[[], str]) -> Any:
        made = plain(self, shapes, label)
        labels.extend([] if made is None else [label()])
        return made

    monkeypatch.setattr(Template, "specialize", specialize)
    return labels


@pytest.mark.parametrize("make", [flattened, with_positions])
def test_results_for_other_shapes_are_those_of_a_fresh_load(
    make_backend: Any, make_runtime: Any, derived: list[str], make: Callable[[], Network]
) -> None:
    runtime = make_runtime(make_backend("Fake"))
    model = runtime.load_model(make(), ["Fake"])
    sizes = [(n, m) for n in (2, 1, 5) for m in (4, 6, 8)]
    for n, m in sizes:
        x = np.random.default_rng(n * m).uniform(-9, 9, (n, 2, m)).astype(np.float32)
        x = (
            x
            if make is flattened
            else np.ascontiguousarray(np.repeat(x, 3, 1)[:, :3].swapaxes(1, 2))
        )
        fresh = runtime.load_model(make(), ["Fake"]).run({"x": x})["y"]
        found = model.run({"x": x})["y"]
        assert found.tobytes() == fresh.tobytes()
        assert found.shape == fresh.shape
    assert len(derived) == len(sizes) - 1


def test_rows_of_the_report_are_those_of_a_fresh_preparation(
    participants: Any, make_backend: Any
) -> None:
    kind = make_backend("Fake")
    network = Network("convolved")
    x = network.add_input("x", TensorInfo(("N", 5, 5, 2)))
    weights = network.add_constant(np.ones((3, 2, 2, 2), np.float32))
    network.add_output("y", network.add_convolution2d(x, weights, data_layout="NHWC"))

    def rows(optimized: OptimizedNetwork, size: int) -> list[dict[str, Any]]:
        return [row.as_dict() for row in optimized.specialize({"x": (size, 5, 5, 2)}, {}).report]

    def prepared() -> OptimizedNetwork:
        return OptimizedNetwork(network, participants(kind), OptimizerOptions())

    one = prepared()
    rows(one, 1)
    assert rows(one, 4) == rows(prepared(), 4)
    assert rows(one, 4)[0]["multiply_adds"] == 4 * 4 * 4 * 3 * 8


def filled_by(*dims: int) -> Network:
    """Add zeros of some dimensions of x [N,M] and others."""
    network = Network("filled")
    x = network.add_input("x", TensorInfo(("N", "M")))
    shape = network.add_shape(x, output=DataType.SIGNED64)
    zeros = network.add("Fill", [network.add_gather(shape, np.array(dims), axis=0)]).output
    network.add_output("y", network.add_multiplication(x, zeros))
    return network


@pytest.mark.parametrize(
    ("make", "kind", "shapes", "computed"),
    [
        # cut out of the largest table; computed again where one is larger
        (
            with_positions,
            "StridedSlice",
            [(2, 8, 3), (2, 4, 3), (5, 6, 3), (2, 9, 3), (2, 7, 3)],
            2,
        ),
        # a larger table is computed for twice the length
        (with_positions, "StridedSlice", [(2, 4, 3), (2, 5, 3), (2, 7, 3), (2, 10, 3)], 2),
        # whose end the table of 20 rows does not have: 12 and then 20 are computed as they are
        (with_positions, "StridedSlice", [(2, 4, 3), (2, 12, 3), (2, 20, 3)], 3),
        # of more than a megabyte nothing is computed ahead
        (lambda: filled_by(0, 1), "Fill", [(200, 300), (300, 400), (310, 410)], 3),
        # in two directions: neither of the first two covers the other one
        (lambda: filled_by(0, 1), "Fill", [(2, 9), (3, 8), (3, 7), (2, 8)], 2),
        # the number that it depends on stays
        (lambda: filled_by(1), "Fill", [(2, 9), (3, 9), (4, 9)], 1),
    ],
)
def test_constants_are_computed_when_no_kept_one_will_do(
    make_backend: Any,
    make_runtime: Any,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[], Network],
    kind: str,
    shapes: list[tuple[int, ...]],
    computed: int,
) -> None:
    calls = []
    plain = Recipe.results

    def counted(self: Recipe, *arguments: Any) -> Any:
        results = plain(self, *arguments)
        calls.extend([results] if self.spec.name == kind else [])
        return results

    monkeypatch.setattr(Recipe, "results", counted)
    runtime = make_runtime(make_backend("Fake"))
    model = runtime.load_model(make(), ["Fake"])
    found = [model.run({"x": np.ones(shape, np.float32)})["y"] for shape in shapes]
    assert len(calls) == computed
    for shape, y in zip(shapes, found, strict=True):
        fresh = runtime.load_model(make(), ["Fake"]).run({"x": np.ones(shape, np.float32)})
        assert y.tobytes() == fresh["y"].tobytes()
        assert y.shape == shape


def test_the_phases_of_another_shape_are_in_the_profile(
    make_backend: Any, make_runtime: Any, derived: list[str]
) -> None:
    recorder = Recorder()
    runtime = make_runtime(make_backend("Fake"))
    model = runtime.load_model(flattened(), ["Fake"], profiler=recorder)
    model.run({"x": np.ones((2, 2, 4), np.float32)})
    before = len(recorder.events)
    model.run({"x": np.ones((3, 2, 4), np.float32)})
    names = [
        event.name for event in recorder.events[before:] if event.details["category"] == "phase"
    ]
    assert names == ["apply shapes", "compile for shapes"]


def test_another_decision_is_another_template(
    make_backend: Any, make_runtime: Any, derived: list[str]
) -> None:
    network = Network("broadcast")
    x, y = (network.add_input(name, TensorInfo((name, 2))) for name in "xy")
    network.add_output("z", network.add_multiplication(x, y))
    model = make_runtime(make_backend("Fake")).load_model(network, ["Fake"])
    for first, second in [(1, 4), (3, 3), (1, 5), (4, 1), (6, 6), (1, 1), (8, 1)]:
        a, b = np.full((first, 2), 3, np.float32), np.full((second, 2), 5, np.float32)
        assert model.run({"x": a, "y": b})["z"].tolist() == (a * b).tolist()
    assert derived == [
        "x=[1,2], y=[5,2]",
        "x=[6,2], y=[6,2]",
        "x=[1,2], y=[1,2]",
        "x=[8,2], y=[1,2]",
    ]


def with_one_sample_alike() -> Network:
    """Transpose and reshape x [N,4,3]: nothing changes in one sample."""
    network = Network("alike")
    x = network.add_input("x", TensorInfo(("N", 4, 3)))
    network.add_output("moved", network.add_transpose(x, dim_mappings=(1, 0, 2)))
    network.add_output("joined", network.add_reshape(x, target_shape=(1, -1, 3)))
    siblings = [network.add_reshape(x, target_shape=each) for each in ((-1, 12), (1, -1))]
    for name, value in zip(("rows", "row"), siblings, strict=True):
        network.add_output(name, network.add_multiplication(value, value))
    return network


@pytest.mark.parametrize("first", [1, 2])
def test_a_batch_of_one_is_prepared_as_others_are(
    make_backend: Any, make_runtime: Any, derived: list[str], first: int
) -> None:
    model = make_runtime(make_backend("Fake")).load_model(with_one_sample_alike(), ["Fake"])
    for size in (first, 1, 2, 5):
        x = np.arange(size * 12, dtype=np.float32).reshape(size, 4, 3)
        found = model.run({"x": x})
        assert found["moved"].tolist() == x.transpose(1, 0, 2).tolist()
        assert found["joined"].tolist() == x.reshape(1, -1, 3).tolist()
        assert found["rows"].tolist() == (x * x).reshape(size, 12).tolist()
        assert found["row"].tolist() == (x * x).reshape(1, -1).tolist()
    assert derived == [f"x=[{size},4,3]" for size in (1, 2, 5) if size != first]


def test_a_backend_is_asked_again_about_each_layer(
    make_backend: Any, make_runtime: Any, derived: list[str]
) -> None:
    first = make_backend("First")
    plain = first.supports

    def judged(self: Any, layer: Any, model: Any) -> Any:
        if layer.output.info.is_static and layer.output.info.static_shape[0] > 3:
            return Support.no("it is too large")
        return plain(self, layer, model)

    first.supports = judged
    runtime = make_runtime(first, make_backend("Second"))
    network = Network("squares")
    x = network.add_input("x", TensorInfo(("N",)))
    network.add_output("y", network.add_multiplication(x, x))
    model = runtime.load_model(network, ["First", "Second"])
    for size in (2, 4, 3, 5):
        model.run({"x": np.ones(size, np.float32)})
    assert [row.backend for row in model.report] == ["First", "Second", "First", "Second"]
    assert derived == ["x=[3]"]


def test_several_threads_meet_several_shapes_at_once(make_backend: Any, make_runtime: Any) -> None:
    model = make_runtime(make_backend("Fake")).load_model(with_positions(), ["Fake"])
    barrier = threading.Barrier(8)

    def work(seed: int) -> bool:
        barrier.wait()
        results = []
        for step in range(20):
            x = np.full((1 + seed % 3, 1 + (seed + step) % 19, 3), seed, np.float32)
            table = np.arange(60, dtype=np.float32).reshape(20, 3)[: x.shape[1]]
            results.append(bool((model.run({"x": x})["y"] == x * table).all()))
        return all(results)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
