# SPDX-License-Identifier: MIT
"""The number of queries to a backend in C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import DataLayout, Network, Runtime, TensorInfo
from armnn.backends import ModelContext, Support
from armnn.backends.native import NativeBackend

if TYPE_CHECKING:
    from armnn.backends.native import NativeLibrary

X = np.array([1.0, -2.0, 3.5, 0.0], np.float32)
Make = Callable[..., Runtime]


@dataclass(frozen=True)
class Asked:
    """The queries a backend got, their nodes, and nodes compiled."""

    queries: int
    nodes: int
    compiled: int


@pytest.fixture
def asked(counts: Any) -> Callable[[], Asked]:
    """Return what tells what was asked since the test began."""
    before = counts()

    def tell() -> Asked:
        now = counts()
        return Asked(
            now.queries - before.queries,
            now.nodes_queried - before.nodes_queried,
            now.nodes_compiled - before.nodes_compiled,
        )

    return tell


def network(*names: str, size: int | str = 4) -> Network:
    """Return consecutive layers.

    "floor ..." is a Floor, which the mock lacks, others add.
    """
    made = Network("chain")
    value = made.add_input("x", TensorInfo((size,)))
    for name in names:
        if name.startswith("floor"):
            value = made.add("Floor", [value], name=name).output
        else:
            value = made.add_addition(value, value, name=name)
    made.add_output("y", value)
    return made


@pytest.fixture
def make_other(make_backend: Any, meanings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what makes the backend that runs everything."""
    monkeypatch.setitem(meanings, "Floor", lambda _, x: np.floor(x))
    return lambda: make_backend("Other")


def test_a_backend_is_asked_once_about_a_network(
    make_native_runtime: Make, mock: NativeLibrary, asked: Any
) -> None:
    loaded = make_native_runtime(mock).load_model(network("a", "b", "c"), ["Mock"])
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], 8 * X)
    assert asked() == Asked(queries=1, nodes=3, compiled=3)


def test_each_subgraph_is_compiled_from_the_one_answer(
    make_native_runtime: Make, mock: NativeLibrary, make_other: Any, asked: Any
) -> None:
    runtime = make_native_runtime(mock, make_other())
    loaded = runtime.load_model(network("a", "floor 1", "b", "floor 2", "c"), ["Mock", "Other"])
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], 2 * np.floor(2 * np.floor(2 * X)))
    assert asked() == Asked(queries=1, nodes=5, compiled=3)
    assert {row.layer: row.reason for row in loaded.report.fallbacks} == dict.fromkeys(
        ("floor 1", "floor 2"), "Mock: Mock has no Floor"
    )


def test_the_second_backend_is_asked_about_the_whole_network_too(
    make_native_runtime: Make, mock: NativeLibrary, make_backend: Any, asked: Any
) -> None:
    refusing = make_backend("First", {"b": "not this one"})
    loaded = make_native_runtime(mock, refusing).load_model(
        network("a", "b", "c"), ["First", "Mock"]
    )
    assert [row.backend for row in loaded.report] == ["First", "Mock", "First"]
    assert asked() == Asked(queries=1, nodes=3, compiled=1)


def test_what_compile_refuses_changes_no_answer(
    make_native_runtime: Make, mock: NativeLibrary, make_other: Any, asked: Any
) -> None:
    runtime = make_native_runtime(mock, make_other())
    options = {"Mock": {"Refuse": "b"}}
    loaded = runtime.load_model(network("a", "b", "c"), ["Mock", "Other"], backend_options=options)
    assert [row.backend for row in loaded.report] == ["Mock", "Other", "Mock"]
    assert asked() == Asked(queries=1, nodes=3, compiled=2)


def test_each_set_of_input_shapes_is_a_network_of_its_own(
    make_native_runtime: Make, mock: NativeLibrary, asked: Any
) -> None:
    loaded = make_native_runtime(mock).load_model(network("a", "b", size="n"), ["Mock"])
    assert asked() == Asked(queries=1, nodes=2, compiled=0)  # whether the backend will do
    loaded.run({"x": X})
    loaded.run({"x": X})
    assert asked() == Asked(queries=2, nodes=4, compiled=2)
    loaded.run({"x": X[:3]})
    assert asked() == Asked(queries=3, nodes=6, compiled=4)


def test_the_host_answers_for_what_c_cannot_take(
    make_native_runtime: Make, mock: NativeLibrary, make_other: Any, meanings: Any, asked: Any
) -> None:
    meanings["NonZero"] = lambda _, x: np.array(np.nonzero(x))
    made = network("a", "b")
    made.add_output("z", made.add("NonZero", [made.find("a").output], name="indices").output)
    loaded = make_native_runtime(mock, make_other()).load_model(made, ["Mock", "Other"])
    (row,) = loaded.report.fallbacks
    assert (row.layer, asked()) == ("indices", Asked(queries=1, nodes=2, compiled=2))
    assert "'indices' is known only when it is computed" in row.reason


def test_an_answer_may_wish_a_layout(
    mock: NativeLibrary, counts: Any, no_options: ModelContext
) -> None:
    layer = network("add").find("add")
    assert NativeBackend(mock).supports(layer, no_options).layout is None
    backend = NativeBackend(mock)
    backend.start({"FailQuery": "wish"})
    assert backend.supports(layer, no_options) == Support(True, layout=DataLayout.NHWC)
