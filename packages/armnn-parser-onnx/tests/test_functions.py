# SPDX-License-Identifier: MIT
"""Operators defined by others mean what they mean to ONNX's parser and onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_onnx._registry import operator_names
from armnn_parser_onnx.definitions import DEFINITIONS, _read_nodes, definition_of
from armnn_parser_onnx.messages import Node, make_attribute
from armnn_parser_onnx.parser import parse
from armnn_parser_onnx.schemas import _MICROSOFT, MICROSOFT, microsoft_schema, standard_schema
from tools.fuzz.onnx_reader import difference


def written(definition: object, node: Node) -> str:
    return definition if isinstance(definition, str) else definition(node)  # type: ignore[operator]  # a function of the node


@pytest.mark.parametrize(("domain", "name"), DEFINITIONS)
def test_nodes_are_read_as_onnx_reads_them(domain: str, name: str) -> None:
    schema = microsoft_schema(name) if domain else standard_schema(name, 21)
    assert schema is not None
    attributes = [
        make_attribute(key, rule.default, rule.type)
        for key, rule in schema.attributes.items()
        if rule.default is not None
    ]
    count = min(schema.counts[1], 14)
    node = Node(
        op_type=name,
        domain=domain,
        input=[f"in{index}" for index in range(count)],
        output=["out"],
        attribute=attributes,
    )
    function = definition_of(node, schema)
    text = (
        f'<opset_import: ["" : 21], domain: "d"> f ({", ".join(function.input)}) => '
        f"({', '.join(function.output)}) {{ {written(DEFINITIONS[domain, name], node)} }}"
    )
    wanted = onnx.parser.parse_function(text)
    assert len(function.node) == len(wanted.node)
    for ours, theirs in zip(function.node, wanted.node, strict=True):
        for attribute in theirs.attribute:
            if attribute.ref_attr_name:
                attribute.ClearField("type")  # the attribute of the call has it
        assert difference(ours, theirs) == ""


def test_all_operators_of_onnxruntime_are_converted_or_defined() -> None:
    defined = {name for domain, name in DEFINITIONS if domain == MICROSOFT}
    assert defined == _MICROSOFT.keys() - set(operator_names(MICROSOFT))


def test_other_forms_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no node at 'y is Relu \(x\)'"):
        _read_nodes("y is Relu (x)")
    assert _read_nodes("") == []


Array = NDArray[Any]
Run = Callable[[onnx.ModelProto, Mapping[str, Array]], list[Array]]
X = np.array([-2, -1, 0, 3], np.float32)


def function(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[str] = ("a",),
    opset: int = 21,
    **attributes: Any,
) -> onnx.FunctionProto:
    return helper.make_function(
        "own",
        name,
        list(inputs),
        ["b"],
        list(nodes),
        [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)],
        attributes.get("names", []),
        attributes.get("defaults", []),
    )


def model(
    nodes: Sequence[onnx.NodeProto], functions: Sequence[onnx.FunctionProto]
) -> onnx.ModelProto:
    declared = helper.make_tensor_value_info
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [declared("x", TensorProto.FLOAT, [4])],
        [declared("y", TensorProto.FLOAT, [4])],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=10)


def call(name: str, inputs: Sequence[str] = ("x",), output: str = "y", **attributes: Any) -> Any:
    return helper.make_node(name, list(inputs), [output], domain="own", **attributes)


def referring(op_type: str, attribute: str, outer: str, kind: int) -> onnx.NodeProto:
    node = helper.make_node(op_type, ["a"], ["b"])
    node.attribute.add(name=attribute, ref_attr_name=outer, type=kind)
    return node


SLOPE = referring("LeakyRelu", "alpha", "slope", onnx.AttributeProto.FLOAT)
LEAKY = function("Leaky", [SLOPE], names=["slope"])
WITH_DEFAULT = function("Leaky", [SLOPE], defaults=[helper.make_attribute("slope", 0.5)])
TWICE = function(
    "Twice",
    [call("Leaky", ["a"], "once", slope=0.25), helper.make_node("Add", ["once", "a"], ["b"])],
)


@pytest.mark.parametrize(
    ("nodes", "functions"),
    [
        ([call("Leaky", slope=0.5)], [LEAKY]),
        ([call("Leaky")], [LEAKY]),
        ([call("Leaky")], [WITH_DEFAULT]),
        ([call("Leaky", slope=0.125)], [WITH_DEFAULT]),
        ([call("Twice")], [TWICE, LEAKY]),
        ([call("Twice", output="t"), call("Twice", ["t"])], [TWICE, LEAKY]),
    ],
    ids=["attribute", "absent", "default", "given", "nested", "called twice"],
)
def test_calls_compute_what_onnx_says(
    run: Run, nodes: list[onnx.NodeProto], functions: list[onnx.FunctionProto]
) -> None:
    made = model(nodes, functions)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    (wanted,) = session.run(None, {"x": X})
    np.testing.assert_allclose(run(made, {"x": X})[0], wanted, rtol=1e-6)


@pytest.mark.parametrize("choice", [True, False])
def test_calls_in_branches_and_branches_in_functions_are_inlined(run: Run, choice: bool) -> None:
    declared = helper.make_tensor_value_info("out", TensorProto.FLOAT, [4])
    branches = {
        "then_branch": helper.make_graph([call("Leaky", ["a"], "out")], "then", [], [declared]),
        "else_branch": helper.make_graph(
            [helper.make_node("Neg", ["a"], ["out"])], "else", [], [declared]
        ),
    }
    chooses = function(
        "Chooses", [helper.make_node("If", ["choice"], ["b"], **branches)], ["choice", "a"]
    )
    made = model([call("Chooses", ["c", "x"])], [chooses, WITH_DEFAULT])
    made.graph.input.add().CopyFrom(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    (got,) = run(made, {"x": X, "c": np.array(choice)})
    np.testing.assert_allclose(got, np.where(X < 0, 0.5 * X, X) if choice else -X)


def test_an_optional_input_that_a_call_leaves_out_is_absent(run: Run) -> None:
    clips = function("Clips", [helper.make_node("Clip", ["a", "low"], ["b"])], ["a", "low"])
    (got,) = run(model([call("Clips")], [clips]), {"x": X})
    np.testing.assert_array_equal(got, X)


def test_a_function_of_other_versions_of_the_operators_is_refused() -> None:
    made = model([call("Leaky")], [function("Leaky", [SLOPE], opset=13, names=["slope"])])
    with pytest.raises(UnsupportedOperatorError, match="the operators of the domain 'own' are not"):
        parse(made.SerializeToString())


def test_a_function_that_calls_itself_is_refused() -> None:
    again = function("Leaky", [call("Leaky", ["a"], "b")])
    with pytest.raises(ParseError, match="'Leaky' of the domain 'own' calls itself"):
        parse(model([call("Leaky")], [again]).SerializeToString())


def test_functions_that_become_too_many_nodes_are_refused() -> None:
    levels = [function("F0", [helper.make_node("Neg", ["a"], ["b"])])]
    for level in range(1, 20):
        inner = [call(f"F{level - 1}", ["a"], "once"), call(f"F{level - 1}", ["once"], "b")]
        levels.append(function(f"F{level}", inner))
    with pytest.raises(ParseError, match=r"become 524288 nodes: expected at most 262144"):
        parse(model([call("F19")], levels).SerializeToString())
