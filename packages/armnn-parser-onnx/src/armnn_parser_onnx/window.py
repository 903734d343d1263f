# SPDX-License-Identifier: MIT
"""The attributes of sliding windows, which convolutions and poolings share."""

from __future__ import annotations

from collections.abc import Sequence

from armnn.parsing.conversion import same_padding
from armnn.tensor import Dimension
from armnn_parser_onnx.operation import Operation

AUTO_PAD = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_LARGEST = 2**31 - 1


class Window:
    """A sliding window, one number per spatial axis.

    Attributes:
        size: How many elements it reads.
        strides: The distance from one window to the next.
        dilations: The distance from one element that it reads to the next.
        before: The padding before the input.
        after: The padding after the input.
    """

    __slots__ = ("after", "before", "dilations", "size", "strides")

    def __init__(
        self,
        size: tuple[int, ...],
        strides: tuple[int, ...],
        dilations: tuple[int, ...],
        before: tuple[int, ...],
        after: tuple[int, ...],
    ) -> None:
        self.size = size
        self.strides = strides
        self.dilations = dilations
        self.before = before
        self.after = after

    def padded_to(self, count: int) -> Window:
        """Return a window padded to ``count`` axes, new ones first.

        It does nothing along the new axes.
        """
        new = count - len(self.size)
        ones, zeros = (1,) * new, (0,) * new
        return Window(
            ones + self.size,
            ones + self.strides,
            ones + self.dilations,
            zeros + self.before,
            zeros + self.after,
        )


def read_window(operation: Operation, size: Sequence[int], spatial: Sequence[Dimension]) -> Window:
    """Return the window that the attributes of a node describe.

    Args:
        operation: The node.
        size: The size of the window.
        spatial: The spatial dimensions of the input.

    Raises:
        ParseError: An attribute has a wrong length or a number out of its range.
        NotKnownYetError: The padding depends on a dimension that is not known.
    """
    rank = len(size)
    if len(spatial) != rank:
        raise operation.error(
            f"a window of {rank} axes cannot slide over an input of {len(spatial)} spatial axes"
        )
    strides = per_axis(operation, "strides", rank, default=1, least=1)
    dilations = per_axis(operation, "dilations", rank, default=1, least=1)
    mode = operation.text("auto_pad", AUTO_PAD, "NOTSET")
    if mode == "NOTSET":
        pads = per_axis(operation, "pads", 2 * rank, default=0, least=0)
        before, after = pads[:rank], pads[rank:]
    elif mode == "VALID":
        before = after = (0,) * rank
    else:
        pairs = [
            _same_padding(*four, upper=mode == "SAME_UPPER")
            for four in zip(spatial, size, strides, dilations, strict=True)
        ]
        before, after = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    return Window(tuple(size), strides, dilations, before, after)


def kernel_shape(operation: Operation) -> tuple[int, ...]:
    """Return the size of a pooling window.

    Raises:
        ParseError: A number is out of its range.
    """
    size = operation.integers("kernel_shape")
    assert size is not None  # the schema requires it
    return per_axis(operation, "kernel_shape", len(size), default=1, least=1)


def per_axis(
    operation: Operation, name: str, count: int, *, default: int, least: int
) -> tuple[int, ...]:
    """Return an attribute with one number per axis or side.

    Raises:
        ParseError: It has a wrong length or a number out of its range.
    """
    values = operation.integers(name)
    if values is None:
        return (default,) * count
    if len(values) != count or not all(least <= value <= _LARGEST for value in values):
        raise operation.error(
            f"the attribute {name!r} is {list(values)}: expected {count} numbers, each at least "
            f"{least}"
        )
    return values


def _same_padding(
    size: Dimension, window: int, stride: int, dilation: int, *, upper: bool
) -> tuple[int, int]:
    """Return the padding that makes ceil(size / stride) windows."""
    total = same_padding(size, window, stride, dilation, "auto_pad")
    less, more = total // 2, total - total // 2
    return (less, more) if upper else (more, less)
