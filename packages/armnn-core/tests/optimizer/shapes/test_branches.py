# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn import DataType, Network, TensorInfo
from armnn.errors import GraphError

INFO = TensorInfo((2,))
X = np.array([3, 4], np.float32)


def branched(condition: str) -> Network:
    """Return x + x if the condition holds, else x * x."""
    network = Network("branched")
    x = network.add_input("x", INFO)
    if condition == "input":
        decides = network.add_input("c", TensorInfo((), DataType.BOOLEAN))
    elif condition == "constant":
        decides = network.add_constant(np.array(True))
    else:
        decides = network.add_comparison(x, np.array(3.5, np.float32), name="asks")
        decides = network.add_reduce(decides, name="first", output=DataType.BOOLEAN)
    otherwise, then = network.add_switch(x, decides, name="switch")
    doubled = network.add_addition(then, then, name="doubled")
    squared = network.add_multiplication(otherwise, otherwise, name="squared")
    merged = network.add_merge(squared, doubled, name="merge")
    network.add_output("y", network.add_subtraction(merged, x, name="minus"))
    return network


def test_a_constant_condition_leaves_one_branch(make_backend, make_runtime) -> None:
    model = make_runtime(make_backend("Fake")).load_model(branched("constant"), ["Fake"])
    assert [row.layer for row in model.report] == ["doubled", "minus"]
    assert model.run({"x": X})["y"].tolist() == [3, 4]


def test_a_condition_that_is_an_input_has_a_plan_for_each_value(make_backend, make_runtime) -> None:
    model = make_runtime(make_backend("Fake")).load_model(branched("input"), ["Fake"])
    for value, expected in ((True, [3, 4]), (False, [6, 12]), (True, [3, 4])):
        assert model.run({"x": X, "c": np.array(value)})["y"].tolist() == expected
    assert [row.layer for row in model.report] == ["squared", "minus", "doubled", "minus"]


def test_a_condition_that_is_computed_ends_the_segment(
    make_backend, make_runtime, monkeypatch, meanings
) -> None:
    monkeypatch.setitem(meanings, "Comparison", lambda _, x, y: x == y)
    monkeypatch.setitem(meanings, "Reduce", lambda _, x: x[0])
    model = make_runtime(make_backend("Fake")).load_model(branched("computed"), ["Fake"])
    assert model.run({"x": np.array([3.5, 1], np.float32)})["y"].tolist() == [3.5, 1]
    assert model.run({"x": X})["y"].tolist() == [6, 12]


def test_an_output_on_a_branch_that_is_not_taken_is_an_error(make_backend, make_runtime) -> None:
    network = Network()
    x = network.add_input("x", INFO)
    otherwise, then = network.add_switch(x, np.array(True))
    network.add_output("then", then)
    network.add_output("otherwise", network.add_addition(otherwise, otherwise))
    runtime = make_runtime(make_backend("Fake"))
    with pytest.raises(GraphError, match="output 'otherwise' is on a branch that is not taken"):
        runtime.load_model(network, ["Fake"])


def test_a_merge_of_two_taken_branches_is_an_error(make_backend, make_runtime) -> None:
    network = Network()
    x = network.add_input("x", INFO)
    network.add_output("y", network.add_merge(x, x, name="merge"))
    runtime = make_runtime(make_backend("Fake"))
    with pytest.raises(GraphError, match=r"'merge' \(Merge\) cannot be prepared.*both taken"):
        runtime.load_model(network, ["Fake"])
