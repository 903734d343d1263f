# SPDX-License-Identifier: MIT
"""Elements repeated, padded or turned around."""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import (
    broadcast,
    filled_length,
    normalized_axes,
    plus,
    product,
    require_rank,
)
from armnn.layers._spec import Inputs, Shapes, filling, layer, result, same_axis, slot
from armnn.tensor import format_shape
from armnn.types import PaddingMode

_ANY = slot("input", "Of any rank.")


def _broadcast_to(descriptor: BroadcastToDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if inputs.awaits("broadcast_to_shape"):
        count = filled_length(inputs, "broadcast_to_shape")
        return [None if count is None else (None,) * max(count, len(shape))]
    return [broadcast(shape, descriptor.broadcast_to_shape)]


@layer(
    76,
    inputs=[_ANY, filling("broadcast_to_shape", "[rank of the target].")],
    outputs=[result(axis=same_axis)],
    infer=_broadcast_to,
    moves_data=True,
)
class BroadcastToDescriptor(Descriptor):
    """The input repeated along axes that have one element.

    Attributes:
        broadcast_to_shape: The target. Where it has 1 or no axis, the input's dimension stays
            (ONNX: Expand).
    """

    broadcast_to_shape: tuple[int, ...] = parameter((), at_least=0)


def _tiled(descriptor: TileDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if inputs.awaits("multiples"):
        return [(None,) * len(shape)]
    if len(descriptor.multiples) != len(shape):
        raise ShapeError(
            f"the multiples {list(descriptor.multiples)} do not fit the input of shape "
            f"{format_shape(shape)}: expected {len(shape)} of them"
        )
    return [
        tuple(product([dim, count]) for dim, count in zip(shape, descriptor.multiples, strict=True))
    ]


@layer(
    74,
    inputs=[_ANY, filling("multiples", "[rank of the input].")],
    outputs=[result(axis=same_axis)],
    infer=_tiled,
    moves_data=True,
)
class TileDescriptor(Descriptor):
    """The whole input repeated along its axes.

    Attributes:
        multiples: How often, one number per axis.
    """

    multiples: tuple[int, ...] = parameter((), at_least=0)


def _padded(descriptor: PadDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if inputs.awaits("pad_list"):
        return [(None,) * len(shape)]
    if len(descriptor.pad_list) != len(shape):
        raise ShapeError(
            f"the pad_list {descriptor.pad_list!r} does not fit the input of shape "
            f"{format_shape(shape)}: expected {len(shape)} pairs"
        )
    room = {PaddingMode.REFLECT: 1, PaddingMode.SYMMETRIC: 0}.get(descriptor.padding_mode)
    for axis, (dim, pair) in enumerate(zip(shape, descriptor.pad_list, strict=True)):
        if room is not None and isinstance(dim, int) and max(pair) > max(dim - room, 0):
            raise ShapeError(
                f"{descriptor.padding_mode.arm_name} padding of {pair} needs more than the {dim} "
                f"elements of the axis {axis}"
            )
    return [
        tuple(plus(dim, sum(pair)) for dim, pair in zip(shape, descriptor.pad_list, strict=True))
    ]


@layer(
    40,
    inputs=[
        _ANY,
        filling("pad_list", "[rank of the input, 2]."),
        filling("pad_value", "One number."),
    ],
    outputs=[result(axis=same_axis)],
    infer=_padded,
)
class PadDescriptor(Descriptor):
    """The input with elements put before and after its axes.

    Attributes:
        pad_list: How many elements (before, after) each axis.
        pad_value: What Constant padding writes: a real value, for a quantised input too, so that 0
            is its zero point (Arm NN takes a stored value there). An integer stays exact.
        padding_mode: Constant; Reflect (the edge is not repeated) or Symmetric (it is).
    """

    pad_list: tuple[tuple[int, int], ...] = parameter((), at_least=0)
    pad_value: float = 0.0
    padding_mode: PaddingMode = PaddingMode.CONSTANT

    def check(self) -> None:
        """Raise InvalidArgumentError unless the list holds pairs of counts."""
        self.require_pairs("pad_list", len(self.pad_list))


def _reversed(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    require_rank(inputs, "axis", 0, 1)
    axes = inputs.value("axis")
    if axes is not None:
        normalized_axes([int(axis) for axis in axes.ravel()], len(shape))
    return [shape]


@layer(
    73,
    inputs=[_ANY, slot("axis", "The axes to turn, counted from the end if negative; integers.")],
    infer=_reversed,
    moves_data=True,
)
class ReverseV2Descriptor(Descriptor):
    """The elements in opposite order along some axes (TensorFlow: ReverseV2)."""
