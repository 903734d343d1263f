# SPDX-License-Identifier: MIT
"""Quantized layers in integers, bit-exact with TensorFlow Lite's reference kernels.

A layer computes steps whose zero points are subtracted, so the result is a whole number that
floating point holds exactly. A fixed-point factor and a shift convert it to steps of the output:
gemmlowp's scheme, on which the specification of TensorFlow Lite's quantization builds. Real numbers
in between would be rounded elsewhere, and single steps grow from layer to layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from armnn.graph import Layer
from armnn.quantization import quantization_arrays, round_half_away
from armnn.tensor import TensorInfo
from armnn.types import BinaryOperation, DataType, PaddingMethod, PoolingAlgorithm
from armnn_backend_ref.encoding import Decoder, Encoder
from armnn_backend_ref.ops import Array

Scale: TypeAlias = "Callable[[Array, FixedPoint], Array]"
"""From whole numbers to steps of the output, before its zero point is added."""

_EXACT_IN_FLOAT32 = 2**24
"""Whole numbers below it are exact in float32, whose products are twice as fast as float64's."""

_ARITHMETIC = {
    "Addition": BinaryOperation.ADD,
    "Subtraction": BinaryOperation.SUB,
    "Multiplication": BinaryOperation.MUL,
}
_WEIGHT_AXES = {
    "Convolution2d": 0,
    "DepthwiseConvolution2d": 3,
    "TransposeConvolution2d": 0,
    "FullyConnected": 0,
    "BatchMatMul": -1,
}
"""Layers that are sums of products, and the axis of the outputs in the weights."""


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Positive real numbers as ``factor * 2^(exponent - 31)``.

    The factor has 31 bits.
    """

    factor: Array
    exponent: Array


@dataclass(frozen=True, slots=True)
class IntegerForm:
    """How a layer is computed in integers.

    Attributes:
        decoders: The functions that make whole numbers of the inputs, by place; those left out are
            as stored.
        encoder: The function that stores the result.
        function: The function in the place of the layer's operation; None for that.
        real: The type of the whole numbers that the decoders make.
    """

    decoders: Mapping[int, Decoder]
    encoder: Encoder
    function: Callable[..., Array] | None = None
    real: type[np.floating[Any]] = np.float64


def integer_form(layer: Layer) -> IntegerForm | None:
    """Return a layer's integer form, None if it has none.

    Without one it is computed in real numbers.
    """
    output = layer.output_infos[0] if len(layer.output_infos) == 1 else None
    data = layer.input_infos[0] if layer.input_infos else None
    if output is None or data is None or not (_is_plain(output) and _is_plain(data)):
        return None
    if any(info is not None and info.data_type.is_float for info in layer.input_infos):
        return None
    if layer.type in _WEIGHT_AXES:
        return _products(layer, data, output)
    if layer.type in _ARITHMETIC or layer.type == "ElementwiseBinary":
        return _arithmetic(layer, output)
    if layer.type == "Quantize":
        factor = fixed_point(_scale(data) / _scale(output))
        return IntegerForm(
            {0: _offset(data)}, partial(_store_scaled, output, factor, twice_rounded)
        )
    if layer.type == "Mean":
        return _mean(data, output)
    return _average(layer, data, output) if layer.type == "Pooling2d" else None


def fixed_point(numbers: Array | float) -> FixedPoint:
    """Return positive real numbers as factors and exponents."""
    fractions, exponents = np.frexp(np.asarray(numbers, np.float64))
    factors = np.floor(fractions * 2.0**31 + 0.5).astype(np.int64)
    rounded_up = factors == 2**31
    factors = np.where(rounded_up, factors // 2, factors)
    exponents = exponents.astype(np.int64) + rounded_up
    vanishing = exponents < -31
    return FixedPoint(np.where(vanishing, 0, factors), np.where(vanishing, 0, exponents))


def twice_rounded(numbers: Array, by: FixedPoint) -> Array:
    """Multiply, round the upper 32 bits, shift and round again.

    Halves go up first, then away from zero (gemmlowp: SaturatingRoundingDoublingHighMul and
    RoundingDivideByPOT).
    """
    left, right = np.maximum(by.exponent, 0), np.maximum(-by.exponent, 0)
    scaled: Array = numbers << left if left.any() else numbers.copy()
    scaled *= by.factor
    scaled += 1 << 30
    scaled >>= 31
    # A shift rounds down: a half below zero is let fall short of the next number.
    scaled += np.where(right > 0, scaled >> 63, 0) + ((1 << right) >> 1)
    scaled >>= right
    return scaled


def once_rounded(numbers: Array, by: FixedPoint) -> Array:
    """Multiply, shift the whole product and round, halves up."""
    shift = 31 - by.exponent
    scaled: Array = (numbers * by.factor + (1 << (shift - 1))) >> shift
    return scaled


def narrowly_rounded(numbers: Array, by: FixedPoint) -> Array:
    """Multiply by the factor's upper 16 bits, shift and round.

    Halves are rounded up.

    Sums of products with 16-bit activations, which have more than 32 bits, are rounded like this.
    """
    factor = np.where(by.factor < 0x7FFF0000, (by.factor + (1 << 15)) >> 16, 0x7FFF)
    shift = 15 - by.exponent
    scaled: Array = (numbers * factor + (1 << (shift - 1))) >> shift
    return scaled


def _is_plain(info: TensorInfo) -> bool:
    """Return whether a tensor has one scale and zero point."""
    return info.is_quantized and len(info.scales) == 1


def _is_wide(info: TensorInfo) -> bool:
    return info.data_type.bits > 8


def _scale(info: TensorInfo) -> float:
    return float(np.float32(info.scales[0]))


def _offset(info: TensorInfo, real: type[np.floating[Any]] = np.float64) -> Decoder:
    _, zero_points = quantization_arrays(info)
    return Decoder(np.dtype(real), partial(_steps, zero_points))


def _steps(zero_points: Array, values: Array, stored: Array) -> None:
    """Write steps minus the zero point as fast floats.

    Products of real numbers are faster than those of integers.
    """
    np.subtract(stored, zero_points, out=values, dtype=zero_points.dtype)


def _store_scaled(
    info: TensorInfo, by: FixedPoint, scale: Scale, stored: Array, results: Array
) -> None:
    whole = np.rint(results).astype(np.int64)
    _saturate(stored, scale(whole, by) + info.zero_points[0])


def _saturate(stored: Array, steps: Array) -> None:
    limits = np.iinfo(stored.dtype)
    np.copyto(stored, np.clip(steps, limits.min, limits.max), casting="unsafe")


def _products(layer: Layer, data: TensorInfo, output: TensorInfo) -> IntegerForm | None:
    weights = layer.input_infos[1]
    bias = layer.input_infos[2] if len(layer.input_infos) > 2 else None
    if weights is None or not weights.is_quantized:
        return None
    if bias is not None and bias.data_type is not DataType.SIGNED32:
        return None
    axis = _WEIGHT_AXES[layer.type] % len(weights.static_shape)
    if weights.axis not in (None, axis):
        return None
    scales = _scale(data) * np.array(weights.scales, np.float32).astype(np.float64)
    by = fixed_point(scales / _scale(output))
    if len(weights.scales) > 1:
        layout = getattr(layer.descriptor, "data_layout", None)
        channels = -1 if layout is None else layout.channel_axis
        by = _along(by, channels % len(output.static_shape), len(output.static_shape))
    scale = narrowly_rounded if _is_wide(data) else twice_rounded
    if layer.type == "FullyConnected":
        scale = once_rounded
    encoder = partial(_store_sums, output, by, scale, _is_wide(data))
    real = np.float32 if _largest_sum(layer, data, axis) < _EXACT_IN_FLOAT32 else np.float64
    decoders: dict[int, Decoder] = {0: _offset(data, real), 1: _offset(weights, real)}
    if bias is not None:
        decoders[2] = Decoder(np.dtype(real), _whole)
    return IntegerForm(decoders, encoder, real=real)


def _largest_sum(layer: Layer, data: TensorInfo, axis: int) -> float:
    """Return a bound of the layer's sums.

    It is infinite if the weights are computed.
    """
    _, weights, *rest = layer.inputs
    bias = rest[0] if rest else None
    if weights is None or weights.constant is None:
        return math.inf
    if bias is not None and bias.constant is None:
        return math.inf
    limits = np.iinfo(data.data_type.numpy_dtype)
    reach = max(data.zero_points[0] - limits.min, limits.max - data.zero_points[0])
    _, zero_points = quantization_arrays(weights.info)
    sizes = np.abs(weights.constant - zero_points.astype(np.int64))
    sums = sizes.sum(tuple(at for at in range(sizes.ndim) if at != axis))
    offset = 0 if bias is None or bias.constant is None else np.abs(bias.constant.astype(np.int64))
    return float(reach * sums.max(initial=0) + np.max(offset, initial=0))


def _along(by: FixedPoint, axis: int, rank: int) -> FixedPoint:
    shape = [1] * rank
    shape[axis] = -1
    return FixedPoint(by.factor.reshape(shape), by.exponent.reshape(shape))


def _whole(values: Array, stored: Array) -> None:
    np.copyto(values, stored, casting="unsafe")  # float32 where it holds the integers exactly


def _store_sums(
    info: TensorInfo, by: FixedPoint, scale: Scale, wide: bool, stored: Array, results: Array
) -> None:
    whole = results.astype(np.int64)
    if not wide:  # sums of products of 8-bit integers are kept in 32 bits and wrap around
        whole = whole.astype(np.int32).astype(np.int64)
    _saturate(stored, scale(whole, by) + info.zero_points[0])


def _arithmetic(layer: Layer, output: TensorInfo) -> IntegerForm | None:
    """Return the integer form of adding, subtracting or multiplying.

    Sums are computed in a scale that both inputs fit in, products in the product of both scales.
    """
    infos = [info for info in layer.input_infos if info is not None]
    operation = _ARITHMETIC.get(layer.type, getattr(layer.descriptor, "operation", None))
    if operation not in _ARITHMETIC.values() or not all(map(_is_plain, infos)):
        return None
    if any(info.data_type is not output.data_type for info in infos):
        return None
    first, second = map(_scale, infos)
    zeros = [info.zero_points[0] for info in (*infos, output)]
    if operation is BinaryOperation.MUL:
        by = fixed_point(first * second / _scale(output))
        return IntegerForm({}, _saturate, partial(_multiply, by, zeros))
    shift = 15 if _is_wide(output) else 20
    common = 2 * max(first, second)
    factors = [fixed_point(number) for number in (first / common, second / common)]
    factors.append(fixed_point(common / (2**shift * _scale(output))))
    sign = -1 if operation is BinaryOperation.SUB else 1
    return IntegerForm({}, _saturate, partial(_add, sign, shift, factors, zeros))


def _multiply(by: FixedPoint, zeros: Sequence[int], first: Array, second: Array) -> Array:
    products = (first.astype(np.int64) - zeros[0]) * (second.astype(np.int64) - zeros[1])
    return twice_rounded(products, by) + zeros[2]


def _add(
    sign: int,
    shift: int,
    factors: Sequence[FixedPoint],
    zeros: Sequence[int],
    first: Array,
    second: Array,
) -> Array:
    scaled = [
        twice_rounded((stored.astype(np.int64) - zero) << shift, by)
        for stored, zero, by in zip((first, second), zeros, factors, strict=False)
    ]
    return twice_rounded(scaled[0] + sign * scaled[1], factors[2]) + zeros[2]


def _mean(data: TensorInfo, output: TensorInfo) -> IntegerForm | None:
    """Return the integer form of Mean.

    The factor divides by the count, in as many bits as fit.
    """
    made = math.prod(output.static_shape)
    count = math.prod(data.static_shape) // made if made else 0
    if not count:
        return None
    whole = fixed_point(_scale(data) / _scale(output))
    shift = min(count.bit_length() - 1, 32, 31 + int(whole.exponent))
    factor = np.asarray((int(whole.factor) << shift) // count)
    by = FixedPoint(factor, whole.exponent - shift)
    return IntegerForm({0: _offset(data)}, partial(_store_means, output, by, count))


def _store_means(
    info: TensorInfo, by: FixedPoint, count: int, stored: Array, results: Array
) -> None:
    _store_scaled(info, by, twice_rounded, stored, results * count)


def _average(layer: Layer, data: TensorInfo, output: TensorInfo) -> IntegerForm | None:
    """Return the integer form of average pooling.

    Halves are rounded away from the integer zero, not the real one.
    """
    descriptor = layer.descriptor
    if getattr(descriptor, "pool_type", None) is not PoolingAlgorithm.AVERAGE:
        return None
    if getattr(descriptor, "padding_method", None) is not PaddingMethod.EXCLUDE:
        return None
    if not data.is_type_space_match(output):
        return None
    return IntegerForm({0: _offset(data)}, partial(_store_averages, output))


def _store_averages(info: TensorInfo, stored: Array, results: Array) -> None:
    _saturate(stored, round_half_away(results + info.zero_points[0]))
