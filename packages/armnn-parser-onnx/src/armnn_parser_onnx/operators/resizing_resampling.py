# SPDX-License-Identifier: MIT
"""Resizing by indices and matrix products, axis by axis.

It is for what the Resize layer lacks. Positions are computed in double precision, as ONNX defines
them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armnn.parsing.conversion import RefusedError, transpose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Value
    from armnn_parser_onnx.operation import Operation

_MOST_WEIGHTS = 2**24
_MOST_TAPS = 2**21


class Sampling(NamedTuple):
    """How a node samples along all of its axes.

    Attributes:
        mode: "nearest", "linear" or "cubic".
        coordinates: ONNX's word for the places of the samples.
        nearest: ONNX's word for the rounding of places.
        antialias: Whether what becomes smaller is smoothed.
        exclude_outside: Whether weights outside of the image are left out.
        cubic: The coefficient of the cubic curve.
        extrapolation: What stands outside of a box that is cut out.
    """

    mode: str
    coordinates: str
    nearest: str
    antialias: bool = False
    exclude_outside: bool = False
    cubic: float = -0.75
    extrapolation: float = 0.0


class ResizedAxis(NamedTuple):
    """An axis of known sizes.

    Attributes:
        number: Which axis it is.
        size: The input's dimension.
        target: The output's dimension.
        scale: How many output positions there are per input position.
        box: Where the box that is cut out begins and ends, from 0 to 1.
    """

    number: int
    size: int
    target: int
    scale: float
    box: tuple[float, float] = (0.0, 1.0)


def resampled(
    operation: Operation, value: Value, axes: Sequence[ResizedAxis], sampling: Sampling
) -> Value:
    """Resize along some axes, one after the other.

    Raises:
        RefusedError: Integers are to be interpolated, or the matrices would be too large.
    """
    if sampling.mode != "nearest" and not value.info.data_type.is_float:
        raise RefusedError("it interpolates between integers")
    outside = _outside(operation, axes, sampling)
    for axis in axes:
        part = f"axis_{axis.number}" if axis is not axes[-1] or outside is not None else ""
        places = sample_places(axis, sampling.coordinates)
        if sampling.mode == "nearest":
            picked = np.clip(rounded(places, sampling.nearest), 0, axis.size - 1).astype(np.int64)
            indices = operation.integers_constant(picked.tolist(), "picked")
            value = operation.network.add_gather(
                value, indices, axis=axis.number, name=operation.layer_name(part)
            )
        else:
            weights = _weights(axis, places, sampling)
            value = _multiplied(operation, value, axis.number, weights, part)
    if outside is None:
        return value
    fill = operation.number(sampling.extrapolation, value, "extrapolation")
    return operation.network.add_where(outside, fill, value, name=operation.layer_name())


def sample_places(axis: ResizedAxis, coordinates: str) -> NDArray[np.float64]:
    """Return the input coordinate of each output sample."""
    at = np.arange(axis.target, dtype=np.float64)
    size, scale = axis.size, axis.scale
    length = scale * size
    if coordinates == "align_corners":
        return at * ((size - 1) / (length - 1) if length != 1 else 0.0)
    if coordinates == "asymmetric":
        return at / scale
    if coordinates == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    if coordinates == "tf_crop_and_resize":
        start, end = axis.box
        if length == 1:
            return np.full(axis.target, (start + end) / 2 * (size - 1))
        return start * (size - 1) + at * ((end - start) * (size - 1) / (length - 1))
    if coordinates == "pytorch_half_pixel" and length == 1:
        return np.full(axis.target, -0.5)
    offset = 0.0
    if coordinates == "half_pixel_symmetric":
        offset = size / 2 * (1 - axis.target / length)
    return offset + (at + 0.5) / scale - 0.5


def rounded(places: NDArray[np.float64], nearest: str) -> NDArray[np.float64]:
    """Return the sample that is taken at each place."""
    return _ROUNDINGS[nearest](places)


_ROUNDINGS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "round_prefer_floor": lambda places: np.ceil(places - 0.5),
    "round_prefer_ceil": lambda places: np.floor(places + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _weights(
    axis: ResizedAxis, places: NDArray[np.float64], sampling: Sampling
) -> NDArray[np.float64]:
    """Return each input sample's weight per output sample, [target, size].

    Raises:
        RefusedError: There are too many.
    """
    if axis.size * axis.target > _MOST_WEIGHTS:
        raise RefusedError(f"it takes {axis.size} x {axis.target} weights along an axis")
    shrink = min(axis.scale, 1.0) if sampling.antialias else 1.0
    reach = math.ceil((1 if sampling.mode == "linear" else 2) / shrink)
    if axis.target * reach > _MOST_TAPS:
        raise RefusedError(f"each of {axis.target} elements blends more than {reach} others")
    taps = np.floor(places).astype(np.int64)[:, np.newaxis] + np.arange(-reach, reach + 2)
    distances = np.abs(taps - places[:, np.newaxis]) * shrink
    if sampling.mode == "linear":
        weights = np.clip(1 - distances, 0, None)
    else:
        weights = _cubic(distances, sampling.cubic)
    if sampling.exclude_outside:
        weights = np.where((taps >= 0) & (taps < axis.size), weights, 0)
    weights = weights / weights.sum(1, keepdims=True)
    matrix = np.zeros((axis.target, axis.size))
    rows = np.broadcast_to(np.arange(axis.target)[:, np.newaxis], taps.shape)
    np.add.at(matrix, (rows, np.clip(taps, 0, axis.size - 1)), weights)
    return matrix


def _cubic(distances: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    """Return the weights of cubic convolution (Keys 1981)."""
    near = ((a + 2) * distances - (a + 3)) * distances**2 + 1
    far = ((a * distances - 5 * a) * distances + 8 * a) * distances - 4 * a
    return np.where(distances <= 1, near, np.where(distances < 2, far, 0))


def _multiplied(
    operation: Operation, value: Value, axis: int, weights: NDArray[np.float64], part: str
) -> Value:
    """Multiply an axis by a matrix."""
    rank = len(operation.shape_of(value))
    matrix = operation.number(weights, value, "weights")
    if axis == rank - 2:
        return operation.network.add_batch_mat_mul(matrix, value, name=operation.layer_name(part))
    order = [other for other in range(rank) if other != axis] + [axis]
    last = value if axis == rank - 1 else transpose(operation, value, order, "axis_last")
    product = operation.network.add_batch_mat_mul(
        last,
        matrix,
        transpose_y=True,
        name=operation.layer_name(part if axis == rank - 1 else "product"),
    )
    if axis == rank - 1:
        return product
    return transpose(operation, product, np.argsort(order).tolist(), part)


def _outside(operation: Operation, axes: Sequence[ResizedAxis], sampling: Sampling) -> Value | None:
    """Return which output samples are outside the image.

    None if that does not matter.
    """
    if sampling.coordinates != "tf_crop_and_resize":
        return None
    rank = len(operation.shape())
    masks = []
    for axis in axes:
        places = sample_places(axis, sampling.coordinates)
        shape = [1] * rank
        shape[axis.number] = axis.target
        masks.append(((places < 0) | (places > axis.size - 1)).reshape(shape))
    mask = functools.reduce(np.logical_or, masks)
    if not mask.any():
        return None
    return operation.network.add_constant(mask, name=operation.layer_name("outside"))
