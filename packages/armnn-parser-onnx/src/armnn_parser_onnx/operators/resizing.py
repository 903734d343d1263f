# SPDX-License-Identifier: MIT
"""Image resizing: the Resize layer where possible, else arithmetic."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError, shape_vector, transpose
from armnn.tensor import Dimension
from armnn.types import (
    BinaryOperation,
    DataLayout,
    GridPadding,
    PoolingAlgorithm,
    ResizeMethod,
    ResizeRounding,
)
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import binary
from armnn_parser_onnx.shapes import with_spatial_axes, without_spatial_axes

_MODES = ("nearest", "linear", "cubic")


_COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)


_NEAREST = {
    "round_prefer_floor": ResizeRounding.ROUND_PREFER_FLOOR,
    "round_prefer_ceil": ResizeRounding.ROUND_PREFER_CEIL,
    "floor": ResizeRounding.FLOOR,
    "ceil": ResizeRounding.CEIL,
}


_METHODS = {
    "nearest": ResizeMethod.NEAREST_NEIGHBOR,
    "linear": ResizeMethod.BILINEAR,
    "cubic": ResizeMethod.CUBIC,
}


_POLICIES = ("stretch", "not_larger", "not_smaller")


_LARGEST_IMAGE = 2**20


class _Axis(NamedTuple):
    """The resizing of one axis.

    Attributes:
        size: The input's dimension.
        scale: How many output positions there are per input position; None if the sizes say it.
        target: The output's dimension; None if it is computed.
        box: Where the box that is cut out begins and ends, from 0 to 1.
    """

    size: Dimension
    scale: float | None
    target: int | None
    box: tuple[float, float] = (0.0, 1.0)

    @property
    def stays(self) -> bool:
        """Whether nothing happens to it."""
        return self.scale == 1 and self.box == (0.0, 1.0)


@operator("Upsample", since=7)
def upsample_by_attribute(operation: Operation) -> Value:
    """Add Resize; the scales are an attribute."""
    scales = operation.reals("scales")
    return _upsample(operation, () if scales is None else scales)


@operator("Upsample", since=9)
def upsample(operation: Operation) -> Value:
    """Add Resize; the scales are an input."""
    return _upsample(operation, operation.known(1).reshape(-1).tolist())


@operator("Resize", since=10)
def resize_by_scales(operation: Operation) -> Value:
    """Add Resize as in opset 10, or Upsample."""
    scales = operation.known(1).reshape(-1).tolist()
    if operation.text("mode", _MODES[:2]) == "nearest" and any(scale < 1 for scale in scales):
        raise RefusedError("opset 10 does not say which neighbor is the nearest in a smaller image")
    return _upsample(operation, scales)


def _upsample(operation: Operation, scales: Sequence[float]) -> Value:
    mode = operation.text("mode", _MODES[:2])
    axes = _axes_from_scales(operation, scales, range(len(operation.shape())))
    return _resized(operation, axes, None, _Sampling(mode, "asymmetric", "floor"))


@operator("Resize", since=11)
def resize(operation: Operation) -> Value:
    """Add Resize to a known, scaled or computed size."""
    sampling = _Sampling(
        mode=operation.text("mode", _MODES),
        coordinates=operation.text("coordinate_transformation_mode", _COORDINATES),
        nearest=operation.text("nearest_mode", _NEAREST),
        antialias=operation.flag("antialias"),
        exclude_outside=operation.flag("exclude_outside"),
        cubic=operation.real("cubic_coeff_a"),
        extrapolation=operation.real("extrapolation_value"),
    )
    policy = operation.text("keep_aspect_ratio_policy", _POLICIES, "stretch")
    rank = len(operation.shape())
    resized = operation.integers("axes")
    order = range(rank) if resized is None else [operation.axis(axis, rank) for axis in resized]
    sizes = operation.optional_input(3)
    computed = None
    if sizes is None:
        scales = operation.known(2).reshape(-1).tolist() if operation.has_input(2) else []
        axes = _axes_from_scales(operation, scales, order)
    elif sizes.constant is None and policy == "stretch" and list(order) == list(range(rank)):
        axes, computed = _axes_of_unknown(operation), sizes
    else:
        targets = operation.known_integers(3) or ()
        axes = _axes_from_sizes(operation, targets, order, policy)
    if sampling.coordinates == "tf_crop_and_resize":
        axes = _with_boxes(operation, axes, order)
    return _resized(operation, axes, computed, sampling)


def _axes_from_scales(
    operation: Operation, scales: Sequence[float], order: Sequence[int]
) -> list[_Axis]:
    shape = operation.shape()
    _check_count(operation, scales, order, "scales")
    axes = [_Axis(dim, 1.0, dim if isinstance(dim, int) else None) for dim in shape]
    for axis, scale in zip(order, scales, strict=True):
        if not (math.isfinite(scale) and 0 < scale <= _LARGEST_IMAGE):
            raise operation.error(f"the scales {list(scales)} must be finite and above 0")
        dim = shape[axis]
        target = math.floor(dim * scale) if isinstance(dim, int) else None
        axes[axis] = _Axis(dim, float(scale), target)
    return axes


def _axes_from_sizes(
    operation: Operation, sizes: Sequence[int], order: Sequence[int], policy: str
) -> list[_Axis]:
    shape = operation.shape()
    _check_count(operation, sizes, order, "sizes")
    if not all(1 <= size <= _LARGEST_IMAGE for size in sizes):
        raise operation.error(f"the sizes {list(sizes)} are out of range")
    axes = [_Axis(dim, 1.0, dim if isinstance(dim, int) else None) for dim in shape]
    if policy != "stretch":
        return _axes_in_proportion(axes, sizes, order, policy)
    for axis, size in zip(order, sizes, strict=True):
        axes[axis] = _Axis(shape[axis], 1.0 if size == shape[axis] else None, size)
    return axes


def _axes_in_proportion(
    axes: list[_Axis], sizes: Sequence[int], order: Sequence[int], policy: str
) -> list[_Axis]:
    """Return axes of one scale that keeps the policy.

    The scale makes no axis larger, or smaller, than its size.
    """
    dims = [axes[axis].size for axis in order]
    known = [dim for dim in dims if isinstance(dim, int) and dim > 0]
    if len(known) != len(dims):
        raise NotKnownYetError("it keeps the aspect ratio of an image whose size is not known")
    ratios = [size / dim for size, dim in zip(sizes, known, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    for axis, dim in zip(order, known, strict=True):
        axes[axis] = _Axis(dim, scale, math.floor(dim * scale + 0.5))
    return axes


def _axes_of_unknown(operation: Operation) -> list[_Axis]:
    """Return axes of computed size, batch and channels unchanged."""
    return [
        _Axis(dim, 1.0 if axis < 2 else None, dim if axis < 2 and isinstance(dim, int) else None)
        for axis, dim in enumerate(operation.shape())
    ]


def _with_boxes(operation: Operation, axes: Sequence[_Axis], order: Sequence[int]) -> list[_Axis]:
    """Return the axes with their crop boxes.

    An input holds all starts, then all ends.
    """
    box = operation.known(1).reshape(-1).tolist()
    if len(box) != 2 * len(order) or not all(map(math.isfinite, box)):
        raise operation.error(f"the input 'roi' is {box}: expected {2 * len(order)} finite numbers")
    found = list(axes)
    for place, axis in enumerate(order):
        old = found[axis]
        found[axis] = _Axis(old.size, old.scale, old.target, (box[place], box[len(order) + place]))
    return found


def _check_count(
    operation: Operation, numbers: Sequence[float], order: Sequence[int], what: str
) -> None:
    if len(numbers) != len(order) or len(set(order)) != len(order):
        raise operation.error(
            f"the {what} {list(numbers)} do not fit {len(order)} axes: expected one for each"
        )


def _resized(
    operation: Operation, axes: list[_Axis], sizes: Value | None, sampling: _Sampling
) -> Value:
    rounding = _layer_rounding(axes, sampling)
    if rounding is None:
        if sizes is not None:
            operation.known_integers(3)
        return _resampled(operation, operation.input(), _known(operation, axes), sampling)
    rank, value = len(axes), operation.input()
    image = value if rank == 4 else with_spatial_axes(operation, value, 2)
    targets = [_target(operation, value, axes, index, sizes) for index in range(2, rank)]
    scales = [_layer_scale(axis) for axis in axes[2:]]
    if rank == 3:
        targets.insert(0, 1)
        scales.insert(0, 0.0)
    height, width = targets
    result = operation.network.add_resize(
        image,
        None if isinstance(width, int) else width,
        None if isinstance(height, int) else height,
        target_width=width if isinstance(width, int) else 0,
        target_height=height if isinstance(height, int) else 0,
        method=_METHODS[sampling.mode],
        data_layout=DataLayout.NCHW,
        align_corners=sampling.coordinates == "align_corners",
        half_pixel_centers=sampling.coordinates not in ("align_corners", "asymmetric"),
        rounding=rounding,
        cubic_coefficient=sampling.cubic if sampling.mode == "cubic" else -0.75,
        exclude_outside=sampling.mode == "cubic" and sampling.exclude_outside,
        scale_width=scales[1],
        scale_height=scales[0],
        name=operation.layer_name("" if rank == 4 else "image"),
    )
    return result if rank == 4 else without_spatial_axes(operation, result, 3)


def _known(operation: Operation, axes: Sequence[_Axis]) -> list[_ResizedAxis]:
    """Return the axes that change, whose sizes must be known."""
    found = []
    for index, axis in enumerate(axes):
        if axis.stays:
            continue
        if not isinstance(axis.size, int) or axis.target is None:
            raise NotKnownYetError("it needs the size of an image, which is not known")
        if axis.size < 1 or not 1 <= axis.target <= _LARGEST_IMAGE:
            raise operation.error(
                f"the axis {index} has {axis.size} elements and is to have {axis.target}: expected "
                f"1 to {_LARGEST_IMAGE}"
            )
        scale = axis.target / axis.size if axis.scale is None else axis.scale
        found.append(_ResizedAxis(index, axis.size, axis.target, scale, axis.box))
    return found


def _layer_scale(axis: _Axis) -> float:
    """Return the layer's scale, 0 where the sizes determine it."""
    if axis.scale is None or axis.scale == 1:
        return 0.0
    if isinstance(axis.size, int) and axis.target is not None:
        return 0.0 if axis.size * axis.scale == axis.target else axis.scale
    return 0.0 if axis.scale == math.floor(axis.scale) else axis.scale


def _target(
    operation: Operation, value: Value, axes: list[_Axis], index: int, sizes: Value | None
) -> int | Value:
    """Return an axis's size: a number or a computed list."""
    axis = axes[index]
    if axis.target is not None:
        return axis.target
    if sizes is None and axis.scale is not None and axis.scale != math.floor(axis.scale):
        raise NotKnownYetError(f"its scale {axis.scale:g} is for an image of unknown size")
    vector = shape_vector(operation, value) if sizes is None else sizes
    size = operation.network.add_gather(
        vector,
        operation.integers_constant([index], "axis"),
        axis=0,
        name=operation.layer_name("size"),
    )
    if sizes is not None or axis.scale is None:
        return size
    factor = operation.number(int(axis.scale), size, "scale")
    return binary(operation, BinaryOperation.MUL, size, factor, "target")


def _layer_rounding(axes: Sequence[_Axis], sampling: _Sampling) -> ResizeRounding | None:
    """Return the layer's rounding, None if it lacks the node's."""
    if len(axes) not in (3, 4) or not all(axis.stays for axis in axes[:2]):
        return None
    changed = [axis for axis in axes[2:] if not axis.stays]
    if not changed:
        return ResizeRounding.TENSORFLOW if sampling.mode == "nearest" else None
    if not all(_layer_samples(axis, sampling) for axis in changed):
        return None
    if sampling.mode != "nearest":
        return ResizeRounding.TENSORFLOW
    for rounding in (ResizeRounding.TENSORFLOW, _NEAREST[sampling.nearest]):
        if all(_picks_the_same(axis, sampling, rounding) for axis in changed):
            return rounding
    return None


def _layer_samples(axis: _Axis, sampling: _Sampling) -> bool:
    """Return whether the layer samples an axis alike.

    Places and weights are the same then.
    """
    coordinates, whole = sampling.coordinates, _layer_scale(axis) == 0
    if sampling.antialias and sampling.mode != "nearest" and not _grows(axis):
        return False
    if coordinates == "tf_crop_and_resize" or (axis.target == 0 or axis.size == 0):
        return False
    if coordinates == "pytorch_half_pixel" and (axis.target or 0) < 2:
        return False
    if coordinates in ("align_corners", "half_pixel_symmetric") and not whole:
        return False
    if sampling.mode == "linear" and sampling.exclude_outside:
        return False
    return sampling.mode == "nearest" or coordinates != "tf_half_pixel_for_nn"


def _grows(axis: _Axis) -> bool:
    if isinstance(axis.size, int) and axis.target is not None:
        return axis.target >= axis.size
    return axis.scale is not None and axis.scale >= 1


def _picks_the_same(axis: _Axis, sampling: _Sampling, rounding: ResizeRounding) -> bool:
    """Return whether layer and node pick the same neighbors."""
    coordinates, nearest = sampling.coordinates, sampling.nearest
    size, target = axis.size, axis.target
    if isinstance(size, int) and target is not None and size > 0:
        if max(size, target) > _LARGEST_IMAGE:
            return False
        scale = target / size if axis.scale is None else axis.scale
        known = _ResizedAxis(0, size, target, scale)
        theirs = rounded(_sample_places(known, coordinates), nearest)
        ours = _picked_by_layer(axis, size, target, coordinates, rounding)
        return bool(np.array_equal(np.clip(theirs, 0, size - 1), ours))
    if rounding is not ResizeRounding.TENSORFLOW:
        return coordinates != "tf_half_pixel_for_nn"
    always = {
        ("asymmetric", "floor"),
        ("half_pixel", "round_prefer_ceil"),
        ("half_pixel_symmetric", "round_prefer_ceil"),
        ("pytorch_half_pixel", "round_prefer_ceil"),
        ("align_corners", "round_prefer_ceil"),
        ("tf_half_pixel_for_nn", "floor"),
    }
    # With a whole scale no sample is in the middle of two, so both ways to round agree.
    whole = axis.scale is not None and axis.scale == math.floor(axis.scale)
    half = coordinates in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
    return (coordinates, nearest) in always or (whole and half and nearest == "round_prefer_floor")


def _picked_by_layer(
    axis: _Axis, size: int, target: int, coordinates: str, rounding: ResizeRounding
) -> NDArray[np.float64]:
    """Return the rows that the layer picks.

    It computes in float32, as Arm NN and TFLite do.
    """
    half = np.float32(0 if coordinates in ("asymmetric", "align_corners") else 0.5)
    places = np.arange(target, dtype=np.float32) + half
    given = _layer_scale(axis)
    if coordinates == "align_corners" and target > 1:
        places = places * (np.float32(size - 1) / np.float32(target - 1))
    elif given:
        places = places / np.float32(given)
    else:
        places = places * (np.float32(size) / np.float32(target))
    if rounding is not ResizeRounding.TENSORFLOW:
        name = next(name for name, known in _NEAREST.items() if known is rounding)
        picked = rounded((places - half).astype(np.float64), name)
    elif coordinates == "align_corners":
        picked = np.floor(places + np.float32(0.5)).astype(np.float64)
    else:
        picked = np.floor(places).astype(np.float64)
    return np.clip(picked, 0, size - 1)


_MOST_WEIGHTS = 2**24


_MOST_TAPS = 2**21


class _Sampling(NamedTuple):
    """How a node samples along all of its axes.

    Attributes:
        mode: "nearest", "linear" or "cubic".
        coordinates: ONNX's word for the places of the samples.
        nearest: ONNX's word for the rounding of places.
        antialias: Whether what becomes smaller is smoothed.
        exclude_outside: Whether weights outside of the image are left out.
        cubic: The coefficient of the cubic curve.
        extrapolation: The value outside of a box that is cut out.
    """

    mode: str
    coordinates: str
    nearest: str
    antialias: bool = False
    exclude_outside: bool = False
    cubic: float = -0.75
    extrapolation: float = 0.0


class _ResizedAxis(NamedTuple):
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


def _resampled(
    operation: Operation, value: Value, axes: Sequence[_ResizedAxis], sampling: _Sampling
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
        places = _sample_places(axis, sampling.coordinates)
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


def _sample_places(axis: _ResizedAxis, coordinates: str) -> NDArray[np.float64]:
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
    axis: _ResizedAxis, places: NDArray[np.float64], sampling: _Sampling
) -> NDArray[np.float64]:
    """Return each input sample's weight per output sample, [target, size].

    Raises:
        RefusedError: There are too many.
    """
    if axis.size * axis.target > _MOST_WEIGHTS:
        raise RefusedError(
            f"it needs {axis.size} x {axis.target} weights along an axis: expected at most "
            f"{_MOST_WEIGHTS}"
        )
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


def _outside(
    operation: Operation, axes: Sequence[_ResizedAxis], sampling: _Sampling
) -> Value | None:
    """Return which output samples are outside the image.

    None if that does not matter.
    """
    if sampling.coordinates != "tf_crop_and_resize":
        return None
    rank = len(operation.shape())
    masks = []
    for axis in axes:
        places = _sample_places(axis, sampling.coordinates)
        shape = [1] * rank
        shape[axis.number] = axis.target
        masks.append(((places < 0) | (places > axis.size - 1)).reshape(shape))
    mask = functools.reduce(np.logical_or, masks)
    if not mask.any():
        return None
    return operation.network.add_constant(mask, name=operation.layer_name("outside"))


_SAMPLING_METHODS = {
    "linear": ResizeMethod.BILINEAR,
    "bilinear": ResizeMethod.BILINEAR,
    "nearest": ResizeMethod.NEAREST_NEIGHBOR,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
}


_SAMPLING_PADDING = {
    "zeros": GridPadding.ZEROS,
    "border": GridPadding.BORDER,
    "reflection": GridPadding.REFLECTION,
}


@operator("GridSample")
def grid_sample(operation: Operation) -> Value:
    """Add GridSample."""
    return operation.network.add_grid_sample(
        operation.input(),
        operation.input(1),
        method=_SAMPLING_METHODS[operation.text("mode", _SAMPLING_METHODS)],
        padding_mode=_SAMPLING_PADDING[operation.text("padding_mode", _SAMPLING_PADDING)],
        align_corners=operation.flag("align_corners"),
        name=operation.layer_name(),
    )


@operator("RoiAlign")
def roi_align(operation: Operation) -> Value:
    """Add RoiAlign; before opset 16, pixel centers were integers."""
    halves = ("half_pixel", "output_half_pixel")
    shift = operation.text("coordinate_transformation_mode", halves, "output_half_pixel")
    if operation.text("mode", ("avg", "max")) == "max":
        raise RefusedError("it takes the largest weighted neighbor, no layer does")
    return operation.network.add_roi_align(
        operation.input(),
        operation.input(1),
        operation.input(2),
        output_height=operation.integer("output_height"),
        output_width=operation.integer("output_width"),
        sampling_ratio=operation.integer("sampling_ratio"),
        spatial_scale=operation.real("spatial_scale"),
        half_pixel_centers=shift == "half_pixel",
        pool_type=PoolingAlgorithm.AVERAGE,
        name=operation.layer_name(),
    )
