# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

import armnn
from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse

X = np.float32([[-1, 2]])


def _branch(lite: Any, model: Any, name: str) -> Any:
    """Return a subgraph of one operator."""
    code = lite.schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = getattr(lite.schema.BuiltinOperator, name)
    code.version = 1
    model.operatorCodes.append(code)
    operator, subgraph = lite.schema.OperatorT(), lite.schema.SubGraphT()
    operator.opcodeIndex = len(model.operatorCodes) - 1
    operator.inputs, operator.outputs = [0], [1]
    subgraph.tensors = model.subgraphs[0].tensors[1:3]
    subgraph.inputs, subgraph.outputs = [0], [1]
    subgraph.operators = [operator]
    return subgraph


def _model(
    lite: Any,
    names: tuple[str, str] = ("NEG", "RELU"),
    condition: Any = None,
    calls: tuple[int, int] = (1, 2),
) -> bytes:
    """Return a model that runs one of two operators."""

    def edit(model: Any) -> None:
        model.subgraphs += [_branch(lite, model, name) for name in names]

    options = {"thenSubgraphIndex": calls[0], "elseSubgraphIndex": calls[1]}
    data: bytes = lite.build(
        lite.Op("IF", ["c", "x"], options=options),
        {
            "c": lite.Tensor("bool", (1,), condition),
            "x": lite.Tensor(shape=X.shape),
            "y": lite.Tensor(shape=X.shape),
        },
        ["c", "x"],
        edit=edit,
    )
    return data


@pytest.mark.parametrize("taken", [True, False])
def test_a_computed_condition_chooses_a_branch(lite: Any, taken: bool) -> None:
    feeds = {"c": np.array([taken]), "x": X}
    model = _model(lite)
    results = lite.run(model, feeds)
    np.testing.assert_array_equal(results["y"], [[1, -2]] if taken else [[0, 2]])
    np.testing.assert_array_equal(results["y"], lite.run_litert(model, feeds)["y"])


@pytest.mark.parametrize("taken", [True, False])
def test_a_known_condition_leaves_the_other_branch_out(lite: Any, taken: bool) -> None:
    network = parse(_model(lite, condition=np.array([taken])))
    layers = [layer.type for layer in network.layers]
    assert layers == ["Input", "ElementwiseUnary" if taken else "Activation", "Output"]


def test_unsupported_operators_of_a_branch_are_named(lite: Any) -> None:
    with pytest.raises(UnsupportedOperatorError, match=r"IF .*of its subgraph 2: .*LSH_PROJECTION"):
        parse(_model(lite, ("NEG", "LSH_PROJECTION")))


def test_branches_that_make_other_tensors_are_refused(lite: Any) -> None:
    with pytest.raises(UnsupportedOperatorError, match="tensors of different shapes or types"):
        parse(_model(lite, ("NEG", "SQUEEZE")))


def test_a_branch_that_is_not_there_is_refused(lite: Any) -> None:
    with pytest.raises(ParseError, match=r"IF \(operator 0\): .*there is no number 7"):
        parse(_model(lite, calls=(7, 1)))


def test_a_branch_with_other_inputs_is_refused(lite: Any) -> None:
    with pytest.raises(ParseError, match="the subgraph 0 is called with 1 inputs: expected 2"):
        parse(_model(lite, calls=(0, 1)))


def test_two_conditions_are_refused(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.subgraphs[0].tensors[0].shape = [2]

    data = lite.build(
        lite.Op("IF", ["c", "x"]),
        {
            "c": lite.constant(np.array([True, False])),
            "x": lite.Tensor(shape=(2,)),
            "y": lite.Tensor(shape=(2,)),
        },
        edit=edit,
    )
    with pytest.raises(ParseError, match="its condition has 2 elements: expected one"):
        parse(data)


def test_subgraphs_that_call_themselves_are_refused(lite: Any) -> None:
    data = lite.build(
        lite.Op("IF", ["c", "c"], options={"thenSubgraphIndex": 0, "elseSubgraphIndex": 0}),
        {"c": lite.Tensor("bool", (1,)), "y": lite.Tensor("bool", (1,))},
        ["c"],
    )
    with pytest.raises(UnsupportedOperatorError, match="call each other more than 8 deep"):
        parse(data)


def test_a_composite_is_its_decomposition(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.subgraphs.append(_branch(lite, model, "NEG"))
        operator = model.subgraphs[0].operators[0]
        operator.builtinOptions2Type = lite.schema.BuiltinOptions2.StableHLOCompositeOptions
        operator.builtinOptions2 = lite.schema.StableHLOCompositeOptionsT()
        operator.builtinOptions2.name = "odml.negation"
        operator.builtinOptions2.decompositionSubgraphIndex = 1

    tensors = {name: lite.Tensor(shape=X.shape) for name in "cxy"}
    data = lite.build(lite.Op("STABLEHLO_COMPOSITE", ["x"]), tensors, edit=edit)
    np.testing.assert_array_equal(lite.run(data, {"x": X})["y"], -X)


def _counting(lite: Any, limit: int, *, computed: bool = False) -> bytes:
    """Return a loop that adds ``k`` to ``x`` and counts.

    It runs as long as the count is below a limit.
    """
    x, count, flag = lite.Tensor(shape=(2,)), lite.Tensor("int32"), lite.Tensor("bool")
    condition = lite.Part(
        [lite.Op("LESS", ["i", "limit"], ["go"])],
        {"i": count, "x": x, "limit": lite.constant(np.int32(limit)), "go": flag},
        ["i", "x"],
        ["go"],
    )
    body = lite.Part(
        [lite.Op("ADD", ["i", "one"], ["i2"]), lite.Op("ADD", ["x", "k"], ["x2"])],
        {
            "i": count,
            "x": x,
            "one": lite.constant(np.int32(1)),
            "k": lite.constant(np.float32([1, 10])),
            "i2": count,
            "x2": x,
        },
        ["i", "x"],
        ["i2", "x2"],
    )
    start = count if computed else lite.constant(np.int32(0))
    options = {"condSubgraphIndex": 1, "bodySubgraphIndex": 2}
    data: bytes = lite.build(
        lite.Op("WHILE", ["i", "x"], ["n", "y"], options=options),
        {"i": start, "x": x, "n": count, "y": x},
        ["i", "x"] if computed else ["x"],
        ["n", "y"],
        more=[condition, body],
    )
    return data


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_a_loop_runs_as_often_as_its_counter_says(lite: Any, trips: int) -> None:
    model, feeds = _counting(lite, trips), {"x": np.float32([1, 2])}
    ours, theirs = lite.run(model, feeds), lite.run_litert(model, feeds)
    np.testing.assert_array_equal(ours["y"], theirs["y"])
    assert ours["n"] == theirs["n"] == trips


def test_a_loop_that_depends_on_an_input_is_refused(lite: Any) -> None:
    with pytest.raises(UnsupportedOperatorError, match="how often it runs is computed"):
        parse(_counting(lite, 5, computed=True))


def test_a_loop_without_end_is_refused(lite: Any) -> None:
    with pytest.raises(UnsupportedOperatorError, match="it runs more than 1024 times"):
        parse(_counting(lite, 2000))


def test_calls_that_multiply_are_refused(lite: Any) -> None:
    x = lite.Tensor(shape=(2,))
    calls = [
        lite.Part(
            [
                lite.Op("CALL", [f"t{at}"], [f"t{at + 1}"], options={"subgraph": part + 1})
                for at in range(30)
            ],
            {f"t{at}": x for at in range(31)},
            ["t0"],
            ["t30"],
        )
        for part in range(1, 5)
    ]
    last = lite.Part([lite.Op("NEG", ["x"])], {"x": x, "y": x})
    model = lite.build(
        lite.Op("CALL", ["x"], options={"subgraph": 1}), {"x": x, "y": x}, more=[*calls, last]
    )
    with pytest.raises(UnsupportedOperatorError, match="have more than 16384 operators"):
        parse(model)


def test_a_call_adds_the_layers_of_the_subgraph(lite: Any) -> None:
    x = lite.Tensor(shape=X.shape)
    part = lite.Part([lite.Op("NEG", ["x"])], {"x": x, "y": x})
    op = lite.Op("CALL", ["x"], options={"subgraph": 1})
    results = lite.run(lite.build(op, {"x": x, "y": x}, more=[part]), {"x": X})
    np.testing.assert_array_equal(results["y"], -X)


def _accumulator(
    lite: Any, *, assigns: bool = True, initial: bool = True, first: tuple[float, ...] = (3, 3)
) -> bytes:
    """Return a model that adds ``x`` to a variable, which begins with a first value or zeros."""
    x, handle = lite.Tensor(shape=(2,)), lite.Tensor("resource", ())
    var = lite.Op("VAR_HANDLE", [], ["h"], options={"sharedName": "sum", "container": ""})
    ops = [
        *([lite.Op("CALL_ONCE", [], [], options={"initSubgraphIndex": 1})] if initial else []),
        var,
        lite.Op("READ_VARIABLE", ["h"], ["before"]),
        lite.Op("ADD", ["before", "x"], ["y"]),
        *([lite.Op("ASSIGN_VARIABLE", ["h", "y"], [])] if assigns else []),
    ]
    once = lite.Part(
        [var, lite.Op("ASSIGN_VARIABLE", ["h", "c"], [])],
        {"h": handle, "c": lite.constant(np.float32(first))},
        [],
        [],
    )
    tensors = {"x": x, "h": handle, "before": x, "y": x}
    data: bytes = lite.build(ops, tensors, more=[once] if initial else [])
    return data


@pytest.mark.parametrize("initial", [False, True])
def test_a_variable_goes_from_run_to_run_as_input_and_output(lite: Any, initial: bool) -> None:
    with armnn.Runtime() as runtime:
        network = parse(_accumulator(lite, initial=initial))
        loaded = runtime.load_network(runtime.optimize(network, backends=["CpuRef"]))
        assert list(loaded.inputs) == ["x", "sum"]
        assert list(loaded.outputs) == ["y", "sum"]
        assert loaded.metadata["initial sum"] == ("3.0" if initial else "0")
        state = np.float32([3, 3])
        loaded.set_states({"sum": state})
        for step in range(3):
            results = loaded.run({"x": np.float32([step, 10]), "sum": state})
            state = results["sum"]
            kept = loaded.run({"x": np.float32([step, 10])})
            np.testing.assert_array_equal(kept["y"], results["y"])
        np.testing.assert_array_equal(loaded.states()["sum"], state)
    interpreter = Interpreter(model_content=_accumulator(lite))
    interpreter.allocate_tensors()
    for step in range(3):
        (given,), (made,) = interpreter.get_input_details(), interpreter.get_output_details()
        interpreter.set_tensor(given["index"], np.float32([step, 10]))
        interpreter.invoke()
    np.testing.assert_array_equal(state, interpreter.get_tensor(made["index"]))
    np.testing.assert_array_equal(results["y"], state)


def test_a_variable_whose_elements_differ_at_first_is_kept(lite: Any, tmp_path: Path) -> None:
    model = tmp_path / "sum.tflite"
    model.write_bytes(_accumulator(lite, first=(0.1, -7e-30)))
    for _ in range(2):  # the second one is read from the cache
        loaded = armnn.load_model(model, ["CpuRef"], cache_dir=tmp_path / "cache")
        assert loaded.metadata["initial sum"] == "0.1 -7e-30"
        interpreter = Interpreter(model_path=str(model))
        interpreter.allocate_tensors()
        (given,), (made,) = interpreter.get_input_details(), interpreter.get_output_details()
        for step in range(3):
            x = np.float32([step, 10 * (step > 1)])
            interpreter.set_tensor(given["index"], x)
            interpreter.invoke()
            expected = interpreter.get_tensor(made["index"])
            assert loaded.run({"x": x})["y"].tobytes() == expected.tobytes()
        loaded.reset()
        np.testing.assert_array_equal(loaded.states()["sum"], np.float32([0.1, -7e-30]))


def test_a_variable_that_no_run_assigns_is_what_it_was_first(lite: Any) -> None:
    model, feeds = _accumulator(lite, assigns=False), {"x": np.float32([1, 2])}
    results = lite.run(model, feeds)
    np.testing.assert_array_equal(results["y"], [4, 5])
    np.testing.assert_array_equal(results["y"], lite.run_litert(model, feeds)["y"])


def test_a_branch_that_assigns_a_variable_is_refused_if_the_condition_is_computed(
    lite: Any,
) -> None:
    x, handle, flag = lite.Tensor(shape=(2,)), lite.Tensor("resource", ()), lite.Tensor("bool", ())
    var = lite.Op("VAR_HANDLE", [], ["h"], options={"sharedName": "sum", "container": ""})
    assigning = lite.Part(
        [lite.Op("ASSIGN_VARIABLE", ["h", "x"], []), lite.Op("NEG", ["x"])],
        {"h": handle, "x": x, "y": x},
        ["h", "x"],
    )
    other = lite.Part([lite.Op("NEG", ["x"])], {"h": handle, "x": x, "y": x}, ["h", "x"])
    options = {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2}
    model = lite.build(
        [var, lite.Op("IF", ["c", "h", "x"], options=options)],
        {"c": flag, "h": handle, "x": x, "y": x},
        ["c", "x"],
        more=[assigning, other],
    )
    with pytest.raises(UnsupportedOperatorError, match="a branch assigns a variable"):
        parse(model)


def test_a_handle_from_outside_is_refused(lite: Any) -> None:
    tensors = {"h": lite.constant(np.int32(0)), "y": lite.Tensor(shape=(2,))}
    with pytest.raises(UnsupportedOperatorError, match="its variable is chosen by computed data"):
        parse(lite.build(lite.Op("READ_VARIABLE", ["h"]), tensors, []))
