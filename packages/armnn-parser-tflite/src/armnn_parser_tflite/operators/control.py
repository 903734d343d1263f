# SPDX-License-Identifier: MIT
"""Operators that call other subgraphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import RefusedError
from armnn_parser_tflite.shapes import reshape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.graph import Value
    from armnn_parser_tflite.operation import Operation


@operator("IF")
def conditional(operation: Operation) -> Sequence[Value]:
    """Add the layers of the branch that is taken; of both, and Where, if that is computed."""
    options = operation.options("IfOptions")
    branches = (options.integer("ThenSubgraphIndex"), options.integer("ElseSubgraphIndex"))
    condition, *values = operation.values()
    if condition.constant is not None:
        if condition.constant.size != 1:
            raise operation.error(
                f"its condition has {condition.constant.size} elements: expected one"
            )
        return operation.graph.inline(branches[0 if condition.constant.any() else 1], values)
    first, second = (operation.graph.inline(branch, values) for branch in branches)
    if [value.info for value in first] != [value.info for value in second]:
        raise RefusedError("its branches make tensors of different shapes or types")
    truth = reshape(operation, condition, (), "condition")
    return [
        operation.network.add_where(
            truth, taken, other, name=operation.layer_name(), output=operation.info(index)
        )
        for index, (taken, other) in enumerate(zip(first, second, strict=True))
    ]


@operator("STABLEHLO_COMPOSITE")
def composite(operation: Operation) -> Sequence[Value]:
    """Add the layers of the subgraph that says what the operator means."""
    options = operation.options("StableHLOCompositeOptions")
    subgraph = options.integer("DecompositionSubgraphIndex")
    return operation.graph.inline(subgraph, operation.values())
