# SPDX-License-Identifier: MIT
"""Tensors joined and divided: Concat and Split."""

from __future__ import annotations

from collections.abc import Sequence

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError, add_layer
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation


@operator("Concat", moves_data=True)
def concat(operation: Operation) -> Value:
    """Add Concat; one input alone is handed on."""
    first, *others = operation.values()
    if any(not other.info.is_type_space_match(first.info) for other in others):
        raise RefusedError("its quantized inputs have different scales")
    axis = operation.axis(operation.integer("axis"), len(operation.shape()))
    if not others:
        return first
    return add_layer(operation, "Concat", [first, *others], axis=axis)


@operator("Split", moves_data=True)
def split_by_attribute(operation: Operation) -> Sequence[Value]:
    """Split into the attribute's sizes, else into equal parts."""
    return _split(operation, operation.integers("split"), whole=True)


@operator("Split", since=13, moves_data=True)
def split(operation: Operation) -> Sequence[Value]:
    """Split into the input's sizes, else into equal parts."""
    return _split(operation, operation.known_integers(1), whole=True)


@operator("Split", since=18, moves_data=True)
def split_into_outputs(operation: Operation) -> Sequence[Value]:
    """Split into the input's sizes, else into ``num_outputs`` parts.

    The last of these may be smaller.
    """
    count = operation.integer("num_outputs", len(operation.outputs))
    if count != len(operation.outputs):
        raise operation.error(
            f"the attribute 'num_outputs' is {count}, but there are {len(operation.outputs)}"
        )
    return _split(operation, operation.known_integers(1), whole=False)


def _split(operation: Operation, sizes: tuple[int, ...] | None, *, whole: bool) -> Sequence[Value]:
    shape, count = operation.shape(), len(operation.outputs)
    axis = operation.axis(operation.integer("axis"), len(shape))
    size = shape[axis]
    if sizes is None:
        if not isinstance(size, int):
            raise NotKnownYetError("it needs the size of its axis, which is not known")
        if whole and size % count:
            raise operation.error(f"{size} elements cannot be split into {count} equal parts")
        part = -(-size // count)
        sizes = tuple(min(part, max(size - part * index, 0)) for index in range(count))
    if len(sizes) != count:
        raise operation.error(f"the sizes {list(sizes)} are not as many as the outputs, {count}")
    return operation.network.add_splitter(
        operation.input(), axis=axis, sizes=sizes, name=operation.layer_name()
    )
