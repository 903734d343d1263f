# SPDX-License-Identifier: MIT
"""Axes reduced to one element, running sums and products, and places of extremes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from armnn.layers.reduction import (
    ArgMinMaxDescriptor,
    CumProdDescriptor,
    CumSumDescriptor,
    MeanDescriptor,
    ReduceDescriptor,
)
from armnn.types import ArgMinMaxFunction, DataType, ReduceOperation
from armnn_backend_cl.device import GROUP
from armnn_backend_cl.elements import ANY, NUMBERS, REALS, Elements, accessors, elements_of
from armnn_backend_cl.launches import In, Launch, Out
from armnn_backend_cl.layers.table import lowers, program, require, require_alike, shape_of
from armnn_backend_cl.views import View, outer_and_inner, walked

if TYPE_CHECKING:
    from armnn.graph import Layer

_LONG: Final = 16 * GROUP
"""Elements of a row from which on a group of work items reduces it ..."""

_MANY: Final = GROUP * GROUP
"""... unless there are so many rows that a device is busy with an item for each."""

_SUM, _PRODUCT = "x + y", "x * y"
_COMBINATIONS: Final = {
    ReduceOperation.SUM: _SUM,
    ReduceOperation.MEAN: _SUM,
    ReduceOperation.PROD: _PRODUCT,
    ReduceOperation.MAX: "x > y || isnan(x) ? x : y",
    ReduceOperation.MIN: "x < y || isnan(x) ? x : y",
}


@lowers("Reduce")
def reduce(layer: Layer) -> Sequence[Launch]:
    """Reduce some axes, all if none is named."""
    d = cast("ReduceDescriptor", layer.descriptor)
    return _reduced(layer, d.axis, d.reduce_operation)


@lowers("Mean")
def mean(layer: Layer) -> Sequence[Launch]:
    """Return the mean over some axes, all if none is named."""
    d = cast("MeanDescriptor", layer.descriptor)
    return _reduced(layer, d.axis, ReduceOperation.MEAN)


@lowers("CumSum", "CumProd")
def cumulate(layer: Layer) -> Sequence[Launch]:
    """Return the running sums or products along an axis."""
    d = cast("CumSumDescriptor | CumProdDescriptor", layer.descriptor)
    require_alike(layer, NUMBERS, but=["axis"])
    operation = ReduceOperation.SUM if layer.type == "CumSum" else ReduceOperation.PROD
    length, inner, items = _lines(layer, d.axis)
    arguments = (In(0), Out(0), items, length, inner, int(d.reverse), int(d.exclusive))
    return [Launch(_source(layer, operation), "scan", arguments, items if length else 0)]


@lowers("ArgMinMax")
def arg_min_max(layer: Layer) -> Sequence[Launch]:
    """Return where the extreme elements lie along an axis."""
    d = cast("ArgMinMaxDescriptor", layer.descriptor)
    require(layer, *NUMBERS, but=["output"])
    length, inner, items = _lines(layer, d.axis)
    x, y = elements_of(layer.input_infos[0]), elements_of(layer.output_infos[0])
    sign = "<" if d.function is ArgMinMaxFunction.MIN else ">"
    is_beyond = f"(value) {sign} (most)"
    if x.value == "float":
        is_beyond = f"!isnan(most) && (isnan(value) || {is_beyond})"
    text = accessors(x=x, y=y) + f"#define IS_BEYOND(value, most) ({is_beyond})\n"
    arguments = (In(0), Out(0), items, length, inner, int(d.select_last_index))
    return [Launch(program(text, "reduce.cl"), "find", arguments, items)]


def _lines(layer: Layer, named: int) -> tuple[int, int, int]:
    """Return the length of lines along an axis, the elements behind it, and how many lines are."""
    shape = shape_of(layer.input_infos[0])
    axis = named % len(shape)
    inner = math.prod(shape[axis + 1 :])
    return shape[axis], inner, math.prod(shape[:axis]) * inner


def _reduced(layer: Layer, named: Sequence[int], operation: ReduceOperation) -> Sequence[Launch]:
    is_extreme = operation in (ReduceOperation.MAX, ReduceOperation.MIN)
    require_alike(layer, ANY if is_extreme else NUMBERS, but=["axis"])
    view = View.of(shape_of(layer.input_infos[0]))
    axes = [axis % len(view.shape) for axis in named] or list(range(len(view.shape)))
    kept, gone = outer_and_inner(view, axes)
    kept_sizes, (kept_strides,) = walked(kept)
    sizes, (strides,) = walked(gone)
    arguments = (
        In(0), Out(0), kept.size, gone.size, kept_sizes, kept_strides, sizes, strides, gone.size
    )  # fmt: skip
    source = _source(layer, operation)
    if gone.size >= _LONG and kept.size < _MANY:
        return [Launch(source, "reduce_long", arguments, kept.size, groups=True)]
    return [Launch(source, "reduce", arguments, kept.size)]


def _source(layer: Layer, operation: ReduceOperation) -> str:
    """Return a program of ``reduce.cl`` that combines elements by an operation."""
    kind = layer.output_infos[0].data_type
    x, y = elements_of(layer.input_infos[0]), elements_of(layer.output_infos[0])
    total = _sum_type(y, operation)
    combined = _COMBINATIONS[operation]
    if total != "float":
        combined = combined.replace(" || isnan(x)", "")
    divided = "total"
    if operation is ReduceOperation.MEAN:
        divided = "total / (float)count" if total == "float" else "count ? total / count : 0"
    text = (
        accessors(x=x, y=y)
        + f"inline {total} combine(const {total} x, const {total} y) {{ return {combined}; }}\n"
        + f"#define DIVIDED(total, count) ({divided})\n"
    )
    macros = {"GROUP": GROUP, "SUMS": total, "START": _start(kind, operation)}
    return program(text, "tree.cl", "reduce.cl", **macros)


def _sum_type(result: Elements, operation: ReduceOperation) -> str:
    """Return the type of sums: of integers one that wraps around, or holds those of a mean."""
    if result.value == "float" or operation in (ReduceOperation.MAX, ReduceOperation.MIN):
        return result.value
    if operation is ReduceOperation.MEAN:
        return "ulong" if result.value.startswith("u") else "long"
    return "ulong" if result.value.endswith("long") else "uint"


def _start(kind: DataType, operation: ReduceOperation) -> str:
    """Return the result of no elements."""
    if operation is ReduceOperation.MAX:
        return lowest(kind)
    if operation is ReduceOperation.MIN:
        return _highest(kind)
    return "1" if operation is ReduceOperation.PROD else "0"


def lowest(kind: DataType) -> str:
    """Return the least number of a type, in OpenCL C."""
    if kind in REALS:
        return "-INFINITY"
    return "0" if kind is DataType.BOOLEAN else _number(np.iinfo(kind.numpy_dtype).min)


def _highest(kind: DataType) -> str:
    if kind in REALS:
        return "INFINITY"
    return "1" if kind is DataType.BOOLEAN else _number(np.iinfo(kind.numpy_dtype).max)


def _number(value: int) -> str:
    named = {-(2**63): "LONG_MIN", 2**63 - 1: "LONG_MAX", 2**64 - 1: "ULONG_MAX"}
    return named.get(value, str(value))
