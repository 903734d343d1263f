# SPDX-License-Identifier: MIT
"""Elements selected one by one: TOPK_V2, ONE_HOT and UNIQUE."""

from __future__ import annotations

from collections.abc import Sequence

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, reshape
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation


@operator("ONE_HOT")
def one_hot(operation: Operation) -> Value:
    """Add OneHot; negative indices are outside of the new axis."""
    axis = operation.options("OneHotOptions").integer("Axis")
    on, off = (reshape(operation, operation.input(at), (), "value") for at in (2, 3))
    values = operation.network.add_stack([off, on], axis=0, name=operation.layer_name("values"))
    return operation.network.add_one_hot(
        operation.input(),
        values,
        operation.integers(1),
        axis=operation.axis(axis, len(operation.shape()) + 1),
        wrap_negative=False,
        name=operation.layer_name(),
    )


@operator("TOPK_V2", newest=3)
def top_k(operation: Operation) -> Sequence[Value]:
    """Add TopK along the last axis."""
    return operation.network.add_top_k(
        operation.input(),
        operation.integers(1),
        name=operation.layer_name(),
        outputs=[operation.info(0), operation.info(1)],
    )


@operator("UNIQUE")
def unique(operation: Operation) -> Sequence[Value]:
    """Add Unique; values are in order of first occurrence."""
    if operation.input().info.is_quantized:
        raise RefusedError("its input is quantized")
    values, _, places, _ = operation.network.add_unique(
        operation.input(),
        sorted=False,
        name=operation.layer_name("different"),
        outputs=[None, None, operation.info(1), None],
    )
    return values, places
