# SPDX-License-Identifier: MIT
"""Quantized layers in whole numbers.

Sums of products are exact. Networks of TensorFlow Lite round them as its kernels do, by fixed-point
factors, to the same bits; others by real factors. Layers without a form here are computed in real
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from armnn.layers.convolution import (
    Convolution2dDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.layers.elementwise import ElementwiseBinaryDescriptor
from armnn.layers.matmul import FullyConnectedDescriptor
from armnn.layers.pooling import Pooling2dDescriptor
from armnn.layers.reduction import MeanDescriptor
from armnn.quantization import quantization_arrays
from armnn.types import BinaryOperation, DataType, PaddingMethod, PoolingAlgorithm
from armnn_backend_cl.elements import Elements, accessors, elements_of
from armnn_backend_cl.launches import Argument, In, Launch, Out, Weights
from armnn_backend_cl.layers.convolution import transposed_window, window_of
from armnn_backend_cl.layers.matmul import matrices_of
from armnn_backend_cl.layers.pooling import pooled
from armnn_backend_cl.layers.table import constant, lowers_steps, program, require_nhwc, shape_of
from armnn_backend_cl.views import View, outer_and_inner, walked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer
    from armnn.tensor import TensorInfo

_PANEL: Final = 8
"""Output channels that a work item of a convolution makes."""

_OPERATIONS: Final = {
    "Addition": BinaryOperation.ADD,
    "Subtraction": BinaryOperation.SUB,
    "Multiplication": BinaryOperation.MUL,
}


@lowers_steps("Convolution2d")
def convolution2d(layer: Layer, is_integer: bool) -> Sequence[Launch] | None:
    """Return the launch of a convolution."""
    d = cast("Convolution2dDescriptor", layer.descriptor)
    if not _has_whole_sums(layer):
        return None
    require_nhwc(d.data_layout)
    weights = constant(layer, "weights")
    assert weights is not None
    _, height, width, channels = shape_of(layer.input_infos[0])
    out_shape = shape_of(layer.output_infos[0])
    groups = channels // max(weights.shape[3], 1) or 1
    sizes = (groups, height, width, channels, *out_shape[1:])
    rounding = "twice_rounded"
    return _convolved(
        layer, is_integer, sizes, window_of(d, weights), rounding, is_transposed=False
    )


@lowers_steps("FullyConnected")
def fully_connected(layer: Layer, is_integer: bool) -> Sequence[Launch] | None:
    """Return the launch of a convolution of single pixels."""
    d = cast("FullyConnectedDescriptor", layer.descriptor)
    if not _has_whole_sums(layer):
        return None
    weights = constant(layer, "weights")
    assert weights is not None
    rows, outputs = shape_of(layer.output_infos[0])
    depth = weights.shape[1 if d.transpose_weight_matrix else 0]
    sizes = (1, rows, 1, depth, rows, 1, outputs)
    window = (1, 1, 1, 1, 1, 1, 0, 0)
    is_transposed = not d.transpose_weight_matrix
    return _convolved(layer, is_integer, sizes, window, "once_rounded", is_transposed=is_transposed)


@lowers_steps("DepthwiseConvolution2d")
def depthwise_convolution2d(layer: Layer, is_integer: bool) -> Sequence[Launch] | None:
    """Return the launch of a depthwise convolution."""
    d = cast("DepthwiseConvolution2dDescriptor", layer.descriptor)
    if not _has_whole_sums(layer):
        return None
    require_nhwc(d.data_layout)
    weights = constant(layer, "weights")
    assert weights is not None
    info = cast("TensorInfo", layer.input_infos[1])

    def packed(array: NDArray[Any]) -> NDArray[Any]:
        return _without_zeros(array, info)

    ordered = Weights((weights,), ("steps", info), packed)
    sizes = _pixels_and_channels(layer)
    return _gathered(layer, is_integer, "depthwise_steps", ordered, sizes, window_of(d, weights))


@lowers_steps("TransposeConvolution2d")
def transpose_convolution2d(layer: Layer, is_integer: bool) -> Sequence[Launch] | None:
    """Return the launch of a transposed convolution."""
    d = cast("TransposeConvolution2dDescriptor", layer.descriptor)
    if not _has_whole_sums(layer):
        return None
    require_nhwc(d.data_layout)
    weights = constant(layer, "weights")
    assert weights is not None
    info = cast("TensorInfo", layer.input_infos[1])

    def packed(array: NDArray[Any]) -> NDArray[Any]:
        return _without_zeros(array, info).transpose(1, 2, 3, 0)

    ordered = Weights((weights,), ("steps, taps first", info), packed)
    sizes = _pixels_and_channels(layer)
    sizes = (sizes[2] // max(weights.shape[3], 1) or 1, *sizes)
    window = transposed_window(d, weights)
    return _gathered(layer, is_integer, "transpose_convolve_steps", ordered, sizes, window)


@lowers_steps("BatchMatMul")
def batch_mat_mul(layer: Layer, is_integer: bool) -> Sequence[Launch] | None:
    """Multiply the matrices in the last two axes."""
    x, other = cast("list[TensorInfo]", layer.input_infos)
    y = layer.output_infos[0]
    if not all(map(_is_plain, (x, other, y))):
        return None
    left, right, *batches = matrices_of(layer)
    (rows, depth), columns = left.shape[-2:], right.shape[-1]
    scale = _scale(x) * _scale(other)
    real = int(np.float32(scale).view(np.int32)), 0
    by = _fixed_point(scale / _scale(y)) if is_integer else real
    arguments: tuple[Argument, ...] = (
        In(0),
        In(1),
        Out(0),
        y.num_elements,
        rows,
        columns,
        depth,
        *batches,
        (*left.strides[-2:], *right.strides[-2:], 0, 0, 0, 0),
        (*by, 0, 0, 0, 0, 0, 0),
    )
    text = accessors(x=elements_of(x), other=elements_of(other), y=elements_of(y))
    is_wide = x.data_type.bits > 8 or other.data_type.bits > 8
    source = _program_of_sums(text, x, y, is_wide, is_integer, "twice_rounded")
    return [Launch(source, "matmul_steps", arguments, y.num_elements)]


@lowers_steps("ElementwiseBinary", *_OPERATIONS)
def arithmetic(layer: Layer, is_integer: bool) -> Sequence[Launch] | None:
    """Add or subtract in common steps, or multiply."""
    d = layer.descriptor
    operation = (
        d.operation if isinstance(d, ElementwiseBinaryDescriptor) else _OPERATIONS[str(layer.type)]
    )
    x, other, y = *cast("list[TensorInfo]", layer.input_infos), layer.output_infos[0]
    kinds = {info.data_type for info in (x, other, y)}
    if (
        not is_integer
        or operation not in _OPERATIONS.values()
        or len(kinds) != 1
        or not all(map(_is_plain, (x, other, y)))
    ):
        return None
    first, second, third = map(_scale, (x, other, y))
    if operation is BinaryOperation.MUL:
        by = [*_fixed_point(first * second / third), 0, 0, 0, 0, 0, 0]
    else:
        common = 2 * max(first, second)
        shift = 15 if y.data_type is DataType.QSYMM_S16 else 20
        numbers = (first / common, second / common, common / (2**shift * third))
        sign = -1 if operation is BinaryOperation.SUB else 1
        by = [*(part for number in numbers for part in _fixed_point(number)), shift, sign]
    target = View.of(y.static_shape)
    views = [View.of(info.static_shape).broadcast(target.shape) for info in (x, other)]
    sizes, (_, *strides) = walked(target, *views)
    arguments: tuple[Argument, ...] = (In(0), In(1), Out(0), target.size, sizes, *strides, by)
    source = _source(x=x, other=other, y=y)
    return [Launch(source, "combine_steps", arguments, target.size)]


@lowers_steps("Quantize")
def requantize(layer: Layer, is_integer: bool) -> Sequence[Launch] | None:
    """Return the steps in other steps."""
    return _rescaled(layer, [], _fixed_point_of(layer)) if _is_whole(layer, is_integer) else None


@lowers_steps("Mean")
def mean(layer: Layer, is_integer: bool) -> Sequence[Launch] | None:
    """Return the mean over some axes; the factor divides by the count, in as many bits as fit."""
    d = cast("MeanDescriptor", layer.descriptor)
    if not _is_whole(layer, is_integer):
        return None
    shape = shape_of(layer.input_infos[0])
    axes = [axis % len(shape) for axis in d.axis] or list(range(len(shape)))
    count = math.prod(shape[axis] for axis in axes)
    if not count:
        return None
    factor, exponent = _fixed_point_of(layer)
    shift = min(count.bit_length() - 1, 32, 31 + exponent)
    return _rescaled(layer, axes, ((factor << shift) // count, exponent - shift))


@lowers_steps("Pooling2d")
def average(layer: Layer, is_integer: bool) -> Sequence[Launch] | None:
    """Return averages of the stored numbers; halves are rounded away from their zero."""
    d = cast("Pooling2dDescriptor", layer.descriptor)
    (x,), (y,) = cast("list[TensorInfo]", layer.input_infos), layer.output_infos
    if (
        not _is_whole(layer, is_integer)
        or d.pool_type is not PoolingAlgorithm.AVERAGE
        or d.padding_method is not PaddingMethod.EXCLUDE
        or not x.is_type_space_match(y)
    ):
        return None
    stored = elements_of(x).stored
    whole = Elements(
        stored, "float", "(float)*({p})", f"*({{p}}) = convert_{stored}_sat(round({{v}}))"
    )
    return pooled(layer, whole, whole, ZERO="y_steps.y")


def _is_plain(info: TensorInfo) -> bool:
    """Return whether a tensor has one scale and zero point."""
    return info.is_quantized and len(info.scales) == 1


def _is_whole(layer: Layer, is_integer: bool) -> bool:
    """Return whether the input and the output are steps, and rounded as TensorFlow Lite does."""
    x = layer.input_infos[0]
    return is_integer and x is not None and _is_plain(x) and _is_plain(layer.output_infos[0])


def _has_whole_sums(layer: Layer) -> bool:
    """Return whether a layer with weights is one of whole numbers."""
    x, weights, *rest = layer.input_infos
    bias = rest[0] if rest else None
    return (
        x is not None
        and _is_plain(x)
        and weights is not None
        and weights.is_quantized
        and bool(weights.scales)
        and (bias is None or bias.data_type is DataType.SIGNED32)
    )


def _scale(info: TensorInfo) -> float:
    return float(np.float32(info.scales[0]))


def _fixed_point(number: float) -> tuple[int, int]:
    """Return a positive number as ``factor * 2^(exponent - 31)``, the factor of 31 bits."""
    fraction, exponent = math.frexp(number)
    factor = math.floor(fraction * 2.0**31 + 0.5)
    if factor == 2**31:
        factor, exponent = factor // 2, exponent + 1
    return (0, 0) if exponent < -31 else (factor, exponent)


def _fixed_point_of(layer: Layer) -> tuple[int, int]:
    x = cast("TensorInfo", layer.input_infos[0])
    return _fixed_point(_scale(x) / _scale(layer.output_infos[0]))


def _convolved(
    layer: Layer,
    is_integer: bool,
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    rounding: str,
    *,
    is_transposed: bool,
) -> Sequence[Launch]:
    """Return a launch of a convolution.

    Args:
        layer: A layer with whole sums.
        is_integer: Whether they are rounded as TensorFlow Lite does.
        sizes: Groups; height, width and channels of the input; the same of the output.
        window: Rows, columns, strides, dilations, padding before.
        rounding: How TensorFlow Lite rounds sums of this layer.
        is_transposed: Whether the channels of the output are the last axis of the weights.
    """
    groups, out_channels = sizes[0], sizes[-1]
    count = out_channels // groups
    panels = -(-count // _PANEL)
    info = cast("TensorInfo", layer.input_infos[1])
    weights = constant(layer, "weights")
    assert weights is not None

    def packed(array: NDArray[Any]) -> NDArray[Any]:
        """Return [groups, panels, taps * I, 8], with zeros behind the last channel."""
        whole = _without_zeros(array, info)
        rows = (whole.T if is_transposed else whole).reshape(groups, count, -1)
        padded = np.zeros((groups, panels * _PANEL, rows.shape[2]), whole.dtype)
        padded[:, :count] = rows
        return padded.reshape(groups, panels, _PANEL, -1).transpose(0, 1, 3, 2)

    places = math.prod(shape_of(layer.output_infos[0])[:-1])
    items = places * groups * panels
    arguments: tuple[Argument, ...] = (
        In(0),
        Weights((weights,), ("steps", groups, is_transposed, info), packed),
        _channels(layer, is_integer, out_channels),
        Out(0),
        items,
        *sizes,
        window,
    )
    return [
        Launch(_source_of_sums(layer, is_integer, rounding), "convolve_steps", arguments, items)
    ]


def _pixels_and_channels(layer: Layer) -> tuple[int, ...]:
    """Return height, width and channels of the input, then those of the output, both NHWC."""
    return (*shape_of(layer.input_infos[0])[1:], *shape_of(layer.output_infos[0])[1:])


def _gathered(
    layer: Layer,
    is_integer: bool,
    kernel: str,
    weights: Weights,
    sizes: tuple[int, ...],
    window: tuple[int, ...],
) -> Sequence[Launch]:
    """Return a launch whose work items make one element of the output each.

    Args:
        layer: A layer with whole sums.
        is_integer: Whether they are rounded as TensorFlow Lite does.
        kernel: The kernel.
        weights: The weights in its order.
        sizes: Its sizes; the last one is the number of output channels.
        window: Rows, columns, strides, dilations, padding before.
    """
    items = math.prod(shape_of(layer.output_infos[0]))
    channels = _channels(layer, is_integer, sizes[-1])
    arguments: tuple[Argument, ...] = (In(0), weights, channels, Out(0), items, *sizes, window)
    return [Launch(_source_of_sums(layer, is_integer, "twice_rounded"), kernel, arguments, items)]


def _without_zeros(array: NDArray[Any], info: TensorInfo) -> NDArray[Any]:
    """Return weights without their zero points, in 8 bits if these are zero."""
    _, zeros = quantization_arrays(info)
    return (array - zeros).astype(_type_of_weights(info))


def _type_of_weights(info: TensorInfo) -> type[np.signedinteger[Any]]:
    if info.data_type.bits > 8:
        return np.int32
    is_signed = info.data_type is not DataType.QASYMM_U8
    return np.int8 if is_signed and not any(info.zero_points) else np.int16


def _channels(layer: Layer, is_integer: bool, count: int) -> Weights:
    """Return bias, factor and exponent of each channel; a real factor as its bits."""
    x, info, *_ = cast("list[TensorInfo]", layer.input_infos)
    weights, y = constant(layer, "weights"), layer.output_infos[0]
    bias = constant(layer, "bias")
    assert weights is not None
    is_rounded = is_integer and _is_plain(y)

    def packed(array: NDArray[Any]) -> NDArray[Any]:
        channels = np.zeros((count, 3), np.int32)
        if bias is not None:
            channels[:, 0] = array.reshape(-1)
        scales = _scale(x) * np.array(info.scales, np.float32).astype(np.float64)
        if is_rounded:
            channels[:, 1:] = [_fixed_point(scale) for scale in (scales / _scale(y)).tolist()]
        else:
            channels[:, 1] = scales.astype(np.float32).view(np.int32)
        return channels

    order = ("channels", x.scales, info.scales, y.scales if is_rounded else None, count)
    return Weights((weights if bias is None else bias,), order, packed)


def _source_of_sums(layer: Layer, is_integer: bool, rounding: str) -> str:
    x, info, *_ = cast("list[TensorInfo]", layer.input_infos)
    y = layer.output_infos[0]
    stored = {np.int8: "char", np.int16: "short", np.int32: "int"}[_type_of_weights(info)]
    text = accessors(x=elements_of(x), weights=Elements(stored, "int"), y=elements_of(y))
    is_wide = x.data_type.bits > 8 or info.data_type.bits > 8
    return _program_of_sums(text, x, y, is_wide, is_integer and _is_plain(y), rounding)


def _program_of_sums(
    text: str, x: TensorInfo, y: TensorInfo, is_wide: bool, is_integer: bool, rounding: str
) -> str:
    """Return the program of products.

    Args:
        text: Accessors.
        x: The data.
        y: The result.
        is_wide: Whether the sums have more than 32 bits.
        is_integer: Whether they are rounded as TensorFlow Lite does.
        rounding: How it rounds those of 8 bits.
    """
    macros: dict[str, object] = {"SUM": "long" if is_wide else "int"}
    if is_integer:
        wide_rounding = "narrowly_rounded" if rounding == "twice_rounded" else rounding
        macros["ROUNDED"] = wide_rounding if x.data_type.bits > 8 else rounding
        limits = np.iinfo(y.data_type.numpy_dtype)
        macros |= {"LOWEST": limits.min, "HIGHEST": limits.max}
    else:
        macros["REAL"] = 1
    return program(text, "steps.cl", **macros)


def _source(**tensors: TensorInfo) -> str:
    limits = np.iinfo(tensors["y"].data_type.numpy_dtype)
    text = accessors(**{name: elements_of(info) for name, info in tensors.items()})
    return program(text, "steps.cl", LOWEST=limits.min, HIGHEST=limits.max)


def _rescaled(layer: Layer, axes: Sequence[int], by: tuple[int, int]) -> Sequence[Launch]:
    """Return the launch that makes other steps of sums over some axes."""
    x, y = cast("TensorInfo", layer.input_infos[0]), layer.output_infos[0]
    kept, gone = outer_and_inner(View.of(x.static_shape), axes)
    kept_sizes, (kept_strides,) = walked(kept)
    sizes, (strides,) = walked(gone)
    arguments = (
        In(0), Out(0), kept.size, gone.size, kept_sizes, kept_strides, sizes, strides, *by
    )  # fmt: skip
    return [Launch(_source(x=x, y=y), "rescale_steps", arguments, kept.size)]
