# SPDX-License-Identifier: MIT
"""Images in another size: what the Resize layer can mean, the rest is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armnn.types import BinaryOperation, DataLayout, ResizeMethod
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import RefusedError
from armnn_parser_onnx.operators.activation import binary
from armnn_parser_onnx.shapes import shape_vector, with_spatial_axes, without_spatial_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from armnn.graph import Value
    from armnn.tensor import Dimension
    from armnn_parser_onnx.operation import Operation

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
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_LARGEST_IMAGE = 2**20


@dataclass(frozen=True, slots=True)
class _Axis:
    """What happens to one axis.

    Attributes:
        size: The input's dimension.
        scale: How many output positions there are per input position; None if the sizes say it.
        target: The output's dimension; None if it is computed.
    """

    size: Dimension
    scale: float | None
    target: int | None


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
    """Add Resize as opset 10 means it, which is what Upsample means."""
    scales = operation.known(1).reshape(-1).tolist()
    if operation.text("mode", _MODES[:2]) == "nearest" and any(scale < 1 for scale in scales):
        raise RefusedError(
            "opset 10 does not say which neighbour is the nearest in a smaller image"
        )
    return _upsample(operation, scales)


def _upsample(operation: Operation, scales: Sequence[float]) -> Value:
    mode = operation.text("mode", _MODES[:2])
    axes = _axes_from_scales(operation, scales, range(len(operation.shape())))
    return _resized(operation, axes, None, mode, "asymmetric", "floor")


@operator("Resize", since=11)
def resize(operation: Operation) -> Value:
    """Add Resize to a size that is known, or that scales or a computed size tell."""
    mode = operation.text("mode", _MODES)
    coordinates = operation.text("coordinate_transformation_mode", _COORDINATES)
    nearest = operation.text("nearest_mode", _NEAREST)
    if operation.text("keep_aspect_ratio_policy", _POLICIES, "stretch") != "stretch":
        raise RefusedError("it keeps the aspect ratio")
    rank = len(operation.shape())
    said = operation.integers("axes")
    order = range(rank) if said is None else [operation.axis(axis, rank) for axis in said]
    sizes = operation.optional_input(3)
    if sizes is None:
        scales = operation.known(2).reshape(-1).tolist() if operation.has_input(2) else []
        axes, computed = _axes_from_scales(operation, scales, order), None
    elif sizes.constant is None:
        axes, computed = _axes_of_unknown(operation, order), sizes
    else:
        targets = operation.known_integers(3)
        axes, computed = _axes_from_sizes(operation, targets or (), order), None
    if operation.flag("antialias") and not all(_grows(axis) for axis in axes):
        raise RefusedError("it smooths what it makes smaller (antialias)")
    return _resized(operation, axes, computed, mode, coordinates, nearest)


def _grows(axis: _Axis) -> bool:
    if isinstance(axis.size, int) and axis.target is not None:
        return axis.target >= axis.size
    return axis.scale is not None and axis.scale >= 1


_POLICIES = ("stretch", "not_larger", "not_smaller")


def _axes_from_scales(
    operation: Operation, scales: Sequence[float], order: Sequence[int]
) -> list[_Axis]:
    shape = operation.shape()
    _check_count(operation, scales, order, "scales")
    axes = [_Axis(dim, 1.0, dim if isinstance(dim, int) else None) for dim in shape]
    for axis, scale in zip(order, scales, strict=True):
        if not (math.isfinite(scale) and scale > 0):
            raise operation.error(f"the scales {list(scales)} must be finite and above 0")
        dim = shape[axis]
        target = math.floor(dim * scale) if isinstance(dim, int) else None
        axes[axis] = _Axis(dim, float(scale), target)
    return axes


def _check_whole(axes: list[_Axis]) -> None:
    """Check that a scale is what becomes of the sizes, which is what the layer goes by.

    Raises:
        RefusedError: The output is cut off within an element.
    """
    for axis in axes:
        scale, size = axis.scale, axis.size
        if scale is None:
            continue
        if isinstance(size, int) and axis.target is not None:
            if size * scale != axis.target:
                raise RefusedError(f"its scale {scale:g} does not make whole elements of {size}")
        elif scale != math.floor(scale):
            raise RefusedError(
                f"its scale {scale:g} may not make whole elements of an unknown size"
            )


def _axes_from_sizes(
    operation: Operation, sizes: Sequence[int], order: Sequence[int]
) -> list[_Axis]:
    shape = operation.shape()
    _check_count(operation, sizes, order, "sizes")
    axes = [_Axis(dim, 1.0, dim if isinstance(dim, int) else None) for dim in shape]
    for axis, size in zip(order, sizes, strict=True):
        if not 1 <= size <= _LARGEST_IMAGE:
            raise operation.error(f"the sizes {list(sizes)} are out of range")
        dim = shape[axis]
        axes[axis] = _Axis(dim, 1.0 if size == dim else None, size)
    return axes


def _axes_of_unknown(operation: Operation, order: Sequence[int]) -> list[_Axis]:
    """Return axes of computed size, of which batch and channels are taken to stay."""
    shape = operation.shape()
    if list(order) != list(range(len(shape))):
        raise RefusedError("its sizes are computed and for some axes only")
    return [
        _Axis(dim, 1.0 if axis < 2 else None, dim if axis < 2 and isinstance(dim, int) else None)
        for axis, dim in enumerate(shape)
    ]


def _check_count(
    operation: Operation, numbers: Sequence[float], order: Sequence[int], what: str
) -> None:
    if len(numbers) != len(order) or len(set(order)) != len(order):
        raise operation.error(
            f"the {what} {list(numbers)} do not fit {len(order)} axes: expected one for each"
        )


def _resized(
    operation: Operation,
    axes: list[_Axis],
    sizes: Value | None,
    mode: str,
    coordinates: str,
    nearest: str,
) -> Value:
    rank = len(axes)
    if rank not in (3, 4) or any(axis.scale != 1 for axis in axes[:2]):
        raise RefusedError("only images [N, C, H, W] or [N, C, W] can be resized, along H and W")
    if mode == "cubic":
        raise RefusedError("no layer interpolates with cubic curves")
    _check_whole(axes)
    align_corners, half_pixels = _layer_flags(axes[2:], mode, coordinates, nearest)
    value = operation.input()
    image = value if rank == 4 else with_spatial_axes(operation, value, 2)
    targets = [_target(operation, value, axes, index, sizes) for index in range(2, rank)]
    if rank == 3:
        targets.insert(0, 1)
    height, width = targets
    result = operation.network.add_resize(
        image,
        None if isinstance(width, int) else width,
        None if isinstance(height, int) else height,
        target_width=width if isinstance(width, int) else 0,
        target_height=height if isinstance(height, int) else 0,
        method=ResizeMethod.BILINEAR if mode == "linear" else ResizeMethod.NEAREST_NEIGHBOR,
        data_layout=DataLayout.NCHW,
        align_corners=align_corners,
        half_pixel_centers=half_pixels,
        name=operation.layer_name("" if rank == 4 else "image"),
    )
    return result if rank == 4 else without_spatial_axes(operation, result, 3)


def _target(
    operation: Operation, value: Value, axes: list[_Axis], index: int, sizes: Value | None
) -> int | Value:
    """Return the size along an axis: a number, or a list of one that is computed."""
    axis = axes[index]
    if axis.target is not None:
        return axis.target
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


def _layer_flags(axes: list[_Axis], mode: str, coordinates: str, nearest: str) -> tuple[bool, bool]:
    """Return align_corners and half_pixel_centers of a layer that samples at the same places."""
    if coordinates == "tf_crop_and_resize":
        raise RefusedError("it crops while it resizes (tf_crop_and_resize)")
    if coordinates == "pytorch_half_pixel" and not all((a.target or 0) > 1 for a in axes):
        raise RefusedError("pytorch_half_pixel is another function for an output of one element")
    flags = (coordinates == "align_corners", coordinates not in ("align_corners", "asymmetric"))
    if mode == "linear" or all(_picks_the_same(a, coordinates, nearest) for a in axes):
        return flags
    raise RefusedError(f"no layer picks neighbours by {coordinates} and {nearest}, as it does")


def _picks_the_same(axis: _Axis, coordinates: str, nearest: str) -> bool:
    """Whether the layer picks the neighbours that the node picks along an axis."""
    if axis.scale == 1:
        return True
    size, target = axis.size, axis.target
    if isinstance(size, int) and target is not None and size > 0:
        if max(size, target) > _LARGEST_IMAGE:
            return False
        theirs = _picked_by_node(size, target, coordinates, nearest)
        ours = _picked_by_layer(size, target, coordinates)
        return bool(np.array_equal(theirs, ours))
    always = {
        ("asymmetric", "floor"),
        ("half_pixel", "round_prefer_ceil"),
        ("half_pixel_symmetric", "round_prefer_ceil"),
        ("pytorch_half_pixel", "round_prefer_ceil"),
        ("align_corners", "round_prefer_ceil"),
        ("tf_half_pixel_for_nn", "floor"),
    }
    # With a whole scale no sample lies in the middle of two, so both ways to round agree.
    whole = axis.scale is not None and axis.scale == math.floor(axis.scale)
    half = coordinates in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
    return (coordinates, nearest) in always or (whole and half and nearest == "round_prefer_floor")


def _picked_by_node(size: int, target: int, coordinates: str, nearest: str) -> NDArray[np.float64]:
    positions = np.arange(target, dtype=np.float64)
    if coordinates == "align_corners":
        places = positions * ((size - 1) / (target - 1) if target > 1 else 0)
    elif coordinates == "asymmetric":
        places = positions * size / target
    elif coordinates == "tf_half_pixel_for_nn":
        places = (positions + 0.5) * size / target
    else:
        places = (positions + 0.5) * size / target - 0.5
    rounded = {
        "round_prefer_floor": np.ceil(places - 0.5),
        "round_prefer_ceil": np.floor(places + 0.5),
        "floor": np.floor(places),
        "ceil": np.ceil(places),
    }[nearest]
    clipped: NDArray[np.float64] = np.clip(rounded, 0, size - 1)
    return clipped


def _picked_by_layer(size: int, target: int, coordinates: str) -> NDArray[np.float64]:
    """Return the rows that the layer picks; it computes in float32, as Arm NN and TFLite do."""
    positions = np.arange(target, dtype=np.float32)
    if coordinates == "align_corners":
        scale = np.float32(size - 1) / np.float32(max(target - 1, 1))
        picked = np.floor(positions * scale + np.float32(0.5))
    else:
        half = np.float32(0 if coordinates == "asymmetric" else 0.5)
        picked = np.floor((positions + half) * (np.float32(size) / np.float32(target)))
    clipped: NDArray[np.float64] = np.clip(picked, 0, size - 1).astype(np.float64)
    return clipped
