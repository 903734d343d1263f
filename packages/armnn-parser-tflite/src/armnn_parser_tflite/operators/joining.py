# SPDX-License-Identifier: MIT
"""Tensors joined and divided: CONCATENATION, PACK, UNPACK and SPLIT."""

from __future__ import annotations

from collections.abc import Sequence

from armnn.graph import Value
from armnn.layers.joining import ConcatDescriptor
from armnn.parsing.conversion import NotKnownYetError
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.operators.activation import fused
from armnn_parser_tflite.shapes import without_axes


@operator("CONCATENATION", newest=7)
def concatenation(operation: Operation) -> Value:
    """Add Concat; input steps may differ from the output's."""
    options = operation.options("ConcatenationOptions")
    values = operation.values()
    axis = operation.axis(options.integer("Axis"), len(operation.shape()))
    return fused(
        operation,
        options,
        lambda label: (
            operation.network.add(
                "Concat",
                values,
                ConcatDescriptor(axis=axis),
                name=label,
                outputs=[operation.info()],
            ).output
        ),
    )


@operator("PACK", newest=5)
def pack(operation: Operation) -> Value:
    """Add Stack."""
    axis = operation.options("PackOptions").integer("Axis")
    return operation.network.add_stack(
        operation.values(),
        axis=operation.axis(axis, len(operation.shape()) + 1),
        name=operation.layer_name(),
    )


@operator("UNPACK", newest=6)
def unpack(operation: Operation) -> Sequence[Value]:
    """Add Splitter, and drop the axis from each part."""
    rank = len(operation.shape())
    axis = operation.axis(operation.options("UnpackOptions").integer("Axis"), rank)
    count = len(operation.record.outputs)
    value = operation.input()
    infos = [operation.info(index) for index in range(count)]
    # Only parts that say their steps have steps of their own.
    same = not value.info.is_quantized or not all(info.is_quantized for info in infos)
    parts = operation.network.add_splitter(
        value,
        axis=axis,
        sizes=(1,) * count,
        name=operation.layer_name("parts"),
        outputs=None if same else infos,
    )
    return [without_axes(operation, part, (axis,), "part") for part in parts]


@operator("SPLIT", newest=5)
def split(operation: Operation) -> Sequence[Value]:
    """Add Splitter with equal parts; the axis comes first.

    It is the first input.
    """
    shape = operation.shape(1)
    axis = operation.axis(operation.known_integer(0), len(shape))
    count, size = len(operation.record.outputs), shape[axis]
    if not isinstance(size, int):
        raise NotKnownYetError("the size of the axis that it splits is not known")
    if not count or size % count:
        raise operation.error(f"an axis of {size} elements cannot become {count} equal parts")
    return _split(operation, operation.input(1), axis, (size // count,) * count)


@operator("SPLIT_V", newest=3)
def split_v(operation: Operation) -> Sequence[Value]:
    """Add Splitter with given sizes; -1 is the rest."""
    sizes = operation.known_integers(1)
    shape = operation.shape()
    axis = operation.axis(operation.known_integer(2), len(shape))
    if sizes.count(-1) == 1:
        whole = shape[axis]
        if not isinstance(whole, int):
            raise NotKnownYetError("the size of the axis that it splits is not known")
        left = whole - sum(sizes) - 1
        sizes = tuple(left if size == -1 else size for size in sizes)
    return _split(operation, operation.input(), axis, sizes)


def _split(operation: Operation, value: Value, axis: int, sizes: Sequence[int]) -> Sequence[Value]:
    if not sizes or min(sizes) < 0:
        raise operation.error(f"it splits into parts of {list(sizes)} elements")
    return operation.network.add_splitter(
        value, axis=axis, sizes=sizes, name=operation.layer_name()
    )
