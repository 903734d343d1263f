# SPDX-License-Identifier: MIT
"""Operators that call subgraphs, and the variables shared."""

from __future__ import annotations

from collections.abc import Sequence

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, reshape
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.tensors import info_of

_MOST_TRIPS = 1024


@operator("IF", handles=True)
def conditional(operation: Operation) -> Sequence[Value]:
    """Add the layers of the branch taken.

    If the condition is computed, both branches and Where are added.
    """
    options = operation.options("IfOptions")
    branches = (options.integer("ThenSubgraphIndex"), options.integer("ElseSubgraphIndex"))
    condition, *values = operation.values()
    known = _truth(operation, condition, "its condition")
    if known is not None:
        return operation.graph.inline(branches[0 if known else 1], values)
    assignments = operation.graph.variables.assignments
    first, second = (operation.graph.inline(branch, values) for branch in branches)
    if operation.graph.variables.assignments != assignments:
        raise RefusedError("its condition is computed, and a branch assigns a variable")
    if [value.info for value in first] != [value.info for value in second]:
        raise RefusedError("its branches make tensors of different shapes or types")
    truth = reshape(operation, condition, (), "condition")
    return [
        operation.network.add_where(
            truth, taken, other, name=operation.layer_name(), output=operation.info(index)
        )
        for index, (taken, other) in enumerate(zip(first, second, strict=True))
    ]


@operator("WHILE", handles=True)
def loop(operation: Operation) -> Sequence[Value]:
    """Add the body's layers for each iteration.

    The number of iterations has to follow from known integers.
    """
    options = operation.options("WhileOptions")
    condition, body = options.integer("CondSubgraphIndex"), options.integer("BodySubgraphIndex")
    values = operation.values()
    for _ in range(_MOST_TRIPS + 1):
        made = operation.graph.inline(condition, values)
        if len(made) != 1:
            raise operation.error(f"its condition has {len(made)} outputs: expected one")
        known = _truth(operation, made[0], "the output of its condition")
        if known is None:
            raise RefusedError("how often it runs is computed")
        if not known:
            return values
        values = operation.graph.inline(body, values)
    raise RefusedError(f"it runs more than {_MOST_TRIPS} times")


def _truth(operation: Operation, value: Value, what: str) -> bool | None:
    """Return the value of a condition, None if it is computed."""
    if value.constant is None:
        return None
    if value.constant.size != 1:
        raise operation.error(f"{what} has {value.constant.size} elements: expected one")
    return bool(value.constant.any())


@operator("CALL", handles=True)
def call(operation: Operation) -> Sequence[Value]:
    """Add the layers of the subgraph."""
    subgraph = operation.options("CallOptions").integer("Subgraph")
    return operation.graph.inline(subgraph, operation.values())


@operator("STABLEHLO_COMPOSITE")
def composite(operation: Operation) -> Sequence[Value]:
    """Add the layers of the subgraph that defines the operator."""
    options = operation.options("StableHLOCompositeOptions")
    subgraph = options.integer("DecompositionSubgraphIndex")
    return operation.graph.inline(subgraph, operation.values())


@operator("CALL_ONCE")
def call_once(operation: Operation) -> Sequence[Value]:
    """Take the variables' first values from the subgraph."""
    subgraph = operation.options("CallOnceOptions").integer("InitSubgraphIndex")
    variables = operation.graph.variables
    variables.initializing = True
    try:
        operation.graph.inline(subgraph, [])
    finally:
        variables.initializing = False
    return []


@operator("VAR_HANDLE", handles=True)
def var_handle(operation: Operation) -> Value:
    """Return the number of a variable."""
    options = operation.options("VarHandleOptions")
    return operation.graph.variables.handle(options.text("SharedName"))


@operator("READ_VARIABLE", handles=True)
def read_variable(operation: Operation) -> Value:
    """Return a variable's value.

    It is an input of the network if it comes from the last run.
    """
    info = operation.info()
    shape = info_of(operation.graph.tensor(operation.record.outputs[0])).shape
    return operation.graph.variables.read(operation.input(), info.with_shape(shape))


@operator("ASSIGN_VARIABLE", handles=True)
def assign_variable(operation: Operation) -> Sequence[Value]:
    """Give a variable another value."""
    operation.graph.variables.assign(operation.input(0), operation.input(1))
    return []
