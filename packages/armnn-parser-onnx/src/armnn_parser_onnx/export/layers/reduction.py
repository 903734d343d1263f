# SPDX-License-Identifier: MIT
"""Axes summed up into one element, or into as many."""

from __future__ import annotations

from armnn.types import ReduceOperation
from armnn_parser_onnx.export.operation import Operation, exports

_REDUCTIONS = {
    ReduceOperation.SUM: "ReduceSum",
    ReduceOperation.MAX: "ReduceMax",
    ReduceOperation.MEAN: "ReduceMean",
    ReduceOperation.MIN: "ReduceMin",
    ReduceOperation.PROD: "ReduceProd",
}


@exports("Reduce")
def reduce(op: Operation) -> str:
    """Write the operator of the operation."""
    return _reduced(op, _REDUCTIONS[op.d.reduce_operation])


@exports("Mean")
def mean(op: Operation) -> str:
    """ReduceMean."""
    return _reduced(op, "ReduceMean")


@exports("ArgMinMax")
def arg_min_max(op: Operation) -> str:
    """ArgMin or ArgMax; ONNX's indices have 64 bits."""
    last = int(op.d.select_last_index)
    kind = f"Arg{op.d.function.arm_name}"
    places = op.emit(kind, op.x, axis=op.d.axis, keepdims=0, select_last_index=last)
    return op.cast(places, op.layer.outputs[0].info.data_type)


@exports("CumSum")
def cum_sum(op: Operation) -> str:
    """CumSum."""
    return op.emit(
        "CumSum",
        op.x,
        op.integers(op.d.axis),
        exclusive=int(op.d.exclusive),
        reverse=int(op.d.reverse),
    )


def _reduced(op: Operation, op_type: str) -> str:
    if 0 in op.shape("input"):
        op.refuse("it reduces nothing, which has no mean")
    rank = len(op.shape("input"))
    axes = sorted(axis % rank for axis in op.d.axis) if op.d.axis else list(range(rank))
    keep = int(op.d.keep_dims)
    return op.emit(op_type, op.x, op.integers(axes), keepdims=keep, noop_with_empty_axes=1)
