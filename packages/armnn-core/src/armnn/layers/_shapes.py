# SPDX-License-Identifier: MIT
"""Shape functions and dimension arithmetic that families of layers share.

A dimension is a number, the name of an unknown number, or None; arithmetic keeps names where the
result is the dimension itself, and gives None for other results that are not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from armnn.errors import ShapeError
from armnn.layers._spec import Inputs
from armnn.tensor import MAX_RANK, Dimension, Shape, format_shape
from armnn.types import DataLayout, DataType

PICTURES = "those of pictures"
SEQUENCES = "batch, steps and features"
"""Axes of tensors, for :attr:`LayerSpec.axes`."""

PLANAR = (DataLayout.NCHW, DataLayout.NHWC)
VOLUMETRIC = (DataLayout.NDHWC, DataLayout.NCDHW)


def broadcast_inputs(_descriptor: Any, inputs: Inputs) -> Sequence[Shape]:
    """Return the shape to which all inputs broadcast."""
    shape: Shape | None = None
    for info in inputs.infos:
        if info is not None and info.shape is not None:
            shape = info.shape if shape is None else broadcast(shape, info.shape)
    return [() if shape is None else shape]


def broadcast(first: Shape, second: Shape) -> Shape:
    """Return the broadcast of two shapes by NumPy's rules.

    Raises:
        ShapeError: Two known dimensions differ and neither is 1.
    """
    # A comparison decides about a symbolic dimension, which a hash leaves open.
    if hash(first) == hash(second) and first == second:
        return tuple(first)
    rank = max(len(first), len(second))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in (first, second)]
    dims: list[Dimension] = []
    for ours, theirs in zip(*padded, strict=True):
        if type(theirs) is int and theirs == 1:  # whatever the other one is, as below
            dims.append(ours)
        elif type(ours) is int and ours == 1:
            dims.append(theirs)
        elif ours == theirs or theirs == 1:
            dims.append(ours)
        elif ours == 1:
            dims.append(theirs)
        elif isinstance(ours, int) and isinstance(theirs, int):
            raise ShapeError(
                f"the shapes {format_shape(first)} and {format_shape(second)} do not broadcast: "
                f"{ours} is not {theirs} and neither is 1"
            )
        else:
            # One is unknown: if the known one is not 1, the unknown one must be it (or be 1).
            known = ours if isinstance(ours, int) else theirs
            dims.append(known if isinstance(known, int) else None)
    return tuple(dims)


def same_dimension(first: Dimension, second: Dimension) -> bool:
    """Return whether two dimensions may be equal."""
    return first == second or not (isinstance(first, int) and isinstance(second, int))


def same_shape(first: Sequence[Dimension], second: Sequence[Dimension]) -> bool:
    """Return whether two shapes may be equal."""
    return len(first) == len(second) and all(map(same_dimension, first, second))


def merged_shapes(shapes: Sequence[Shape], open_axis: int | None = None) -> Shape:
    """Return the shape that equal shapes describe together.

    Numbers precede names, names precede None.

    Args:
        shapes: At least one.
        open_axis: An axis along which they may differ; the result has None there.

    Raises:
        ShapeError: They contradict each other.
    """
    merged: Shape | None = None
    for index, shape in enumerate(shapes):
        dims = [None if axis == open_axis else dim for axis, dim in enumerate(shape)]
        if merged is not None and not same_shape(merged, dims):
            except_axis = "" if open_axis is None else f" in all axes but {open_axis}"
            raise ShapeError(
                f"the inputs 0 and {index} have shapes {format_shape(shapes[0])} and "
                f"{format_shape(shape)}: expected the same{except_axis}"
            )
        merged = tuple(dims) if merged is None else tuple(map(known_better, merged, dims))
    return () if merged is None else merged


def known_better(first: Dimension, second: Dimension) -> Dimension:
    """Return the more specific of two equal dimensions."""
    return second if first is None or isinstance(second, int) else first


def apply(function: Callable[..., int], *dims: Dimension) -> Dimension:
    """Return ``function`` of the dimensions, None if one is unknown."""
    known = [dim for dim in dims if isinstance(dim, int)]
    return function(*known) if len(known) == len(dims) else None


def plus(dim: Dimension, number: int) -> Dimension:
    """Return the dimension with a number added."""
    return dim if number == 0 else apply(lambda size: size + number, dim)


def is_multiple(number: Dimension, divisor: Dimension) -> bool:
    """Return whether a dimension may be a multiple of another."""
    if not isinstance(number, int) or not isinstance(divisor, int):
        return True
    return number % divisor == 0 if divisor else number == 0


def divided(shape: Sequence[Dimension], axis: int, divisor: int) -> Dimension:
    """Return a dimension divided into equal parts.

    Raises:
        ShapeError: There is a remainder.
    """
    dim = shape[axis]
    if not is_multiple(dim, divisor):
        raise ShapeError(
            f"the axis {axis} of the shape {format_shape(shape)} cannot be divided into {divisor} "
            "equal parts"
        )
    return dim if divisor == 1 else apply(lambda size: size // divisor, dim)


def product(dims: Iterable[Dimension]) -> Dimension:
    """Return the product of the dimensions, None if unknown."""
    total, unknown = 1, []
    for dim in dims:
        if isinstance(dim, int):
            total *= dim
        else:
            unknown.append(dim)
    if not unknown or total == 0:
        return total
    return unknown[0] if total == 1 and len(unknown) == 1 else None


def inferred_dimension(dims: Sequence[Dimension], others: Sequence[Dimension]) -> Dimension:
    """Return the dimension that completes a number of elements.

    The number is that of the elements of some dimensions; the others are given. Names on both sides
    cancel: [N,3,4] beside [12] leaves N.

    Raises:
        ShapeError: No number does, or any would.
    """
    left, right = list(dims), []
    for dim in others:
        if isinstance(dim, str) and dim in left:
            left.remove(dim)
        else:
            right.append(dim)
    elements, per_one = product(left), product(right)
    if per_one == 0 or not is_multiple(elements, per_one):
        raise ShapeError(
            f"the elements of {format_shape(dims)} cannot be divided by {format_shape(others)}"
        )
    unknown = [dim for dim in left if not isinstance(dim, int)]
    if len(unknown) == 1 and product(dim for dim in left if isinstance(dim, int)) == per_one:
        return unknown[0]
    return apply(lambda total, one: total // one, elements, per_one)


def normalized_axis(axis: int, rank: int) -> int:
    """Return ``axis`` counted from the front.

    Raises:
        ShapeError: It is not an axis of a tensor of that rank.
    """
    if not -rank <= axis < rank:
        raise ShapeError(f"the axis {axis} is not an axis of a tensor of rank {rank}")
    return axis % rank


def normalized_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return the axes counted from the front, in given order.

    Raises:
        ShapeError: One is not an axis of a tensor of that rank, or two are the same.
    """
    normalized = tuple(normalized_axis(axis, rank) for axis in axes)
    if len(dict.fromkeys(normalized)) != len(normalized):
        raise ShapeError(f"the axes {list(axes)} of a tensor of rank {rank} name one axis twice")
    return normalized


def require_rank(inputs: Inputs, name: str, *ranks: int) -> Shape:
    """Return the shape of a required input.

    Raises:
        ShapeError: Its rank is none of ``ranks``.
    """
    shape = inputs.shape(name)
    if len(shape) not in ranks:
        expected = " or ".join(str(rank) for rank in ranks)
        raise ShapeError(
            f"the input {name!r} has shape {format_shape(shape)}: expected rank {expected}"
        )
    return shape


def require_shape(inputs: Inputs, name: str, expected: Shape) -> None:
    """Check the shape of an input, which may be absent.

    Raises:
        ShapeError: It cannot be the expected one.
    """
    if inputs.get(name) is not None and not same_shape(inputs.shape(name), expected):
        raise ShapeError(
            f"the input {name!r} has shape {format_shape(inputs.shape(name))}: expected "
            f"{format_shape(expected)}"
        )


_MOST_NUMBERS = 2 * MAX_RANK
"""A strided slice names at most each axis of its input and of its output."""


def require_broadcast(inputs: Inputs, name: str, shape: Shape) -> None:
    """Check that an input broadcasts to a shape unchanged.

    The shape must not become larger.

    Raises:
        ShapeError: It does not.
    """
    given = inputs.shape(name)
    trailing = shape[len(shape) - len(given) :]
    fits = (dim == 1 or same_dimension(dim, of) for dim, of in zip(given, trailing, strict=False))
    if len(given) > len(shape) or not all(fits):
        raise ShapeError(
            f"the input {name!r} has shape {format_shape(given)}: expected one that broadcasts to "
            f"{format_shape(shape)}"
        )


def filled_length(inputs: Inputs, name: str) -> int | None:
    """Return the length of an input that fills a field.

    The input is of rank 1; the length is None if it is unknown.

    Raises:
        ShapeError: It has another rank, or more numbers than any tensor needs.
    """
    (length,) = require_rank(inputs, name, 1)
    if isinstance(length, int) and length > _MOST_NUMBERS:
        raise ShapeError(
            f"the input {name!r} holds {length} numbers: expected at most {_MOST_NUMBERS}, as no "
            f"tensor has more than {MAX_RANK} axes"
        )
    return length if isinstance(length, int) else None


def read_shape(inputs: Inputs, name: str) -> Shape | None:
    """Return the shape in an input's value.

    None if not even its rank is known.

    Raises:
        ShapeError: The value cannot be a shape.
    """
    value = inputs.value(name)
    if value is None:
        length = filled_length(inputs, name)
        return None if length is None else (None,) * length
    dims = tuple(value.ravel().tolist())
    are_sizes = all(isinstance(dim, int) and dim >= 0 for dim in dims)
    if value.ndim != 1 or len(dims) > MAX_RANK or not are_sizes:
        raise ShapeError(
            f"the value of the input {name!r} is {value.tolist()}: expected a shape of up to "
            f"{MAX_RANK} dimensions, none below 0"
        )
    return dims


def require_blocks(
    inputs: Inputs, name: str, bits: int, block_size: int, rows: Shape, size: Dimension
) -> None:
    """Check integers of few bits in blocks, their scales and their zero points.

    Args:
        inputs: Has them as ``name``, ``scales`` and ``zero_points``.
        name: Rows of bytes; the numbers of a row follow each other from the low bits of a byte on.
        bits: The bits of a number.
        block_size: How many numbers share a scale.
        rows: The shape of the rows.
        size: How many numbers of a row count; the last block may have fewer.

    Raises:
        ShapeError: They do not fit.
    """
    require_shape(inputs, name, (*rows, None))
    blocks = apply(lambda count: -(-count // block_size), size)
    require_shape(inputs, "scales", (*rows, blocks))
    given = inputs.shape(name)[-1]
    if isinstance(size, int) and isinstance(given, int) and isinstance(blocks, int):
        least, most = -(-size * bits // 8), blocks * block_size * bits // 8
        if not least <= given <= most:
            raise ShapeError(
                f"the input {name!r} has {given} bytes in a row: expected {least} to {most} for "
                f"{size} numbers of {bits} bits in blocks of {block_size}"
            )
    points = inputs.get("zero_points")
    if points is not None:
        packed = points.data_type is DataType.UNSIGNED8
        length = apply(lambda count: -(-count * bits // 8), blocks) if packed else blocks
        require_shape(inputs, "zero_points", (*rows, length))


def window_positions(
    size: Dimension,
    window: Dimension,
    *,
    stride: int = 1,
    dilation: int = 1,
    padding: tuple[int, int] = (0, 0),
    round_up: bool = False,
) -> Dimension:
    """Return how many positions a window takes along an axis.

    Args:
        size: The size of the axis.
        window: The size of the window, in elements that it reads.
        stride: The distance between two positions.
        dilation: The distance between two elements that it reads.
        padding: The numbers of elements added before and after.
        round_up: Whether a last position that reaches outside counts (Ceiling); none starts in
            the padding after the axis.

    Raises:
        ShapeError: The window does not fit even once.
    """
    if not isinstance(window, int):
        return None
    reach = dilation * (window - 1) + 1
    if not isinstance(size, int):
        return size if stride == 1 and sum(padding) == reach - 1 else None
    room = size + sum(padding) - reach
    if room < 0 or window < 1:
        raise ShapeError(
            f"a window of {window} with dilation {dilation} does not fit into {size} elements with "
            f"{sum(padding)} of padding"
        )
    if not round_up:
        return room // stride + 1
    return min(-(-room // stride) + 1, -(-(size + padding[0]) // stride))


def with_channels(_descriptor: Any, inputs: Inputs) -> Sequence[Shape]:
    """Return the shape of an input with channels.

    Raises:
        ShapeError: Its rank is below 2.
    """
    shape = inputs.shape("input")
    if len(shape) < 2:
        raise ShapeError(
            f"the input has shape {format_shape(shape)}: expected rank 2 or more, with channels"
        )
    return [shape]
