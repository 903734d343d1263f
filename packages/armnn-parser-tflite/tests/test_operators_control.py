# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
    with pytest.raises(UnsupportedOperatorError, match=r"IF .*of its subgraph 2: .*SVDF"):
        parse(_model(lite, ("NEG", "SVDF")))


def test_branches_that_make_other_tensors_are_refused(lite: Any) -> None:
    with pytest.raises(UnsupportedOperatorError, match="tensors of different shapes or types"):
        parse(_model(lite, ("NEG", "SQUEEZE")))


def test_a_branch_that_is_not_there_is_refused(lite: Any) -> None:
    with pytest.raises(ParseError, match=r"IF \(operator 0\): .*there is no number 7"):
        parse(_model(lite, calls=(7, 1)))


def test_a_branch_with_other_inputs_is_refused(lite: Any) -> None:
    with pytest.raises(ParseError, match="the subgraph 0 has 2 inputs: got 1"):
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
