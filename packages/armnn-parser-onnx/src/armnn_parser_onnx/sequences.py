# SPDX-License-Identifier: MIT
"""Sequences of tensors whose lengths are known: networks have none, so they are resolved here.

A sequence is the list of its tensors. What puts tensors into it and takes them out makes no layers;
its length is a constant. Positions must be constants, too. Branches and bodies read sequences of
the graphs around them, and make none: a sequence never leaves its graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError, add_layer
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.shapes import reshape_to_groups

Tensors: TypeAlias = tuple[Value, ...]
"""The tensors of a sequence, in order."""

MOST_TENSORS = 4096
"""In one sequence: each part of a split is a value of the network."""


def convert_sequence(operation: Operation) -> None:
    """Make the output of an operator on sequences known: a tensor, or a sequence.

    Raises:
        RefusedError: A length or a position is not known.
        ParseError: It is malformed.
    """
    try:
        made = SEQUENCE_OPERATORS[operation.op_type](operation)
    except NotKnownYetError as unknown:
        raise RefusedError(f"its sequence is not known before it runs: {unknown}") from unknown
    if isinstance(made, Value):
        operation.graph.bind(operation.outputs[0], made)
        return
    several = made if isinstance(made, list) else [made]
    for name, tensors in zip(operation.outputs, several, strict=True):
        if name:
            _enter(operation, name, tensors)


def _enter(operation: Operation, name: str, tensors: Tensors) -> None:
    if len(tensors) > MOST_TENSORS:
        raise RefusedError(f"its sequence has {len(tensors)} tensors, more than {MOST_TENSORS}")
    if len({value.info.data_type for value in tensors}) > 1:
        raise operation.error("the tensors of its sequence are of different types")
    operation.graph.check_free(name)
    operation.graph.sequences[name] = tensors


def sequence_of(operation: Operation, index: int = 0) -> Tensors:
    """Return the sequence that is an input.

    Raises:
        RefusedError: Its tensors are not known.
    """
    name = operation.inputs[index]
    if name not in operation.graph.sequences:
        raise RefusedError(f"{name!r} is not a sequence whose tensors are known")
    return operation.graph.sequences[name]


def _position(operation: Operation, index: int, least: int, most: int) -> int:
    """Return the number that is an input, from ``least`` to ``most``."""
    position = int(operation.only(index, operation.known(index)))
    if not least <= position <= most:
        raise operation.error(f"the position is {position}: expected one of {least} to {most}")
    return position


def _construct(operation: Operation) -> Tensors:
    return tuple(operation.values())


def _at(operation: Operation) -> Value:
    tensors = sequence_of(operation)
    return tensors[_position(operation, 1, -len(tensors), len(tensors) - 1)]


def _length(operation: Operation) -> Value:
    count = np.array(len(sequence_of(operation)), np.int64)
    return operation.network.add_constant(count, name=operation.layer_name())


def _insert(operation: Operation) -> Tensors:
    tensors = list(sequence_of(operation))
    count = len(tensors)
    at = _position(operation, 2, -count, count) if operation.has_input(2) else count
    tensors.insert(at, operation.input(1))
    return tuple(tensors)


def _erase(operation: Operation) -> Tensors:
    tensors = list(sequence_of(operation))
    count = len(tensors)
    del tensors[_position(operation, 1, -count, count - 1) if operation.has_input(1) else -1]
    return tuple(tensors)


def _split(operation: Operation) -> Tensors:
    """Split along an axis: into given sizes, into parts of one size, or into single rows."""
    shape = operation.shape()
    axis = operation.axis(operation.integer("axis"), len(shape))
    size = shape[axis]
    if not isinstance(size, int):
        raise NotKnownYetError("it needs the size of its axis")
    if operation.has_input(1) and operation.known(1).ndim == 1:
        sizes = [int(each) for each in operation.known(1)]
        if any(each < 0 for each in sizes) or sum(sizes) != size:
            raise operation.error(f"the sizes {sizes} are not those of parts of {size} elements")
    else:
        part = int(operation.only(1, operation.known(1))) if operation.has_input(1) else 1
        if part < 1:
            raise operation.error(f"the size of a part is {part}: expected at least 1")
        if size > part * MOST_TENSORS:
            raise RefusedError(f"it makes more than {MOST_TENSORS} tensors of {size} elements")
        sizes = [min(part, size - start) for start in range(0, size, part)]
    if not sizes:
        return ()
    parts = operation.network.add_splitter(
        operation.input(), axis=axis, sizes=sizes, name=operation.layer_name()
    )
    if operation.has_input(1) or operation.flag("keepdims", True):
        return parts
    groups = [[old] for old in range(len(shape)) if old != axis]
    return tuple(reshape_to_groups(operation, each, groups, "row") for each in parts)


def _concat(operation: Operation) -> Value:
    tensors = sequence_of(operation)
    if not tensors:
        raise operation.error("its sequence is empty")
    shape = tensors[0].info.shape
    if shape is None:
        raise NotKnownYetError("the rank of its tensors is not known")
    is_new, rank = operation.flag("new_axis"), len(shape)
    axis = operation.axis(operation.integer("axis"), rank + is_new)
    if is_new:
        groups = [[old] for old in range(rank)]
        groups.insert(axis, [])
        tensors = tuple(reshape_to_groups(operation, each, groups, "part") for each in tensors)
    if any(not other.info.is_type_space_match(tensors[0].info) for other in tensors):
        raise RefusedError("its quantized tensors have different scales")
    return tensors[0] if len(tensors) == 1 else add_layer(operation, "Concat", tensors, axis=axis)


SEQUENCE_OPERATORS: Final[dict[str, Callable[[Operation], Value | Tensors | list[Tensors]]]] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": lambda _: (),
    "SequenceAt": _at,
    "SequenceLength": _length,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SplitToSequence": _split,
    "ConcatFromSequence": _concat,
}
"""The operators that make or read sequences: a tensor, a sequence, or one for each output. The
module of bodies enters SequenceMap."""
