# SPDX-License-Identifier: MIT
"""Conformance cases of Quantize, Dequantize, Cast and conversions, by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers.quantizing import (
    BitCastDescriptor,
    CastDescriptor,
    ConvertFp16ToFp32Descriptor,
    ConvertFp32ToFp16Descriptor,
    DequantizeBlocksDescriptor,
    DequantizeDescriptor,
    DynamicQuantizeDescriptor,
    FakeQuantizationDescriptor,
    QuantizeDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_conformance.cases import EXACT, LayerCase, Tolerance, case, cases, usual
from armnn_conformance.operands import (
    ANY,
    FLOATS,
    INTEGERS,
    QUANTIZED,
    REAL,
    SYMMETRIC,
    CaseTensor,
    blocks,
    high_ranks,
    stored_tensor,
    tensor,
    values,
)

_SCALE = Tolerance("the scale is one division in float32", rtol=1e-6)


@cases(QuantizeDescriptor, types=REAL)
def quantize(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each quantized type, no elements, per-channel scales."""
    d = QuantizeDescriptor()
    shapes = {"": (2, 3, 5), ", a scalar": (), ", rank 5": (2, 1, 3, 1, 2)}
    for target, (name, shape) in zip(QUANTIZED, itertools.cycle(shapes.items()), strict=False):
        x = values(data_type, shape, -3.0, 2.0, seed=1)
        yield case(data_type, f"to {target.arm_name}{name}", d, [x], x.real, outputs=[target])
    channels = TensorInfo(None, DataType.QSYMM_S8, (0.03125, 0.0625, 0.125), axis=1)
    yield case(data_type, "a scale per channel", d, [x], x.real, outputs=[channels], edge=True)
    empty = values(data_type, (0, 3), seed=2)
    outputs = [DataType.QASYMM_S8]
    yield case(data_type, "empty", d, [empty], empty.real, outputs=outputs, edge=True)


@cases(QuantizeDescriptor, types=FLOATS)
def quantize_at_halves_and_limits(data_type: DataType) -> Iterator[LayerCase]:
    """Cover halves, rounded away from zero, and saturation.

    They are rounded before the zero point is added.
    """
    x = tensor(data_type, [-np.inf, -60000, -0.75, -0.25, 0, 0.25, 0.75, 1.25, 60000, np.inf])
    steps = np.array([-2, -1, 0, 1, 2, 3])
    for target in QUANTIZED:
        zero = 0 if target in SYMMETRIC else 7
        limits = np.iinfo(target.numpy_dtype)
        stored = [limits.min, limits.min, *(steps + zero), limits.max, limits.max]
        expected = (np.array(stored, np.float64) - zero) * 0.5
        yield case(
            data_type,
            f"halves and limits of {target.arm_name}",
            QuantizeDescriptor(),
            [x],
            expected,
            outputs=[TensorInfo(None, target, 0.5, zero)],
            tolerance=EXACT,
            edge=True,
        )


@cases(DequantizeDescriptor, types=QUANTIZED)
def dequantize(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each float type, limits, per-channel scales, no elements."""
    d = DequantizeDescriptor()
    shapes = {"": (2, 3, 5), ", a scalar": (), ", rank 5": (2, 1, 3, 1, 2)}
    for target, (title, shape) in zip(FLOATS, itertools.cycle(shapes.items()), strict=False):
        x = values(data_type, shape, -3.0, 2.0, seed=1)
        name = f"to {target.arm_name}{title}"
        yield case(data_type, name, d, [x], x.real, outputs=[target], tolerance=usual(target))
    limits = np.iinfo(data_type.numpy_dtype)
    zero = 0 if data_type in SYMMETRIC else 100
    ends = stored_tensor(data_type, [limits.min, zero, limits.max], scale=0.25, zero_point=zero)
    expected = [(limits.min - zero) / 4, 0.0, (limits.max - zero) / 4]
    float32 = [DataType.FLOAT32]
    title = "limits"
    yield case(data_type, title, d, [ends], expected, outputs=float32, tolerance=EXACT, edge=True)
    empty = values(data_type, (3, 0), seed=2)
    yield case(data_type, "empty", d, [empty], empty.real, outputs=float32, edge=True)


@cases(DequantizeDescriptor, types=(DataType.FLOAT16, DataType.BFLOAT16))
def dequantize_halves(data_type: DataType) -> Iterator[LayerCase]:
    """Cover Float16 weights: values, limits, no elements."""
    largest, least = {
        DataType.FLOAT16: (65504.0, 2.0**-24),
        DataType.BFLOAT16: (255 * 2.0**120, 2.0**-133),
    }[data_type]
    ends = [largest, -largest, least, np.nan, np.inf]
    for name, numbers in (("values", [-1.5, 0.0, 0.25]), ("ends", ends), ("empty", [])):
        x = tensor(data_type, np.array(numbers, np.float64))
        outputs = [DataType.FLOAT32]
        edge = name != "values"
        d = DequantizeDescriptor()
        yield case(data_type, name, d, [x], x.real, outputs=outputs, tolerance=EXACT, edge=edge)


@cases(DequantizeDescriptor, types=SYMMETRIC)
def dequantize_per_channel(data_type: DataType) -> Iterator[LayerCase]:
    """Cover channels with scales of their own."""
    x = stored_tensor(data_type, [[-3, 5, 7], [2, -1, 4]], scale=(0.5, 2.0, 0.25), axis=1)
    expected = [[-1.5, 10.0, 1.75], [1.0, -2.0, 1.0]]
    title = "a scale per channel"
    d = DequantizeDescriptor()
    yield case(
        data_type, title, d, [x], expected, outputs=[DataType.FLOAT32], tolerance=EXACT, edge=True
    )


def _quarters(data_type: DataType) -> CaseTensor:
    """Return exactly stored numbers, with fractions and signs if possible."""
    if data_type is DataType.BOOLEAN:
        return tensor(data_type, np.array([True, False, True]))
    if data_type.is_quantized:
        return stored_tensor(
            data_type,
            [7, 0, 11, 2, 100, 5],
            scale=0.25,
            zero_point=(0 if data_type in SYMMETRIC else 5),
        )
    if data_type.is_float:
        return tensor(data_type, [-2.75, -0.5, 0.0, 0.5, 1.75, 100.25, 40.0])
    if data_type in (DataType.UNSIGNED8, DataType.UNSIGNED16, DataType.UNSIGNED32):
        return tensor(data_type, np.array([0, 1, 77, 200]))
    if data_type is DataType.UNSIGNED64:
        return tensor(data_type, np.array([0, 1, 77, 2**64 - 3], np.uint64))
    return tensor(data_type, np.array([-3, 0, 1, 77, -128]))


def _cast(x: NDArray[Any], target: DataType) -> NDArray[Any]:
    numbers = [number.item() for number in x.reshape(-1)]
    if target is DataType.BOOLEAN:
        return np.array([number != 0 for number in numbers])
    if not target.is_integer:
        return np.array([float(number) for number in numbers])
    limits = np.iinfo(target.numpy_dtype)
    span = 2**target.bits
    whole = [
        min(max(math.trunc(number), limits.min), limits.max)
        if isinstance(number, float)
        else (int(number) - limits.min) % span + limits.min
        for number in numbers
    ]
    return np.array(whole, target.numpy_dtype)


@cases(CastDescriptor, types=ANY)
def cast(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each target type: truncated, saturated, lower bits.

    Real values are truncated towards zero and saturated; integers keep their lower bits.
    """
    x = _quarters(data_type)
    for target in ANY:
        zero = 0 if target in SYMMETRIC else 9
        info = TensorInfo(None, target, 0.25, zero) if target.is_quantized else target
        yield case(
            data_type,
            f"to {target.arm_name}",
            CastDescriptor(),
            [x],
            _cast(x.real, target),
            outputs=[info],
            edge=target.is_integer or target.is_quantized,
        )
    if data_type.is_quantized:
        bits = stored_tensor(data_type, [1, 0, 1, 1], scale=1.0)
    else:
        bits = tensor(data_type, np.array([1, 0, 1, 1]))
    for target in DataType:
        if target.is_storage_only and target is not DataType.FLOAT8_E8M0FNU:
            title = f"to {target.arm_name}"
            d = CastDescriptor()
            yield case(data_type, title, d, [bits], [1, 0, 1, 1], outputs=[target], tolerance=EXACT)


@cases(CastDescriptor, types=ANY)
def cast_of_any_rank(data_type: DataType) -> Iterator[LayerCase]:
    """Cover a scalar and high ranks."""
    target = DataType.FLOAT64 if data_type is DataType.FLOAT32 else DataType.FLOAT32
    for name, shape in {"a scalar": (), **high_ranks(data_type)}.items():
        x = values(data_type, shape, 0, 5, seed=1)
        expected = x.real.astype(np.float64)
        yield case(data_type, name, CastDescriptor(), [x], expected, outputs=[target], edge=True)


@cases(CastDescriptor, types=FLOATS)
def cast_out_of_range(data_type: DataType) -> Iterator[LayerCase]:
    """Cover values too large for eight bits.

    They become infinite or NaN, or the largest number if saturated.
    """
    x = tensor(data_type, [1.0, 60000.0, -60000.0, 65500.0])
    rows = (
        (DataType.FLOAT8_E4M3FN, 448.0, math.nan),
        (DataType.FLOAT8_E4M3FNUZ, 240.0, math.nan),
        (DataType.FLOAT8_E5M2, 57344.0, math.inf),
        (DataType.FLOAT8_E5M2FNUZ, 57344.0, math.nan),
    )
    for target, largest, beyond in rows:
        # 60000 is nearer to 57344 than to the next number that five bits of exponent would give.
        high = 57344.0 if largest > 1000 else beyond
        for saturate, expected in (
            (True, [1.0, largest, -largest, largest]),
            (False, [1.0, high, -high, beyond]),
        ):
            title = f"{target.arm_name} {'saturated' if saturate else 'overflown'}"
            d = CastDescriptor(saturate=saturate)
            yield case(
                data_type, title, d, [x], expected, outputs=[target], tolerance=EXACT, edge=True
            )


@cases(CastDescriptor, types=FLOATS)
def cast_of_no_number(data_type: DataType) -> Iterator[LayerCase]:
    """NaN becomes zero, infinity saturates."""
    x = tensor(data_type, [math.nan, math.inf, -math.inf, 2.5])
    limits = np.iinfo(np.int32)
    expected = [0, limits.max, limits.min, 2]
    outputs = [DataType.SIGNED32]
    yield case(data_type, "NaN", CastDescriptor(), [x], expected, outputs=outputs, edge=True)


@cases(CastDescriptor, types=[DataType.SIGNED64, DataType.UNSIGNED64])
def cast_of_wide_integers(data_type: DataType) -> Iterator[LayerCase]:
    """Cover integers beyond float64, which stay exact."""
    x = tensor(data_type, np.array([2**53 + 1, 2**62 + 3], np.int64))
    for target in (DataType.SIGNED64, DataType.UNSIGNED64):
        title = f"exact to {target.arm_name}"
        expected = np.array([9007199254740993, 4611686018427387907])
        yield case(data_type, title, CastDescriptor(), [x], expected, outputs=[target], edge=True)


_SMALL: dict[DataType, list[float]] = {
    DataType.INT2: [-2, -1, 0, 1],
    DataType.UINT2: [0, 1, 2, 3],
    DataType.INT4: [-8, -3, 0, 7],
    DataType.UINT4: [0, 3, 9, 15],
    DataType.FLOAT8_E8M0FNU: [0.5, 1.0, 4.0, 1024.0],
}


@cases(CastDescriptor, types=[data_type for data_type in DataType if data_type.is_storage_only])
def cast_of_small_types(data_type: DataType) -> Iterator[LayerCase]:
    """Cover exact reads of types stored in few bits."""
    numbers = _SMALL.get(data_type, [-3.0, -0.5, 0.0, 1.5])
    x = tensor(data_type, np.array(numbers))
    for target in (DataType.FLOAT32, DataType.FLOAT16, DataType.SIGNED32, DataType.BOOLEAN):
        expected = {
            DataType.SIGNED32: [math.trunc(number) for number in numbers],
            DataType.BOOLEAN: [number != 0 for number in numbers],
        }.get(target, numbers)
        title = f"to {target.arm_name}"
        d = CastDescriptor()
        expected = np.array(expected)
        yield case(data_type, title, d, [x], expected, outputs=[target], tolerance=EXACT, edge=True)


@cases(ConvertFp16ToFp32Descriptor, types=[DataType.FLOAT16])
def convert_fp16_to_fp32(data_type: DataType) -> Iterator[LayerCase]:
    """Cover ordinary numbers, limits, infinity, NaN, no elements."""
    rows: list[tuple[str, list[float], bool]] = [
        ("ordinary", [-2.5, 0.25, 3.75], False),
        ("limits", [65504.0, -65504.0, 2.0**-24, 2.0**-14], True),
        ("infinite", [math.inf, -math.inf, math.nan], True),
        ("empty", [], True),
    ]
    d = ConvertFp16ToFp32Descriptor()
    for name, numbers, edge in rows:
        shape = (1, len(numbers), 1, 1, 1) if name == "ordinary" else (len(numbers),)
        x = tensor(data_type, np.array(numbers, np.float64).reshape(shape))
        outputs = [DataType.FLOAT32]
        yield case(data_type, name, d, [x], x.real, outputs=outputs, tolerance=EXACT, edge=edge)


@cases(ConvertFp32ToFp16Descriptor, types=[DataType.FLOAT32])
def convert_fp32_to_fp16(data_type: DataType) -> Iterator[LayerCase]:
    """Cover halves, overflow to infinity and underflow to zero.

    Halves are rounded to the even neighbor.
    """
    rows: list[tuple[str, list[float], list[float], bool]] = [
        ("ordinary", [-2.5, 0.25, 3.75], [-2.5, 0.25, 3.75], False),
        ("halves", [1 + 2.0**-11, 1 + 3 * 2.0**-11], [1.0, 1 + 2.0**-9], True),
        ("too large", [65519.0, 65520.0, -1e6], [65504.0, math.inf, -math.inf], True),
        ("too small", [2.0**-24, 2.0**-25, math.nan], [2.0**-24, 0.0, math.nan], True),
    ]
    d = ConvertFp32ToFp16Descriptor()
    for name, numbers, expected, edge in rows:
        shape = (1, len(numbers), 1, 1, 1) if name == "ordinary" else (len(numbers),)
        x, y = (tensor(data_type, np.array(row).reshape(shape)) for row in (numbers, expected))
        outputs = [DataType.FLOAT16]
        yield case(data_type, name, d, [x], y.real, outputs=outputs, tolerance=EXACT, edge=edge)


@cases(FakeQuantizationDescriptor, types=FLOATS)
def fake_quantization(data_type: DataType) -> Iterator[LayerCase]:
    """Cover the level numbers: limits, beyond them, and NaN.

    Some limits differ from the default.
    """
    rows: list[tuple[str, float, float, list[float], list[float], bool]] = [
        ("defaults", -6.0, 6.0, [-100, 0, 1, 100], [0, 127, 148, 255], True),
        ("limits of its own", -3.0, 5.0, [-1, 0, 1, 5, 6], [63, 95, 127, 254, 255], False),
        ("low limit only", -3.0, 6.0, [-1, 1, 2], [57, 113, 142], False),
        ("not a number", -3.0, 5.0, [math.nan], [95], True),
    ]
    for name, low, high, numbers, expected, edge in rows:
        d = FakeQuantizationDescriptor(min=low, max=high)
        shape = (1, len(numbers), 1, 1, 1) if edge else (len(numbers),)
        x = tensor(data_type, np.array(numbers, np.float64).reshape(shape))
        yield case(data_type, name, d, [x], np.reshape(expected, shape), tolerance=EXACT, edge=edge)


@cases(DynamicQuantizeDescriptor, types=FLOATS)
def dynamic_quantize(data_type: DataType) -> Iterator[LayerCase]:
    """Cover signs, halves, only zeros, and rounded zero points.

    There are both signs and one sign only; halves are rounded to even.
    """
    rows: list[tuple[str, list[float], list[int], float, int, bool]] = [
        ("both signs", [0, 2, -3, -2.375, 0.75], [153, 255, 0, 32, 191], 5 / 255, 153, False),
        ("all above zero", [1.25, 4.0, 2.25], [80, 255, 143], 4 / 255, 0, False),
        ("all below zero", [-1.25, -4.0], [175, 0], 4 / 255, 255, True),
        ("halves", [255, 0.5, 1.5, 2.5], [255, 0, 2, 2], 1.0, 0, True),
        ("zeros", [0, 0], [0, 0], 1.0, 0, True),
        # Zero is 40.26 steps above the lowest number.
        ("zero between two steps", [-0.1875, 1, 0.5], [0, 255, 147], 1.1875 / 255, 40, False),
    ]
    for name, numbers, steps, scale, zero, edge in rows:
        shape = (1, len(numbers), 1, 1, 1) if edge else (len(numbers),)
        x = tensor(data_type, np.array(numbers, np.float64).reshape(shape))
        yield case(
            data_type,
            name,
            DynamicQuantizeDescriptor(),
            [x],
            (np.reshape(steps, shape), np.array(scale), np.array(zero)),
            outputs=[DataType.UNSIGNED8, DataType.FLOAT32, DataType.UNSIGNED8],
            tolerance=_SCALE,
            edge=edge,
        )


_PLAIN_TYPES = (*FLOATS, *INTEGERS, DataType.BOOLEAN)


@cases(BitCastDescriptor, types=_PLAIN_TYPES)
def bit_cast(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each type of one size, a scalar, no elements."""
    numbers = np.array([[0, 1, 0], [1, 1, 0]])
    for target in _PLAIN_TYPES:
        if target.bits != data_type.bits:
            continue
        for name, reals in (
            ("rank 5", numbers.reshape(2, 1, 3, 1, 1)),
            ("scalar", numbers[0, 1]),
            ("empty", numbers[:0]),
        ):
            real = reals.astype(np.bool_) if data_type is DataType.BOOLEAN else reals
            x = tensor(data_type, real)
            stored = np.frombuffer(x.stored.tobytes(), target.numpy_dtype).reshape(x.stored.shape)
            expected = stored.astype(np.float64) if target in FLOATS else stored
            yield case(
                data_type,
                f"{name} to {target.arm_name}",
                BitCastDescriptor(),
                [x],
                expected,
                outputs=[target],
                tolerance=EXACT,
                edge=True,
            )


@cases(DequantizeBlocksDescriptor, types=FLOATS)
def dequantize_blocks(data_type: DataType) -> Iterator[LayerCase]:
    """Cover numbers of 2, 4 and 8 bits, kinds of zero points, and short last blocks."""
    for name, shape, bits, block_size, points, edge in (
        ("4 bits", (2, 3, 32), 4, 16, "", False),
        ("4 bits, packed zero points", (3, 48), 4, 16, "packed", False),
        ("4 bits, real zero points", (3, 32), 4, 16, "real", False),
        ("8 bits, packed zero points", (2, 1, 2, 1, 32), 8, 16, "packed", False),
        ("2 bits, packed zero points", (3, 80), 2, 16, "packed", False),
        ("a short last block of an odd size", (2, 21), 4, 16, "packed", True),
        ("one row", (16,), 4, 16, "", True),
    ):
        given = blocks(data_type, shape, bits=bits, block_size=block_size, points=points)
        d = DequantizeBlocksDescriptor(bits=bits, block_size=block_size, size=shape[-1])
        yield case(data_type, name, d, given.operands, given.real, edge=edge)
