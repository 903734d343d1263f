# SPDX-License-Identifier: MIT
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from native_mock import counts_of

from armnn import DataType, Network, Runtime, TensorInfo
from armnn.backends.native import NativeLibrary
from armnn.errors import BackendError
from armnn.optimizer.preparation import Template

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Made = tuple[Any, NativeLibrary]


def scaled() -> Network:
    """Return (x + x) * table[:n] for x of n elements."""
    network = Network("scaled")
    x = network.add_input("x", TensorInfo(("n",)))
    shape = network.add_shape(x, output=DataType.SIGNED64)
    table = network.add_constant(np.arange(500, dtype=np.float32))
    ends = [table, np.array([0]), shape, np.array([1])]
    rows = network.add("StridedSlice", ends, name="rows").output
    network.add_output("y", network.add_multiplication(network.add_addition(x, x), rows))
    return network


def passing_on() -> Network:
    """Return x as it is, beside twice x."""
    network = Network("passing on")
    x = network.add_input("x", TensorInfo(("n",)))
    network.add_output("same", x)
    network.add_output("y", network.add_addition(x, x))
    return network


@pytest.fixture
def load(
    build: Callable[..., Path],
    make_native_runtime: Callable[..., Runtime],
    make_backend: Any,
    meanings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Made]:
    """Return a function that loads the network on a mock."""

    monkeypatch.setitem(meanings, "StridedSlice", lambda layer, x: x[layer.descriptor.index(1)])

    def make(*flags: str, make_network: Callable[[], Network] = scaled) -> Made:
        library = NativeLibrary.open(build("mock.c", *flags))
        runtime = make_native_runtime(library, make_backend("Slicing"))
        return runtime.load_model(make_network(), ["Mock", "Slicing"]), library

    return make


def check(model: Any, size: int) -> None:
    x = np.linspace(-1, 1, size, dtype=np.float32)
    expected = 2 * x * np.arange(size, dtype=np.float32)
    assert model.run({"x": x})["y"].tobytes() == expected.tobytes()


def test_further_shapes_are_compiled_without_a_query(load: Callable[..., Made]) -> None:
    model, library = load("-DMOCK_REPLANS=400", "-DMOCK_REPLAN_CODE=ARMNN_UNSUPPORTED_NODE")
    check(model, 40)
    before = counts_of(library)
    for size in (30, 39, 20, 7):
        check(model, size)
    after = counts_of(library)
    assert after.queries == before.queries
    assert after.nodes_compiled == before.nodes_compiled + 4 * 2


def test_a_backend_without_the_extension_is_queried_for_each_shape(
    load: Callable[..., Made],
) -> None:
    model, library = load()
    check(model, 40)
    before = counts_of(library)
    for size in (30, 39, 20):
        check(model, size)
    assert counts_of(library).queries == before.queries + 3


def test_a_shape_that_is_refused_is_prepared_like_the_first_one(load: Callable[..., Made]) -> None:
    model, library = load("-DMOCK_REPLANS=99", "-DMOCK_REPLAN_CODE=ARMNN_UNSUPPORTED_NODE")
    check(model, 40)
    before = counts_of(library)
    check(model, 100)
    assert counts_of(library).queries > before.queries


def test_a_failure_to_replan_is_an_error_that_names_the_part(load: Callable[..., Made]) -> None:
    model, _ = load("-DMOCK_REPLANS=99", "-DMOCK_REPLAN_CODE=ARMNN_INTERNAL")
    check(model, 40)
    with pytest.raises(BackendError, match=r"compile .*too many elements"):
        check(model, 100)
    check(model, 41)


@pytest.fixture
def networks_made(monkeypatch: pytest.MonkeyPatch) -> list[Network]:
    """Return the networks that are made for further shapes."""
    made: list[Network] = []
    plain = Template._network_for

    def network_for(self: Template, *arguments: Any) -> Network:
        made.append(plain(self, *arguments))
        return made[-1]

    monkeypatch.setattr(Template, "_network_for", network_for)
    return made


def test_runs_of_further_shapes_need_no_network_of_their_own(
    load: Callable[..., Made], networks_made: list[Network]
) -> None:
    model, _ = load("-DMOCK_REPLANS=400", "-DMOCK_REPLAN_CODE=ARMNN_UNSUPPORTED_NODE")
    for size in (40, 30, 39, 30):
        check(model, size)
    assert not networks_made
    fresh, _ = load("-DMOCK_REPLANS=400", "-DMOCK_REPLAN_CODE=ARMNN_UNSUPPORTED_NODE")
    check(fresh, 39)
    rows = [row.as_dict() for row in model.report]
    assert [row for row in rows if row["specialisation"] == "x=[39]"] == [
        row.as_dict() for row in fresh.report
    ]
    assert {row["specialisation"] for row in rows} == {"x=[40]", "x=[30]", "x=[39]"}
    assert len(networks_made) == 2
    assert [row.as_dict() for row in model.report] == rows
    assert len(networks_made) == 2


def test_an_input_that_is_an_output_is_passed_on_for_further_shapes(
    load: Callable[..., Made], networks_made: list[Network]
) -> None:
    flags = "-DMOCK_REPLANS=400", "-DMOCK_REPLAN_CODE=ARMNN_UNSUPPORTED_NODE"
    model, _ = load(*flags, make_network=passing_on)
    for size in (4, 3, 6):
        x = np.linspace(-1, 1, size, dtype=np.float32)
        made = model.run({"x": x})
        assert made["same"].tobytes() == x.tobytes()
        assert made["y"].tobytes() == (2 * x).tobytes()
    call = model.bind({"x": x})
    x[...] = 7
    assert call()["same"].tolist() == [7] * 6
    assert not networks_made


def test_a_call_is_bound_to_arrays_of_a_further_shape(load: Callable[..., Made]) -> None:
    model, _ = load("-DMOCK_REPLANS=400", "-DMOCK_REPLAN_CODE=ARMNN_UNSUPPORTED_NODE")
    check(model, 40)
    x = np.zeros(20, np.float32)
    call = model.bind({"x": x})
    for step in (1, -3):
        x[...] = np.arange(20) + step
        np.testing.assert_array_equal(call()["y"], 2 * x * np.arange(20, dtype=np.float32))
    check(model, 20)


def test_threads_run_further_shapes_in_contexts_of_their_own(load: Callable[..., Made]) -> None:
    model, _ = load("-DMOCK_REPLANS=400", "-DMOCK_REPLAN_CODE=ARMNN_UNSUPPORTED_NODE")
    check(model, 40)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda size: check(model, size), [30, 20, 10, 30, 20, 10, 5] * 30))
