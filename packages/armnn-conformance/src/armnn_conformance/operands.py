# SPDX-License-Identifier: MIT
"""Tensors of conformance cases: real values, stored as any type.

Nothing here is shared with ``armnn.quantization``, by which a backend may compute: the kit's
expectations must not be wrong in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.tensor import TensorInfo
from armnn.types import DataType

FLOATS = (DataType.FLOAT32, DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT64)
QUANTIZED = (DataType.QASYMM_U8, DataType.QASYMM_S8, DataType.QSYMM_S8, DataType.QSYMM_S16)
REAL = (*FLOATS, *QUANTIZED)
SIGNED = (DataType.SIGNED8, DataType.SIGNED16, DataType.SIGNED32, DataType.SIGNED64)
UNSIGNED = (DataType.UNSIGNED8, DataType.UNSIGNED16, DataType.UNSIGNED32, DataType.UNSIGNED64)
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = (*REAL, *INTEGERS)
BOOLEANS = (DataType.BOOLEAN,)
ANY = (*NUMBERS, *BOOLEANS)

SYMMETRIC = (DataType.QSYMM_S8, DataType.QSYMM_S16)

LARGE = {
    DataType.FLOAT32: 3e38,
    DataType.FLOAT16: 6e4,
    DataType.BFLOAT16: 3e38,
    DataType.FLOAT64: 3e38,
}
"""Numbers whose sums and squares do not fit into the type, nor into float32."""

_OF_EACH_KIND = (DataType.FLOAT32, DataType.QASYMM_S8, DataType.SIGNED32, DataType.BOOLEAN)


def high_ranks(data_type: DataType) -> dict[str, tuple[int, ...]]:
    """Return shapes of rank 5 and, for some types, 8.

    Rank 8 is the highest there is; one type of each kind has it, as cases cost time.
    """
    shapes: dict[str, tuple[int, ...]] = {"rank 5": (2, 1, 3, 2, 2)}
    if data_type in _OF_EACH_KIND:
        shapes["rank 8"] = (1, 2, 1, 2, 3, 1, 2, 1)
    return shapes


@dataclass(frozen=True, slots=True, eq=False)
class CaseTensor:
    """One input of a conformance case.

    Attributes:
        info: Shape, data type and quantization.
        stored: The stored elements of the tensor.
        real: The exact real values: float64 for floats and quantized types, else the
            stored integers or Booleans. Oracles compute from it.
        constant: Whether the value is known when the network is prepared.
    """

    info: TensorInfo
    stored: NDArray[Any]
    real: NDArray[Any]
    constant: bool = False


def tensor(
    data_type: DataType,
    reals: ArrayLike,
    *,
    info: TensorInfo | None = None,
    axis: int | None = None,
    constant: bool = False,
) -> CaseTensor:
    """Return a tensor of real values, rounded to its type.

    Args:
        data_type: The type in which it is stored.
        reals: The values; rounded to what can be stored.
        info: The quantization, if it shall not be fitted to the values; its shape is not looked at.
        axis: Fits one scale per index of this axis (symmetric types only).
        constant: Whether the value is known when the network is prepared.
    """
    values = np.asarray(reals)
    if info is None:
        info = fitted(data_type, values, axis=axis)
    info = info.with_shape(values.shape)
    stored = store(values, info)
    return CaseTensor(info, stored, decode(stored, info), constant)


def stored_tensor(
    data_type: DataType,
    stored: ArrayLike,
    *,
    scale: float | Sequence[float] = (),
    zero_point: int | Sequence[int] = (),
    axis: int | None = None,
    constant: bool = False,
) -> CaseTensor:
    """Return a tensor from its stored values."""
    array = np.asarray(stored, dtype=data_type.numpy_dtype)
    info = TensorInfo(array.shape, data_type, scale, zero_point, axis)
    return CaseTensor(info, array, decode(array, info), constant)


def values(
    data_type: DataType,
    shape: Sequence[int],
    low: float = -2.0,
    high: float = 2.0,
    *,
    seed: int = 0,
    axis: int | None = None,
    constant: bool = False,
) -> CaseTensor:
    """Return a tensor of repeatable random values in ``low``..``high``.

    They are in ``low``..``high``. Integers are in the same range, at least 0 for unsigned types;
    Booleans are a coin each.
    """
    random = np.random.default_rng([seed, *shape])
    drawn: NDArray[Any]
    if data_type is DataType.BOOLEAN:
        drawn = random.integers(0, 2, shape).astype(bool)
    elif data_type.is_integer:
        least = max(low, 0) if data_type in UNSIGNED else low
        drawn = random.integers(int(np.ceil(least)), int(np.floor(high)), shape, endpoint=True)
    else:
        drawn = random.uniform(low, high, shape)
    return tensor(data_type, drawn, axis=axis, constant=constant)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Rows of integers of few bits, with scales and zero points of blocks.

    Attributes:
        packed: The bytes, the first number of a byte in its lowest bits.
        scales: One for each block.
        points: The zero points, packed likewise or real numbers; None for 2^(bits - 1).
        real: The numbers that they mean.
    """

    packed: CaseTensor
    scales: CaseTensor
    points: CaseTensor | None
    real: NDArray[np.float64]

    @property
    def operands(self) -> list[CaseTensor | None]:
        """The three inputs that a layer has for them."""
        return [self.packed, self.scales, self.points]


def blocks(
    data_type: DataType,
    shape: Sequence[int],
    *,
    bits: int,
    block_size: int,
    points: str = "",
    is_whole: bool = False,
    constant: bool = False,
) -> Blocks:
    """Return repeatable random rows in blocks.

    Args:
        data_type: The type of scales and real zero points.
        shape: The shape of the numbers.
        bits: The bits of a number.
        block_size: How many numbers of a row share a scale.
        points: "packed" or "real" zero points; "" for none.
        is_whole: Whether the last block of a row has all of its bytes.
        constant: Whether all are known when the network is prepared.
    """
    random = np.random.default_rng([bits, block_size, *shape])
    *rows, size = shape
    count = -(-size // block_size)
    length = count * block_size if is_whole else size
    numbers = random.integers(0, 1 << bits, (*rows, length))
    scales = tensor(
        data_type, random.uniform(0.2, 4, (*rows, count)) / (1 << bits), constant=constant
    )
    zeros: NDArray[Any] = np.full((*rows, count), 1 << (bits - 1))
    given = None
    if points == "packed":
        zeros = random.integers(0, 1 << bits, (*rows, count))
        packed = _packed(zeros, bits)
        given = stored_tensor(DataType.UNSIGNED8, packed, constant=constant)
    elif points == "real":
        given = tensor(data_type, random.uniform(0, 1 << bits, (*rows, count)), constant=constant)
        zeros = given.real
    real = np.zeros((*rows, size))
    for place in np.ndindex(*rows, size):
        block = (*place[:-1], place[-1] // block_size)
        real[place] = scales.real[block] * (numbers[place] - zeros[block])
    stored = stored_tensor(DataType.UNSIGNED8, _packed(numbers, bits), constant=constant)
    return Blocks(stored, scales, given, real)


def _packed(numbers: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Pack numbers into bytes; the last byte of a row is filled with zeros."""
    *rows, size = numbers.shape
    packed = np.zeros((*rows, -(-size * bits // 8)), np.uint8)
    for place in np.ndindex(*rows, size):
        byte, bit = divmod(place[-1] * bits, 8)
        packed[(*place[:-1], byte)] |= np.uint8(int(numbers[place]) << bit)
    return packed


def bias_tensor(
    reals: ArrayLike, data: CaseTensor, weights: CaseTensor, *, constant: bool = True
) -> CaseTensor:
    """Return a bias that fits data and weights.

    For quantized data it is Signed32 in steps of the data's scale times the weights' (one per
    output channel if those are per axis); otherwise it has the data's type.
    """
    values = np.asarray(reals, np.float64)
    if not data.info.is_quantized:
        return tensor(data.info.data_type, values, constant=constant)
    steps = np.float64(data.info.scale) * np.array(weights.info.scales, np.float64)
    stored = np.rint(values / steps).astype(np.int32)
    return CaseTensor(TensorInfo(stored.shape, DataType.SIGNED32), stored, stored * steps, constant)


def fitted(data_type: DataType, reals: ArrayLike, *, axis: int | None = None) -> TensorInfo:
    """Return an info whose quantization spans ``reals`` and zero.

    Args:
        data_type: Any; types that are not quantized need no fitting.
        reals: The values; NaN and infinity are not looked at.
        axis: For one scale per index of this axis; the zero points are then 0.
    """
    array = np.asarray(reals)
    if not data_type.is_quantized:
        return TensorInfo(array.shape, data_type)
    finite = np.where(np.isfinite(array), array, 0).astype(np.float64)
    limits = np.iinfo(data_type.numpy_dtype)
    if axis is not None:
        others = tuple(other for other in range(array.ndim) if other != axis % array.ndim)
        reach = np.abs(finite).max(axis=others, initial=0.0)
        scales = [_scale(float(r), limits.max) for r in reach]
        return TensorInfo(array.shape, data_type, scales, axis=axis % array.ndim)
    low, high = finite.min(initial=0.0), finite.max(initial=0.0)
    if data_type in SYMMETRIC:
        return TensorInfo(array.shape, data_type, _scale(float(max(-low, high)), limits.max))
    scale = _scale(float(high - low), limits.max - limits.min)
    zero_point = int(np.clip(limits.min - np.rint(low / scale), limits.min, limits.max))
    return TensorInfo(array.shape, data_type, scale, zero_point)


def store(reals: NDArray[Any], info: TensorInfo) -> NDArray[Any]:
    """Return the stored values of real ones, saturated.

    They are the nearest steps; halves go away from zero.

    Halves are rounded away from zero. Computed in float64. NaN becomes the zero point.
    """
    dtype = info.data_type.numpy_dtype
    if not info.is_quantized:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(reals).astype(dtype)
    scales, zero_points = _steps(info)
    limits = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        steps = np.asarray(reals, np.float64) / scales
        nearest = np.sign(steps) * np.floor(np.abs(steps) + 0.5) + zero_points
        nearest = np.where(np.isnan(nearest), zero_points, nearest)
    return np.clip(nearest, limits.min, limits.max).astype(dtype)


def decode(stored: NDArray[Any], info: TensorInfo) -> NDArray[Any]:
    """Return the real values of stored ones, as float64.

    Integers and Booleans stay as they are.
    """
    if info.is_quantized:
        scales, zero_points = _steps(info)
        return (stored.astype(np.float64) - zero_points) * scales
    return stored.astype(np.float64) if info.data_type.is_float else stored


def _scale(span: float, steps: int) -> float:
    """Return a scale that float32 holds exactly."""
    return float(np.float32(span / steps)) if span > 0 else 1.0


def _steps(info: TensorInfo) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scales = np.array(info.scales, np.float32).astype(np.float64)
    zero_points = np.array(info.zero_points, np.float64)
    if info.axis is None:
        return scales.reshape(()), zero_points.reshape(())
    shape = [1] * len(info.static_shape)
    shape[info.axis] = len(info.scales)
    return scales.reshape(shape), zero_points.reshape(shape)
