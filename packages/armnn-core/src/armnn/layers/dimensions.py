# SPDX-License-Identifier: MIT
"""Tensors of and from numbers: Rank, Shape, Fill and Range."""

from __future__ import annotations

import math

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor
from armnn.layers._shapes import read_shape
from armnn.layers._spec import Inputs, Shapes, layer, result, slot
from armnn.tensor import format_shape
from armnn.types import DataType

__all__ = [
    "FillDescriptor",
    "RangeDescriptor",
    "RankDescriptor",
    "ShapeDescriptor",
    "range_length",
]


def _rank(_descriptor: Descriptor, _inputs: Inputs) -> Shapes:
    return [()]


@layer(
    48,
    inputs=[slot("input", "A tensor of any type.")],
    outputs=[result("output", "A scalar.", data_types=[DataType.SIGNED32, DataType.SIGNED64])],
    infer=_rank,
)
class RankDescriptor(Descriptor):
    """The number of axes of the input."""


def _shape(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    return [(len(inputs.shape("input")),)]


@layer(
    65,
    inputs=[slot("input", "A tensor of any type.")],
    outputs=[
        result(
            "output",
            "A vector with a number for each axis of the input.",
            data_types=[DataType.SIGNED32, DataType.SIGNED64],
        )
    ],
    infer=_shape,
)
class ShapeDescriptor(Descriptor):
    """The dimensions of the input."""


def _filled(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    return [read_shape(inputs, "input")]


@layer(
    19,
    inputs=[slot("input", "The wanted shape, [rank], integers.", shapes_output=True)],
    outputs=[
        result(
            data_types=[
                DataType.FLOAT32,
                *(data_type for data_type in DataType if data_type is not DataType.FLOAT32),
            ]
        )
    ],
    infer=_filled,
)
class FillDescriptor(Descriptor):
    """A tensor of one value, shaped by the input's value.

    Attributes:
        value: The value of each element; an integer stays exact.
    """

    value: float = 0.0


def _ranged(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    numbers = []
    for input_slot in inputs.spec.inputs:
        shape, value = inputs.shape(input_slot.name), inputs.value(input_slot.name)
        if shape not in ((), (1,), (None,)):
            raise ShapeError(
                f"the input {input_slot.name!r} has shape {format_shape(shape)}: expected one "
                "number"
            )
        if value is not None:
            numbers.append(value.item())
    return [(range_length(*numbers) if len(numbers) == 3 else None,)]


def range_length(start: float, limit: float, delta: float) -> int:
    """Return how many numbers a range holds.

    They are from ``start`` to before ``limit`` in steps of ``delta``.

    Raises:
        ShapeError: The step is zero or the number is not finite.
    """
    numbers = (start, limit, delta)
    if delta == 0 or not all(isinstance(each, int) or math.isfinite(each) for each in numbers):
        raise ShapeError(
            f"there is no range from {start} to {limit} in steps of {delta}: expected finite "
            "numbers and a step other than 0"
        )
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return max(0, -((start - limit) // delta))
    return max(0, math.ceil((limit - start) / delta))


@layer(
    1014,
    inputs=[
        slot("start", "The first number, a scalar.", shapes_output=True),
        slot("limit", "The number that is not reached, a scalar.", shapes_output=True),
        slot("delta", "The step, a scalar; negative to count down.", shapes_output=True),
    ],
    outputs=[result(like="start")],
    infer=_ranged,
)
class RangeDescriptor(Descriptor):
    """start + i * delta, i from 0, below limit.

    ONNX: Range.
    """
