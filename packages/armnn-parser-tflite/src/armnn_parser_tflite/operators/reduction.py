# SPDX-License-Identifier: MIT
"""Reductions along axes, ARG_MAX, ARG_MIN and CUMSUM."""

from __future__ import annotations

from armnn.graph import Value
from armnn.types import ArgMinMaxFunction, ReduceOperation
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation


def _reduce(name: str, function: ReduceOperation, newest: int) -> None:
    """Register an operator that reduces its second input's axes."""

    @operator(name, newest)
    def convert(operation: Operation) -> Value:
        axes = operation.integers(1)
        if axes.constant is not None and axes.constant.size == 0:
            return operation.input()  # no axis means none here, but all in the layer
        return operation.network.add_reduce(
            operation.input(),
            axes,
            keep_dims=operation.options("ReducerOptions").flag("KeepDims"),
            reduce_operation=function,
            name=operation.layer_name(),
            output=operation.info(),
        )


_reduce("SUM", ReduceOperation.SUM, 2)
_reduce("REDUCE_PROD", ReduceOperation.PROD, 2)
_reduce("REDUCE_MAX", ReduceOperation.MAX, 3)
_reduce("REDUCE_MIN", ReduceOperation.MIN, 3)
# The maximum of truth values is whether any holds, the minimum whether all do.
_reduce("REDUCE_ANY", ReduceOperation.MAX, 2)
_reduce("REDUCE_ALL", ReduceOperation.MIN, 1)


@operator("MEAN", newest=3)
def mean(operation: Operation) -> Value:
    """Add Mean."""
    axes = operation.integers(1)
    if axes.constant is not None and axes.constant.size == 0:
        return operation.input()  # no axis means none here, but all in the layer
    return operation.network.add_mean(
        operation.input(),
        axes,
        keep_dims=operation.options("ReducerOptions").flag("KeepDims"),
        name=operation.layer_name(),
        output=operation.info(),
    )


@operator("ARG_MAX", newest=3)
def arg_max(operation: Operation) -> Value:
    """Add ArgMinMax."""
    return _arg_min_max(operation, ArgMinMaxFunction.MAX)


@operator("ARG_MIN", newest=3)
def arg_min(operation: Operation) -> Value:
    """Add ArgMinMax."""
    return _arg_min_max(operation, ArgMinMaxFunction.MIN)


def _arg_min_max(operation: Operation, function: ArgMinMaxFunction) -> Value:
    axis = operation.axis(operation.known_integer(1), len(operation.shape()))
    return operation.network.add_arg_min_max(
        operation.input(),
        function=function,
        axis=axis,
        name=operation.layer_name(),
        output=operation.info(),
    )


@operator("CUMSUM")
def cumulative_sum(operation: Operation) -> Value:
    """Add CumSum."""
    options = operation.options("CumsumOptions")
    return operation.network.add_cum_sum(
        operation.input(),
        operation.integers(1),
        exclusive=options.flag("Exclusive"),
        reverse=options.flag("Reverse"),
        name=operation.layer_name(),
        output=operation.info(),
    )
