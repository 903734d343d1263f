# SPDX-License-Identifier: MIT
"""Nodes are checked against their schemas."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import AttributeProto, NodeProto, helper

from armnn.errors import ParseError
from armnn_parser_onnx import messages
from armnn_parser_onnx.operation import CheckedNode
from armnn_parser_onnx.protobuf import Span
from armnn_parser_onnx.schemas import standard_schema


def node(op_type: str, inputs: list[str], outputs: list[str], **attributes: Any) -> CheckedNode:
    return checked(helper.make_node(op_type, inputs, outputs, name="n", **attributes))


def checked(proto: NodeProto, opset: int = 15) -> CheckedNode:
    schema = standard_schema(proto.op_type, opset)
    assert schema is not None
    data = proto.SerializeToString()
    return CheckedNode(messages.Node.at(Span(data, 0, len(data)), "m"), schema)


def test_attributes_are_given_by_type() -> None:
    conv = node("Conv", ["x", "w"], ["y"], group=2, strides=[1, 2], auto_pad="VALID")
    assert conv.integer("group") == 2
    assert conv.integers("strides") == (1, 2)
    assert conv.text("auto_pad", ("VALID",)) == "VALID"
    assert conv.has("group")
    assert node("Upsample", ["x", "s"], ["y"]).op_type == "Upsample"


def test_absent_attributes_have_the_default_of_the_schema() -> None:
    conv = node("Conv", ["x", "w"], ["y"])
    assert conv.integer("group") == 1
    assert conv.text("auto_pad", ("NOTSET",)) == "NOTSET"
    assert conv.integers("strides") is None
    assert not conv.has("group")
    assert node("LRN", ["x"], ["y"], size=3).real("alpha") == pytest.approx(1e-4)
    assert node("Softmax", ["x"], ["y"]).integer("axis", 1) == -1
    assert node("Relu", ["x"], ["y"]).integer("no_such", 5) == 5


def test_flags_are_zero_or_one() -> None:
    assert node("Gemm", ["a", "b"], ["y"], transA=1).flag("transA")
    assert not node("Gemm", ["a", "b"], ["y"]).flag("transA")
    assert node("Relu", ["x"], ["y"]).flag("no_such", True)
    with pytest.raises(ParseError, match=r"node 'n' \(Gemm\): the attribute 'transA' is 2: exp"):
        node("Gemm", ["a", "b"], ["y"], transA=2).flag("transA")


def test_texts_are_among_the_allowed_ones() -> None:
    pad = node("Pad", ["x", "p"], ["y"], mode="round")
    with pytest.raises(ParseError, match="'mode' is 'round': expected one of constant, edge"):
        pad.text("mode", ("edge", "constant"))
    odd = node("Pad", ["x", "p"], ["y"], mode=b"\xff")
    with pytest.raises(ParseError, match="the attribute 'mode' is '\ufffd': expected"):
        odd.text("mode", ("edge",))


def test_a_node_without_a_name_is_named_by_its_output() -> None:
    unnamed = checked(helper.make_node("Relu", ["x"], ["y"]))
    assert str(unnamed) == "node of the output 'y' (Relu)"


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (["x"], ["y"], "got 1 inputs, expected 2 to 3"),
        (["x", "w", "b", "c"], ["y"], "got 4 inputs, expected 2 to 3"),
        (["x", "w"], ["y", "z"], "got 2 outputs, expected 1"),
        (["x", "w"], [], "got 0 outputs, expected 1"),
    ],
)
def test_wrong_counts_are_refused(inputs: list[str], outputs: list[str], message: str) -> None:
    with pytest.raises(ParseError, match=rf"\(Conv\): {message}"):
        node("Conv", inputs, outputs)


def test_unknown_attributes_are_refused() -> None:
    with pytest.raises(ParseError, match="the operator has no attribute 'color'"):
        node("Relu", ["x"], ["y"], color=1)


def test_missing_attributes_are_refused() -> None:
    with pytest.raises(ParseError, match=r"node 'n' \(Concat\): the attribute 'axis' is missing"):
        node("Concat", ["x"], ["y"])


@pytest.mark.parametrize(
    ("value", "kind"), [(1.5, "FLOAT"), ([1], "INTS"), ("1", "STRING"), ([1.5], "FLOATS")]
)
def test_attributes_of_a_wrong_type_are_refused(value: Any, kind: str) -> None:
    with pytest.raises(ParseError, match=f"'axis' is of type {kind}: expected INT"):
        node("Concat", ["x"], ["y"], axis=value)


def test_an_attribute_without_type_or_of_a_future_one_is_refused() -> None:
    proto = helper.make_node("Concat", ["x"], ["y"], axis=1)
    proto.attribute[0].type = AttributeProto.UNDEFINED
    with pytest.raises(ParseError, match="'axis' is of type UNDEFINED: expected INT"):
        checked(proto)


def test_doubled_and_referring_attributes_are_refused() -> None:
    proto = helper.make_node("Concat", ["x"], ["y"], axis=1)
    proto.attribute.append(proto.attribute[0])
    with pytest.raises(ParseError, match="'axis' is there twice or refers to another one"):
        checked(proto)
    del proto.attribute[1]
    proto.attribute[0].ref_attr_name = "outer"
    with pytest.raises(ParseError, match="'axis' is there twice or refers to another one"):
        checked(proto)
