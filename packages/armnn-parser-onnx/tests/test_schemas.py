# SPDX-License-Identifier: MIT
"""The table of schemas agrees with the package ``onnx``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import pytest
from onnx import defs, helper

from armnn_parser_onnx._registry import NEWEST_OPSET, OLDEST_OPSET
from armnn_parser_onnx.control_flow import SEQUENCE_OPERATORS
from armnn_parser_onnx.functions import CONTEXT_OPERATORS, has_body
from armnn_parser_onnx.messages import KIND_NAMES
from armnn_parser_onnx.operators import find_converter
from armnn_parser_onnx.schemas import PREVIEW, standard_functions, standard_schema
from tools.fuzz.onnx_reader import difference

if TYPE_CHECKING:
    from armnn_parser_onnx.schemas import Schema

NAMES = sorted({schema.name for schema in defs.get_all_schemas_with_history() if not schema.domain})


def check_schema(ours: Schema, theirs: defs.OpSchema) -> None:
    assert (ours.name, ours.domain, ours.since) == (
        theirs.name, theirs.domain, theirs.since_version
    )  # fmt: skip
    assert ours.counts == (
        theirs.min_input, theirs.max_input, theirs.min_output, theirs.max_output
    )  # fmt: skip
    assert ours.deprecated == theirs.deprecated
    for mine, others in ((ours.inputs, theirs.inputs), (ours.outputs, theirs.outputs)):
        variadic = defs.OpSchema.FormalParameterOption.Variadic
        assert [(each.name, each.type, each.variadic, each.homogeneous) for each in mine] == [
            (each.name, each.type_str, each.option == variadic, each.is_homogeneous)
            for each in others
        ]
    assert ours.types == {
        each.type_param_str: tuple(each.allowed_type_strs) for each in theirs.type_constraints
    }
    assert {
        name: (rule.type, rule.required, rule.default) for name, rule in ours.attributes.items()
    } == {
        name: (
            int(each.type.value),
            each.required,
            helper.get_attribute_value(each.default_value) if each.default_value.type else None,
        )
        for name, each in theirs.attributes.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_operator_has_the_schema_of_onnx_at_each_opset(name: str) -> None:
    for opset in range(OLDEST_OPSET, NEWEST_OPSET + 1):
        ours = standard_schema(name, opset)
        if defs.has(name, max_inclusive_version=opset, domain=""):
            assert ours is not None
            check_schema(ours, defs.get_schema(name, opset, ""))
        else:
            assert ours is None


def test_operators_of_the_preview_are_there_at_any_opset() -> None:
    ours = standard_schema("FlexAttention", OLDEST_OPSET, PREVIEW)
    assert ours is not None
    check_schema(ours, defs.get_schema("FlexAttention", PREVIEW))
    assert standard_schema("FlexAttention", NEWEST_OPSET) is None


def test_no_part_of_a_name_is_a_name() -> None:
    for name in ("Con", "onv", "", "Conv\t1", "=1", "#"):
        assert standard_schema(name, NEWEST_OPSET) is None


def test_functions_are_those_of_onnx() -> None:
    compared = 0
    for name in NAMES:
        theirs = defs.get_schema(name, NEWEST_OPSET, "")
        if not theirs.has_function or theirs.deprecated:
            continue
        ours = dict(standard_functions(name))
        for version in theirs.function_opset_versions:
            function = ours[version]
            data = theirs.get_function_with_opset_version(version)
            wanted = onnx.FunctionProto.FromString(data)
            wanted.ClearField("doc_string")
            for node in wanted.node:
                node.ClearField("doc_string")
            assert difference(function, wanted) == ""
            compared += 1
    assert compared > 15


def test_the_operators_that_need_onnx_are_listed() -> None:
    needing = {
        name
        for name in NAMES
        for opset in range(OLDEST_OPSET, NEWEST_OPSET + 1)
        if (schema := standard_schema(name, opset)) is not None
        and schema.body == "context"
        and find_converter(name, opset) is None
        and name not in SEQUENCE_OPERATORS
    }
    assert {*CONTEXT_OPERATORS} == needing | {"FlexAttention"}


def test_kinds_of_attributes_have_their_names() -> None:
    kinds = {number: name for name, number in onnx.AttributeProto.AttributeType.items()}
    assert kinds == KIND_NAMES


def test_a_body_is_a_function_or_a_definition() -> None:
    schema = standard_schema("QLinearConv", 21)
    assert schema is not None
    assert has_body(schema)
    schema = standard_schema("Conv", 21)
    assert schema is not None
    assert not has_body(schema)
