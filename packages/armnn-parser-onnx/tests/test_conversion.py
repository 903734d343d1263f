# SPDX-License-Identifier: MIT
"""Converted nodes, and the reasons against others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_onnx.parser import parse

Model = Callable[..., onnx.ModelProto]
Run = Callable[..., list[Any]]
X = np.zeros((2, 3), np.float32)
node = helper.make_node


def refused(model: onnx.ModelProto, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(model.SerializeToString())


def test_all_unsupported_operators_are_reported_at_once(model: Model) -> None:
    made = model(
        [
            node("RandomNormalLike", ["x"], ["a"], name="top"),
            node("Relu", ["a"], ["b"], name="reads an unsupported one"),
            node("Multinomial", ["x"], ["c"], name="first"),
            node("Multinomial", ["b"], ["d"], name="hidden behind another"),
            node("Multinomial", ["x"], ["e"]),
            node("LpPool", ["p"], ["r"], name="round", kernel_shape=[2, 2], ceil_mode=1),
            node("Foo", ["x"], ["f"], name="odd"),
        ],
        {"x": X, "p": np.zeros((1, 1, 2, 2), np.float32)},
        ["b", "c", "d", "e", "r", "f"],
    )
    with pytest.raises(UnsupportedOperatorError) as caught:
        parse(made.SerializeToString())
    assert str(caught.value) == (
        "the model uses unsupported operators: "
        "RandomNormalLike (at 'top'): it draws random numbers; "
        "Multinomial (at 'first', 'hidden behind another', 'e'): it draws random numbers; "
        "LpPool (at 'round'): with ceil_mode the windows at the end are smaller than the others; "
        "Foo (at 'odd'): ONNX has no such operator at opset 21"
    )
    assert caught.value.operators == ("RandomNormalLike", "Multinomial", "LpPool", "Foo")


@pytest.mark.parametrize(
    ("op_type", "reason"),
    [
        ("SequenceConstruct", "networks have no sequences"),
        ("Optional", "networks have no optionals"),
        ("StringNormalizer", "networks have no strings"),
        ("RegexFullMatch", "networks have no strings"),
        ("ImageDecoder", "no layer computes it"),
    ],
)
def test_what_networks_lack_is_named(model: Model, op_type: str, reason: str) -> None:
    made = model(node(op_type, ["x"], ["y"], name="n"), {"x": X})
    refused(made, rf"{op_type} \(at 'n'\): {reason}")


def test_an_unknown_domain_is_named(model: Model) -> None:
    made = model(node("Fused", ["x"], ["y"], name="f", domain="com.example"), {"x": X})
    made.opset_import.add(domain="com.example", version=1)
    refused(made, r"Fused \(at 'f'\): the operators of the domain 'com.example' are not supported")


def test_an_unknown_operator_of_onnxruntime_is_named(model: Model) -> None:
    made = model(node("GridSample", ["x"], ["y"], name="f", domain="com.microsoft"), {"x": X})
    made.opset_import.add(domain="com.microsoft", version=1)
    refused(made, r"GridSample \(at 'f'\): of the operators of com.microsoft this one is not")


def test_functions_of_the_model_itself_are_inlined(model: Model, run: Run) -> None:
    made = model(node("Twice", ["x"], ["y"], name="f", domain="own"), {"x": X})
    made.functions.append(
        helper.make_function(
            "own", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], made.opset_import
        )
    )
    made.opset_import.append(helper.make_opsetid("own", 1))
    (result,) = run(made, {"x": X})
    np.testing.assert_array_equal(result, X + X)


def test_a_function_that_calls_itself_is_refused(model: Model) -> None:
    made = model(node("Twice", ["x"], ["y"], name="f", domain="own"), {"x": X})
    inner = node("Twice", ["a"], ["b"], domain="own")
    made.functions.append(
        helper.make_function("own", "Twice", ["a"], ["b"], [inner], made.opset_import)
    )
    with pytest.raises(ParseError, match="the function 'Twice' of the domain 'own' calls itself"):
        parse(made.SerializeToString())


def test_a_withdrawn_operator_is_named(model: Model) -> None:
    made = model(node("Upsample", ["x", "s"], ["y"], name="u"), {"x": X, "s": X}, opset=12)
    refused(made, r"Upsample \(at 'u'\): ONNX has withdrawn it at opset 10")


def test_the_long_spelling_of_the_domain_is_known(model: Model) -> None:
    made = model(node("Relu", ["x"], ["y"], domain="ai.onnx"), {"x": X})
    assert [layer.type for layer in parse(made.SerializeToString()).layers][1] == "Activation"


def test_branches_that_make_sequences_are_refused(model: Model) -> None:
    made_there = helper.make_tensor_sequence_value_info("b", 1, None)
    branch = helper.make_graph([node("SequenceConstruct", ["x"], ["b"])], "g", [], [made_there])
    made = model(
        [
            node("If", ["c"], ["y"], name="choice", then_branch=branch, else_branch=branch),
            node("SequenceConstruct", ["x"], ["s"], name="list"),
        ],
        {"x": X, "c": np.array(True)},
        ["y", "s"],
    )
    refused(made, r"If \(at 'choice'\): .* are not tensors, .*; SequenceConstruct \(at 'list'\)")


def test_nodes_that_no_output_needs_are_left_out(model: Model) -> None:
    made = model([node("Erf", ["x"], ["z"]), node("Relu", ["x"], ["y"])], {"x": X})
    assert [layer.name for layer in parse(made.SerializeToString()).layers] == ["x", "y", "y"]


def test_an_output_that_cannot_be_computed_is_refused_only_if_it_is_used(model: Model) -> None:
    batch = ["x", "n", "n", "n", "n"]
    pool = node("BatchNormalization", batch, ["y", "i"], name="norm")
    image, numbers = np.zeros((1, 1, 4, 4), np.float32), np.ones(1, np.float32)
    inputs = {"x": image, "n": numbers}
    parse(model(pool, inputs, opset=8).SerializeToString())
    made = model(pool, inputs, ["y", "i"], opset=8)
    refused(made, r"BatchNormalization \(at 'norm'\): its output number 1 \('i'\) is used")


def test_a_name_that_nothing_makes_is_refused(model: Model) -> None:
    made = model(node("Relu", ["nothing"], ["y"], name="r"), {"x": X})
    refused(made, r"node 'r' \(Relu\): it reads 'nothing', which no input, initializer or node")


def test_a_cycle_is_refused(model: Model) -> None:
    made = model(
        [node("Add", ["x", "b"], ["a"], name="one"), node("Relu", ["a"], ["b"])],
        {"x": X},
        ["a"],
    )
    refused(made, r"node 'one' \(Add\): it reads 'b', which no input, initializer or node before")


def test_nodes_may_stand_before_those_that_they_read(model: Model, run: Run) -> None:
    """ONNX forbids it; onnxruntime and its float16 converter do not."""
    x, y = np.array([-2, 3], np.float32), helper.make_tensor_value_info("z", 1, None)
    branch = helper.make_graph(
        [node("Neg", ["b"], ["z"]), node("Add", ["a", "a"], ["b"])], "branch", [], [y]
    )
    nodes = [
        node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
        node("Relu", ["x"], ["a"]),
    ]
    made = model(nodes, {"x": x, "c": np.array(True)})
    (result,) = run(made, {"x": x, "c": np.array(True)})
    np.testing.assert_array_equal(result, [0, -6])


def test_two_nodes_that_make_one_value_are_refused(model: Model) -> None:
    made = model(
        [node("Relu", ["x"], ["y"], name="r"), node("Elu", ["x"], ["y"], name="e")], {"x": X}
    )
    refused(made, r"node 'e' \(Elu\): the value 'y' is already made by node 'r' \(Relu\)")


def test_a_node_that_overwrites_an_input_is_refused(model: Model) -> None:
    made = model(node("Relu", ["x"], ["x"], name="r"), {"x": X}, ["x"])
    refused(made, "two inputs, initializers or nodes make a value named 'x'")


def test_types_that_the_schema_does_not_allow_are_refused(model: Model) -> None:
    made = model(node("Conv", ["x", "w"], ["y"], name="c"), {"x": X, "w": np.zeros((1,), np.int64)})
    refused(made, r"node 'c' \(Conv\): the input 'W' is tensor\(int64\): expected tensor\(float\)")
    made = model(node("Not", ["x"], ["y"], name="c"), {"x": X})
    refused(made, r"the input 'X' is tensor\(float\): expected tensor\(bool\)")


def test_inputs_of_two_types_are_refused(model: Model) -> None:
    made = model(
        node("Concat", ["x", "w"], ["y"], name="c", axis=0), {"x": X, "w": X.astype(np.int64)}
    )
    refused(made, r"the input 'inputs' is tensor\(int64\): expected tensor\(float\)")


def test_an_error_of_a_layer_names_the_node(model: Model) -> None:
    made = model(
        node("Add", ["x", "w"], ["y"], name="sum"), {"x": X, "w": np.zeros((4,), np.float32)}
    )
    refused(made, r"node 'sum' \(Add\): .*the shapes \[2,3\] and \[4\] do not broadcast")


def test_a_missing_required_input_is_refused(model: Model) -> None:
    made = model(node("Add", ["x", ""], ["y"], name="sum"), {"x": X})
    refused(made, r"node 'sum' \(Add\): the input 'B' is missing")
    made = model(node("Concat", ["x", ""], ["y"], name="c", axis=0), {"x": X})
    refused(made, r"node 'c' \(Concat\): an input is missing")


def test_arithmetic_on_stored_numbers_is_refused(model: Model) -> None:
    made = model(
        [
            node("QuantizeLinear", ["x", "s"], ["q"]),
            node("Transpose", ["q"], ["t"]),
            node("Add", ["t", "t"], ["y"], name="sum"),
        ],
        {"x": X},
        constants={"s": np.array(0.5, np.float32)},
        output_types={"y": TensorProto.UINT8},
    )
    refused(made, r"Add \(at 'sum'\): it computes with the stored numbers of the quantized .* 't'")
