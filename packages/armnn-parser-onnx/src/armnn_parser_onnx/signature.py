# SPDX-License-Identifier: MIT
"""Checks of a node's input types against the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from armnn_parser_onnx.tensors import onnx_type_name

if TYPE_CHECKING:
    from armnn_parser_onnx.operation import Operation

_VARIADIC = onnx.defs.OpSchema.FormalParameterOption.Variadic


def check_types(operation: Operation) -> None:
    """Check the input types, so that converters need not.

    Raises:
        ParseError: A type is not allowed, or inputs that must have one type have two.
    """
    schema = operation.schema
    allowed = {row.type_param_str: row.allowed_type_strs for row in schema.type_constraints}
    bound: dict[str, str] = {}
    for index, name in enumerate(operation.inputs):
        if not name:
            continue
        parameter = schema.inputs[min(index, len(schema.inputs) - 1)]
        got = onnx_type_name(operation.graph.value(name).info.data_type)
        expected = allowed.get(parameter.type_str, [parameter.type_str])
        same_for_all = parameter.option is not _VARIADIC or parameter.is_homogeneous
        if same_for_all and bound.setdefault(parameter.type_str, got) != got:
            expected = [bound[parameter.type_str]]
        if got not in expected:
            raise operation.error(
                f"the input {parameter.name!r} is {got}: expected "
                f"{expected[0] if len(expected) == 1 else 'one of ' + ', '.join(sorted(expected))}"
            )
