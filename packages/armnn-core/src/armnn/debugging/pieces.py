# SPDX-License-Identifier: MIT
"""Large layers, cut into pieces that are computed in turn.

The truth takes twice the memory of float32, and computing it takes that several times. A piece is a
slice of the output along one axis, with the slices of the inputs that it is computed of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from armnn.graph import Layer
    from armnn.layers.convolution import Convolution2dDescriptor, DepthwiseConvolution2dDescriptor

    Stored = NDArray[Any]
    Operands = Sequence[Stored | None]
    # As others with windows.
    Windowed: TypeAlias = "Convolution2dDescriptor | DepthwiseConvolution2dDescriptor"

ELEMENTS: Final = 1 << 17
"""About how many a piece's output has; a smaller layer is computed at once."""

WEIGHTS: Final = 2
"""How many times as many elements as weights a piece has: these are converted for each piece."""

_POINTWISE: Final = (
    "Activation",
    "Addition",
    "Division",
    "ElementwiseBinary",
    "ElementwiseUnary",
    "Maximum",
    "Minimum",
    "Multiplication",
    "Subtraction",
)
_PER_CHANNEL: Final = ("Pooling2d", "Resize")
"""Layer types that compute each channel of their only input alone."""

_CONVOLUTIONS: Final = {"Convolution2d": (1, 2), "DepthwiseConvolution2d": (1, 1)}
"""Layer types whose rows of outputs read rows of the input: the axes of the kernel's height."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A slice of a layer.

    Attributes:
        operands: Slices of its inputs.
        descriptor: Its parameters.
        shape: That of the output's slice.
        place: Where it is in the output.
    """

    operands: Operands
    descriptor: Any
    shape: tuple[int, ...]
    place: tuple[slice, ...]


def pieces_of(layer: Layer, operands: Operands) -> list[Piece]:
    """Return the pieces of a layer whose shapes are known.

    Args:
        layer: The layer.
        operands: Its inputs as stored.

    Returns:
        Nothing where it is small, or not of the types that can be cut.
    """
    if len(layer.outputs) != 1 or not layer.output_infos[0].is_static:
        return []
    if layer.output_infos[0].num_elements <= ELEMENTS:
        return []
    if layer.type in _POINTWISE:
        return _pointwise(layer, operands)
    if layer.type in _PER_CHANNEL:
        layout = cast("Windowed", layer.descriptor).data_layout
        return _along(layer, operands, layout.channel_axis)
    if layer.type in _CONVOLUTIONS:
        return _rows_of_windows(layer, operands)
    return []


def _pointwise(layer: Layer, operands: Operands) -> list[Piece]:
    """Cut the first axis that has more than one element."""
    shape = layer.output_infos[0].static_shape
    return _along(layer, operands, next(at for at, size in enumerate(shape) if size > 1))


def _along(layer: Layer, operands: Operands, axis: int) -> list[Piece]:
    """Cut an axis of the output; inputs are broadcast."""
    shape = layer.output_infos[0].static_shape
    behind = len(shape) - axis  # counted from the last axis, as shapes are broadcast
    if not all(_can_be_cut(layer, at, each.ndim - behind) for at, each in _present(operands)):
        return []
    count = max(1, ELEMENTS // max(1, math.prod(shape) // shape[axis]))
    return [
        Piece(
            [
                None if each is None else _cut(each, each.ndim - behind, first, last)
                for each in operands
            ],
            layer.descriptor,
            (*shape[:axis], last - first, *shape[axis + 1 :]),
            (*(slice(None),) * axis, slice(first, last)),
        )
        for first in range(0, shape[axis], count)
        for last in [min(first + count, shape[axis])]
    ]


def _present(operands: Operands) -> list[tuple[int, Stored]]:
    return [(at, each) for at, each in enumerate(operands) if each is not None]


def _can_be_cut(layer: Layer, operand: int, axis: int) -> bool:
    """Return whether an operand has one scale along an axis."""
    info = layer.input_infos[operand]
    return axis < 0 or info is None or len(info.scales) <= 1


def _cut(array: Stored, axis: int, first: int, last: int) -> Stored:
    """Return a slice, or all if the axis is broadcast."""
    if axis < 0 or array.shape[axis] == 1:
        return array
    return array[(*(slice(None),) * axis, slice(first, last))]


def _rows_of_windows(layer: Layer, operands: Operands) -> list[Piece]:
    """Cut the rows of a convolution."""
    d = cast("Windowed", layer.descriptor)
    axis = d.data_layout.spatial_axes[0]
    (_, x), (_, weights), *_rest = _present(operands)
    if not _can_be_cut(layer, 0, axis):
        return []
    shape = layer.output_infos[0].static_shape
    height = weights.shape[_CONVOLUTIONS[layer.type][0 if axis == 1 else 1]]
    reach = (height - 1) * d.dilation_y + 1
    wanted = max(ELEMENTS, WEIGHTS * weights.size)
    count = max(1, wanted // max(1, math.prod(shape) // shape[axis]))
    pieces = []
    for first in range(0, shape[axis], count):
        last = min(first + count, shape[axis])
        start = first * d.stride_y - d.pad_top
        end = (last - 1) * d.stride_y - d.pad_top + reach
        inside = max(start, 0), min(end, x.shape[axis])
        if inside[0] >= inside[1]:
            return []  # windows that read padding only
        rows = (*(slice(None),) * axis, slice(*inside))
        changed = replace(d, pad_top=inside[0] - start, pad_bottom=end - inside[1])
        pieces.append(
            Piece(
                [x[rows], *operands[1:]],
                changed,
                (*shape[:axis], last - first, *shape[axis + 1 :]),
                (*(slice(None),) * axis, slice(first, last)),
            )
        )
    return pieces
