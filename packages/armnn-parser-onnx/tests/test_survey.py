# SPDX-License-Identifier: MIT
"""The survey of a file's operators, convertible or not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.helper import make_node as node

from armnn.errors import ParseError
from armnn.graph import Operator, Survey
from armnn_parser_onnx.parser import parse

Model = Callable[..., onnx.ModelProto]
X = np.zeros((2, 3), np.float32)


def test_every_operator_is_noted_and_the_rest_is_converted(model: Model) -> None:
    made = model(
        [
            node("Relu", ["x"], ["a"], name="first"),
            node("Odd", ["a"], ["b"], domain="acme"),
            node("Neg", ["b"], ["c"]),
            node("Abs", ["a"], ["y"]),
            node("Exp", ["x"], ["unused"]),
        ],
        {"x": X},
        ["y", "c"],
    )
    survey = Survey()
    network = parse(made.SerializeToString(), survey=survey)
    odd = Operator("Odd", "b")
    assert list(survey.operators) == [
        Operator("Relu", "first"), odd, Operator("Neg", "c"), Operator("Abs", "y"),
    ]  # fmt: skip
    advice = "armnn.register_operator('acme', 'Odd', ...) gives it a function"
    wanted = f"the operators of the domain 'acme' are not supported; {advice}"
    assert survey.refused == {odd: wanted}
    assert list(survey.cut_off) == [Operator("Neg", "c")]
    assert [layer.name for layer in network.outputs] == ["y"]
    origins = {layer.name: layer.origin for layer in network.layers if layer.origin is not None}
    assert origins == {"first": Operator("Relu", "first"), "y": Operator("Abs", "y")}


def branches(operator: onnx.NodeProto) -> onnx.NodeProto:
    output = helper.make_tensor_value_info("out", 1, None)
    then = helper.make_graph([node("Neg", ["x"], ["out"], name="n")], "t", [], [output])
    other = helper.make_graph([operator], "e", [], [output])
    return node("If", ["c"], ["y"], name="choice", then_branch=then, else_branch=other)


@pytest.mark.parametrize("condition", ["input", "constant"])
def test_operators_in_branches_are_noted_too(model: Model, condition: str) -> None:
    odd = node("Odd", ["x"], ["out"], domain="acme")
    given = {"c": np.array(True)}
    made = model(
        branches(odd),
        {"x": X} | (given if condition == "input" else {}),
        constants={} if condition == "input" else given,
    )
    survey = Survey()
    parse(made.SerializeToString(), survey=survey)
    assert [(each.type, each.name) for each in survey.operators] == [
        ("If", "choice"),
        ("Odd", "choice/else_branch/out"),
        ("Neg", "choice/then_branch/n"),
    ]
    assert [each.type for each in survey.refused] == ["Odd"]


def test_a_taken_branch_that_cannot_be_converted_refuses_the_if(model: Model) -> None:
    made = model(
        branches(node("Odd", ["x"], ["out"], domain="acme")),
        {"x": X},
        constants={"c": np.array(False)},
    )
    survey = Survey()
    parse(made.SerializeToString(), survey=survey)
    assert [each.type for each in survey.refused] == ["If", "Odd"]
    assert "Odd (at 'out')" in survey.refused[Operator("If", "choice")]


def test_malformed_nodes_are_refused_all_the_same(model: Model) -> None:
    made = model(node("Relu", ["nobody"], ["y"]), {"x": X})
    with pytest.raises(ParseError, match="it reads 'nobody'"):
        parse(made.SerializeToString(), survey=Survey())
