# SPDX-License-Identifier: MIT
"""Elements chosen by position: slice, gather, scatter, non-zero."""

from __future__ import annotations

from typing import TypeAlias

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import (
    apply,
    filled_length,
    normalized_axis,
    plus,
    read_shape,
    require_broadcast,
    same_shape,
)
from armnn.layers._spec import Inputs, Shapes, filling, layer, result, slot
from armnn.tensor import Dimension, Shape, format_shape
from armnn.types import DataLayout, DataType, ScatterNdFunction

Index: TypeAlias = tuple[slice | int | None, ...]
"""A basic NumPy index: slices, picked positions, and None for a new axis."""


def _gathered(descriptor: GatherDescriptor, inputs: Inputs) -> Shapes:
    shape, indices = inputs.shape("input"), inputs.shape("indices")
    axis = normalized_axis(descriptor.axis, len(shape))
    return [(*shape[:axis], *indices, *shape[axis + 1 :])]


@layer(
    22,
    inputs=[
        slot("input", "A tensor of rank 1 or more."),
        slot("indices", "Integers of any rank; counted from the end if negative."),
    ],
    infer=_gathered,
    moves_data=True,
)
class GatherDescriptor(Descriptor):
    """Sub-tensors at indices along an axis.

    The axes of the indices replace the axis.

    Attributes:
        axis: The axis; counted from the end if negative.
    """

    axis: int = 0


def _index_depth(inputs: Inputs, shape: Shape) -> int | None:
    """Return how many axes an index of GatherNd fixes.

    The same holds for ScatterNd; None if it is unknown.
    """
    indices = inputs.shape("indices")
    if not indices:
        raise ShapeError("the input 'indices' is a scalar: expected rank 1 or more")
    depth = indices[-1]
    if not isinstance(depth, int):
        return None
    if depth > len(shape):
        raise ShapeError(
            f"the indices of shape {format_shape(indices)} name {depth} axes, but the tensor of "
            f"shape {format_shape(shape)} has {len(shape)}"
        )
    return depth


def _gathered_nd(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    depth = _index_depth(inputs, shape)
    return [None if depth is None else (*inputs.shape("indices")[:-1], *shape[depth:])]


@layer(
    70,
    inputs=[
        slot("input", "A tensor of rank 1 or more."),
        slot("indices", "[..., K], integers: each row fixes the first K axes of the input."),
    ],
    infer=_gathered_nd,
    moves_data=True,
)
class GatherNdDescriptor(Descriptor):
    """The sub-tensors at rows of indices (TensorFlow: gather_nd)."""


def _scattered(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    given = inputs.get("input")
    if (given is None) == (inputs.get("shape") is None):
        raise ShapeError("give either the input 'input' or the input 'shape'")
    shape = read_shape(inputs, "shape") if given is None else given.shape
    if shape is None:
        return [None]
    depth = _index_depth(inputs, shape)
    updates = inputs.shape("updates")
    if depth is not None:
        expected = (*inputs.shape("indices")[:-1], *shape[depth:])
        if not same_shape(expected, updates):
            raise ShapeError(
                f"the updates have shape {format_shape(updates)}: expected "
                f"{format_shape(expected)} for the indices of shape "
                f"{format_shape(inputs.shape('indices'))} into {format_shape(shape)}"
            )
    return [shape]


@layer(
    77,
    inputs=[
        slot(
            "input", "The tensor that the updates are written into; zeros if absent.", optional=True
        ),
        slot("indices", "[..., K], integers: each row fixes the first K axes."),
        slot(
            "updates",
            "The elements to write; axes: those of the indices but the last, then those not fixed.",
        ),
        slot(
            "shape",
            "The shape of the zeros, if ``input`` is absent; integers. Arm NN hands it over in the "
            "place of ``input``.",
            optional=True,
            shapes_output=True,
        ),
    ],
    outputs=[result(like="updates")],
    infer=_scattered,
)
class ScatterNdDescriptor(Descriptor):
    """Sub-tensors written at rows of indices.

    TensorFlow: scatter_nd. The presence of the input is Arm NN's ``m_InputEnabled``.

    Attributes:
        function: How an update and what is there become one.
        axis: Only used if ``axis_enabled``.
        axis_enabled: Whether ``axis`` is used; no backend of Arm NN knows how.
    """

    function: ScatterNdFunction = ScatterNdFunction.UPDATE
    axis: int = 0
    axis_enabled: bool = False


def _scattered_along(descriptor: TensorScatterDescriptor, inputs: Inputs) -> Shapes:
    shape, updates = inputs.shape("input"), inputs.shape("updates")
    axis = normalized_axis(descriptor.axis, len(shape))
    if axis == 0:
        raise ShapeError(
            f"the axis {descriptor.axis} of the input of shape {format_shape(shape)} is that of "
            "the batch: expected another one"
        )
    if not same_shape((*shape[:axis], None, *shape[axis + 1 :]), updates):
        raise ShapeError(
            f"the updates have shape {format_shape(updates)}: expected that of the input, "
            f"{format_shape(shape)}, but for axis {axis}"
        )
    count, size = updates[axis], shape[axis]
    if isinstance(count, int) and isinstance(size, int) and count > size:
        raise ShapeError(
            f"the updates have {count} rows: expected at most {size}, which the input of shape "
            f"{format_shape(shape)} has along axis {axis}"
        )
    if inputs.get("positions") is not None:
        require_broadcast(inputs, "positions", (shape[0],))
    return [shape]


@layer(
    1032,
    inputs=[
        slot("input", "[N,...], of rank 2 or more: a cache, which may be the output's memory."),
        slot(
            "updates", "The rows that are written; the shape is that of the input but for the axis."
        ),
        slot(
            "positions",
            "[N], or one for all items: integers, where the first row goes; 0 if absent.",
            optional=True,
        ),
    ],
    infer=_scattered_along,
    moves_data=True,
    in_place="input",
)
class TensorScatterDescriptor(Descriptor):
    """The input with rows replaced from a position on (ONNX: TensorScatter).

    A cache of keys or values gets those of new tokens. Each item of the batch has a position of its
    own. Rows outside of the axis are an error.

    Attributes:
        axis: The axis of the rows, not that of the batch; counted from the end if negative.
        circular: Whether positions are taken modulo the size of the axis.
    """

    axis: int = -2
    circular: bool = False


def _sliced(descriptor: SliceDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    rank = len(shape)
    begin = (None,) * rank if inputs.awaits("begin") else descriptor.begin
    size = (None,) * rank if inputs.awaits("size") else descriptor.size
    if len(begin) != rank or len(size) != rank:
        raise ShapeError(
            f"begin {list(begin)} and size {list(size)} do not fit the input of shape "
            f"{format_shape(shape)}: expected {rank} numbers each"
        )
    return [tuple(_sliced_dimension(*three) for three in zip(shape, begin, size, strict=True))]


def _sliced_dimension(dim: Dimension, begin: int | None, size: int | None) -> Dimension:
    if begin is None or size is None:
        return None if size == -1 else size
    if isinstance(dim, int) and begin + max(size, 0) > dim:
        raise ShapeError(
            f"a slice from index {begin} to {'the end' if size == -1 else begin + size} does not "
            f"fit into an axis of size {dim}"
        )
    return plus(dim, -begin) if size == -1 else size


@layer(
    51,
    inputs=[
        slot("input", "A tensor of any rank."),
        filling("begin", "A vector with a number for each axis of the input."),
        filling("size", "A vector with a number for each axis of the input."),
    ],
    infer=_sliced,
    moves_data=True,
)
class SliceDescriptor(Descriptor):
    """A box of the input.

    Attributes:
        begin: Its first position along each axis.
        size: How many positions it has along each axis; -1 for all that follow.
    """

    begin: tuple[int, ...] = parameter((), at_least=0)
    size: tuple[int, ...] = parameter((), at_least=-1)


def _strided(descriptor: StridedSliceDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if any(inputs.awaits(field) for field in ("begin", "end", "stride")):
        return [_strided_by_unknown(descriptor, inputs, len(shape))]
    dims: list[Dimension] = []
    axis = 0
    for item in descriptor.index(len(shape)):
        if item is None:
            dims.append(1)
            continue
        dim = shape[axis]
        if isinstance(item, slice):
            dims.append(_slice_length(item, dim))
        elif isinstance(dim, int) and not -dim <= item < dim:
            raise ShapeError(
                f"the position {item} is not in the axis {axis} of the input of shape "
                f"{format_shape(shape)}"
            )
        axis += 1
    return [tuple(dims)]


def _slice_length(item: slice, dim: Dimension) -> Dimension:
    if item == slice(None, None, 1):
        return dim
    return apply(lambda size: _positions(item, size), dim)


def _positions(item: slice, size: int) -> int:
    """Return how many positions of an axis a slice names.

    That is ``len(range(*item.indices(size)))``, for symbolic numbers too.
    """
    step = 1 if item.step is None else item.step
    least, most = (0, size) if step > 0 else (-1, size - 1)

    def bounded(position: int | None, default: int) -> int:
        if position is None:
            return default
        return min(max(position + size if position < 0 else position, least), most)

    first, last = (least, most) if step > 0 else (most, least)
    distance = bounded(item.stop, last) - bounded(item.start, first)
    return max(0, -(-distance // step))


def _strided_by_unknown(
    descriptor: StridedSliceDescriptor, inputs: Inputs, rank: int
) -> Shape | None:
    counts = [
        filled_length(inputs, field) if inputs.awaits(field) else len(getattr(descriptor, field))
        for field in ("begin", "end", "stride")
    ]
    if counts[0] is None or counts.count(counts[0]) != 3:
        if None in counts:
            return None
        raise ShapeError(f"begin, end and stride have {counts} numbers: expected as many of each")
    zeros, ones = (0,) * counts[0], (1,) * counts[0]
    stand_in = StridedSliceDescriptor(
        begin=zeros,
        end=ones,
        stride=ones,
        ellipsis_mask=descriptor.ellipsis_mask,
        new_axis_mask=descriptor.new_axis_mask,
        shrink_axis_mask=descriptor.shrink_axis_mask,
    )
    kept = [item for item in stand_in.index(rank) if not isinstance(item, int)]
    return tuple(1 if item is None else None for item in kept)


@layer(
    58,
    inputs=[
        slot("input", "A tensor of any rank."),
        filling("begin", "A vector with a number for each axis that is sliced."),
        filling("end", "A vector with a number for each axis that is sliced."),
        filling("stride", "A vector with a number for each axis that is sliced."),
    ],
    infer=_strided,
    moves_data=True,
)
class StridedSliceDescriptor(Descriptor):
    """Slices with strides, as TensorFlow's strided_slice and Python's ``input[begin:end:stride]``.

    Bit i of a mask speaks of the numbers at position i. Positions outside of an axis are clamped.

    Attributes:
        begin: The first position along each axis; counted from the end if negative.
        end: The position after the last one; counted from the end if negative.
        stride: The step, not 0; negative to walk backwards.
        begin_mask: Where ``begin`` is ignored and the slice starts at the first position.
        end_mask: Where ``end`` is ignored and the slice reaches the last position.
        shrink_axis_mask: Where only the position ``begin`` is taken and the axis goes; with
            ``begin_mask`` it is the first one.
        ellipsis_mask: Where (in one place) as many whole axes stand as are not named otherwise;
            without it, the axes that are not named stand at the end.
        new_axis_mask: Where a new axis of one element is made.
        data_layout: Without effect, kept from Arm NN.
    """

    begin: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    begin_mask: int = 0
    end_mask: int = 0
    shrink_axis_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    data_layout: DataLayout = DataLayout.NCHW

    def check(self) -> None:
        """Raise InvalidArgumentError on zero strides or contradictory masks.

        No stride may be 0, and no two masks may contradict each other.
        """
        if 0 in self.stride:
            raise InvalidArgumentError(
                f"{type(self).__name__}: the parameter 'stride' is {self.stride!r}, expected no 0"
            )
        if self.ellipsis_mask & (self.ellipsis_mask - 1):
            raise InvalidArgumentError(
                f"{type(self).__name__}: the parameter 'ellipsis_mask' is {self.ellipsis_mask:#b}, "
                "expected at most one bit"
            )

    def index(self, rank: int) -> Index:
        """Return the equivalent NumPy index for a tensor's rank.

        It has one slice or integer for each axis of the tensor, and None for each new axis.

        Raises:
            ShapeError: The lists name more axes than the tensor has, or differ in length.
        """
        count = len(self.begin)
        if len(self.end) != count or len(self.stride) != count:
            raise ShapeError(
                f"begin, end and stride have {count}, {len(self.end)} and {len(self.stride)} "
                "numbers: expected as many of each"
            )
        items: list[slice | int | None] = []
        ellipsis_at = None
        for position in range(count):
            if self.ellipsis_mask >> position & 1:
                ellipsis_at = len(items)
            else:
                items.append(self._item(position))
        missing = rank - sum(item is not None for item in items)
        if missing < 0:
            raise ShapeError(
                f"begin, end and stride name {rank - missing} axes: the input has {rank}"
            )
        whole = [slice(None, None, 1)] * missing
        at = len(items) if ellipsis_at is None else ellipsis_at
        return (*items[:at], *whole, *items[at:])

    def _item(self, position: int) -> slice | int | None:
        if self.new_axis_mask >> position & 1:
            return None
        begin, stride = self.begin[position], self.stride[position]
        if self.shrink_axis_mask >> position & 1:
            if stride < 0:
                raise ShapeError(
                    f"the axis at position {position} shrinks, but its stride is {stride}: "
                    "expected a positive one"
                )
            return 0 if self.begin_mask >> position & 1 else begin
        return slice(
            None if self.begin_mask >> position & 1 else begin,
            None if self.end_mask >> position & 1 else self.end[position],
            stride,
        )


def _non_zero(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    return [(len(inputs.shape("input")), None)]


@layer(
    1000,
    inputs=[slot("input", "A tensor of any rank.")],
    outputs=[
        result(
            "output",
            "[rank of the input, number of elements found].",
            data_types=[DataType.SIGNED64],
        )
    ],
    infer=_non_zero,
    data_dependent=True,
)
class NonZeroDescriptor(Descriptor):
    """Indices of non-zero elements, in row-major order.

    ONNX: NonZero.
    """
