# SPDX-License-Identifier: MIT
"""Padding and strides of windows in convolutions and poolings."""

from __future__ import annotations

from armnn.parsing.conversion import same_padding
from armnn.parsing.flatbuffers import FlatTable
from armnn.tensor import Dimension
from armnn_parser_tflite._bindings import Padding
from armnn_parser_tflite.operation import Operation

LARGEST = 2**24


def positive(operation: Operation, options: FlatTable, name: str, default: int = 1) -> int:
    """Return a stride, dilation or size of a window.

    Raises:
        ParseError: It is not above 0, or larger than any image.
    """
    number = options.integer(name)
    if number == 0:
        number = default  # what a file that leaves the options out says
    if not 0 < number <= LARGEST:
        raise operation.error(f"{name} is {number}: expected 1 to {LARGEST}")
    return number


def padding(
    operation: Operation,
    options: FlatTable,
    size: Dimension,
    window: int,
    stride: int,
    dilation: int = 1,
) -> tuple[int, int]:
    """Return the padding before and after one axis.

    Args:
        operation: The operator.
        options: Its parameters; ``Padding`` is SAME or VALID.
        size: The size of the axis.
        window: The size of the window along it.
        stride: The distance from one window to the next.
        dilation: The distance from one element that the window reads to the next.

    Raises:
        ParseError: The kind of padding is not known.
        NotKnownYetError: It depends on a dimension that is not known.
    """
    kind = options.integer("Padding")
    if kind == Padding.VALID:
        return 0, 0
    if kind != Padding.SAME:
        raise operation.error(f"the padding is {kind}: expected SAME (0) or VALID (1)")
    total = same_padding(size, window, stride, dilation, "SAME padding")
    return total // 2, total - total // 2
