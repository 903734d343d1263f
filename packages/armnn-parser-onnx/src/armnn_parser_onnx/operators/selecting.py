# SPDX-License-Identifier: MIT
"""Elements selected one by one: TopK, OneHot, Compress, Unique, Trilu, ..."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import cast, reshape
from armnn.types import ArgMinMaxFunction, DataType
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.indexing import REDUCTIONS
from armnn_parser_onnx.shapes import reshape_like

_DEEPEST_ONE_HOT = 2**20


@operator("TopK")
def top_k_by_attribute(operation: Operation) -> Sequence[Value]:
    """Add TopK of a number that the node holds."""
    return operation.network.add_top_k(
        operation.input(),
        k=operation.integer("k"),
        axis=operation.integer("axis"),
        name=operation.layer_name(),
    )


@operator("TopK", since=10)
def top_k(operation: Operation) -> Sequence[Value]:
    """Add TopK; the number may be computed."""
    known = operation.constant(1)
    k = None if known is None else int(operation.only(1, operation.known(1)))
    return operation.network.add_top_k(
        operation.input(),
        operation.input(1) if k is None else None,
        k=1 if k is None else k,
        axis=operation.integer("axis"),
        largest=operation.flag("largest", True),
        sorted=operation.flag("sorted", True),
        name=operation.layer_name(),
    )


@operator("Hardmax")
def hardmax_flattened(operation: Operation) -> Value:
    """Flatten the axes from ``axis`` on, as before opset 13."""
    value, rank = operation.input(), len(operation.shape())
    axis = operation.axis(operation.integer("axis"), rank)
    flat = operation.network.add_reshape(
        value, target_shape=(*(0,) * axis, -1), zero_copies=True, name=operation.layer_name("flat")
    )
    return reshape_like(operation, _hardmax(operation, flat, -1, "hardmax"), value)


@operator("Hardmax", since=13)
def hardmax(operation: Operation) -> Value:
    """Add ArgMinMax, and 1 where it points."""
    return _hardmax(operation, operation.input(), operation.integer("axis"), "")


def _hardmax(operation: Operation, value: Value, axis: int, part: str) -> Value:
    shape = operation.shape_of(value)
    axis = operation.axis(axis, len(shape))
    size = shape[axis]
    if not isinstance(size, int):
        raise operation.error(f"the size of the axis {axis} is not known")
    index = operation.network.add_arg_min_max(
        value,
        function=ArgMinMaxFunction.MAX,
        axis=axis,
        name=operation.layer_name("index"),
        output=DataType.SIGNED64,
    )
    return operation.network.add_one_hot(
        index,
        operation.number(np.array([0, 1]), value, "values"),
        depth=size,
        axis=axis,
        name=operation.layer_name(part),
    )


@operator("OneHot")
def one_hot(operation: Operation) -> Value:
    """Add OneHot; the depth may be computed."""
    depth = None if operation.constant(1) is None else int(operation.only(1, operation.known(1)))
    if depth is not None and not 0 <= depth <= _DEEPEST_ONE_HOT:
        raise operation.error(f"the depth is {depth}: expected 0 to {_DEEPEST_ONE_HOT}")
    return operation.network.add_one_hot(
        cast(operation, operation.input(), DataType.SIGNED64, "indices"),
        operation.input(2),
        cast(operation, operation.input(1), DataType.SIGNED64, "depth") if depth is None else None,
        depth=0 if depth is None else depth,
        axis=operation.integer("axis"),
        name=operation.layer_name(),
    )


@operator("Trilu", moves_data=True)
def trilu(operation: Operation) -> Value:
    """Add Trilu; the diagonal may be computed."""
    computed = operation.has_input(1) and operation.constant(1) is None
    return operation.network.add_trilu(
        operation.input(),
        operation.input(1) if computed else None,
        k=0
        if computed or not operation.has_input(1)
        else int(operation.only(1, operation.known(1))),
        upper=operation.flag("upper", True),
        name=operation.layer_name(),
    )


@operator("GatherElements", moves_data=True)
def gather_elements(operation: Operation) -> Value:
    """Add GatherElements."""
    return operation.network.add_gather_elements(
        operation.input(),
        operation.input(1),
        axis=operation.integer("axis"),
        name=operation.layer_name(),
    )


def _scatter_operator(name: str) -> None:
    @operator(name)
    def convert(operation: Operation) -> Value:
        """Add ScatterElements."""
        return operation.network.add_scatter_elements(
            operation.input(),
            operation.input(1),
            operation.input(2),
            axis=operation.integer("axis"),
            function=REDUCTIONS[operation.text("reduction", REDUCTIONS, "none")],
            name=operation.layer_name(),
        )


_scatter_operator("ScatterElements")
_scatter_operator("Scatter")


@operator("Compress", moves_data=True)
def compress(operation: Operation) -> Value:
    """Add Compress; without an axis, of the flattened input."""
    value = operation.input()
    if not operation.has("axis"):
        value = reshape(operation, value, (-1,), "flat")
    return operation.network.add_compress(
        value,
        operation.input(1),
        axis=operation.integer("axis", 0),
        name=operation.layer_name(),
    )


@operator("Unique")
def unique(operation: Operation) -> Sequence[Value]:
    """Add Unique; without an axis, of the flattened input."""
    value = operation.input()
    if not operation.has("axis"):
        value = reshape(operation, value, (-1,), "flat")
    return operation.network.add_unique(
        value,
        axis=operation.integer("axis", 0),
        sorted=operation.flag("sorted", True),
        name=operation.layer_name(),
    )
