# SPDX-License-Identifier: MIT
"""Layers whose elements have one right value.

They move, repeat, fill, convert or dequantise elements, or combine two by one rounding. One takes a
microsecond here, and fifty and more through a backend, whose modules are then imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn._huge_pages import HugePages
from armnn.quantization import dequantize
from armnn.tensor import TensorInfo
from armnn.types import BinaryOperation, DataType

Array: TypeAlias = NDArray[Any]

MOVED = {
    "BroadcastTo": (0, 1),
    "Concat": (0, 100),
    "Gather": (0, 1),
    "Reshape": (0, 1),
    "Stack": (0, 100),
    "StridedSlice": (0, 1),
    "Where": (1, 3),
}
"""Layers of one output that move elements: of the inputs from one position to before another."""

_COMBINED: dict[str | BinaryOperation, np.ufunc] = {
    "Addition": np.add,
    "Multiplication": np.multiply,
    "Subtraction": np.subtract,
    BinaryOperation.ADD: np.add,
    BinaryOperation.MUL: np.multiply,
    BinaryOperation.SUB: np.subtract,
}
"""Of layers, and of operations of ElementwiseBinary: what combines elements."""

_MANY = 1 << 17
"""Elements that take longer to copy than Python takes to spare that, or to do it in stripes."""

_FAR = 64
"""Bytes of a line of a cache: elements so far apart share none."""

_STRIPE = 16

_COMBINED_TYPES = (DataType.FLOAT32, DataType.SIGNED32)
_FILLED = (DataType.FLOAT32, DataType.SIGNED32, DataType.SIGNED64)


def carried(
    kind: str,
    descriptor: Any,
    made: TensorInfo,
    operands: Sequence[tuple[Array, TensorInfo] | None],
    spare: Array | None = None,
) -> Array | None:
    """Return the output of a layer that needs no backend.

    None of another one, and where a backend is to say what is wrong.

    Args:
        kind: The type of the layer.
        descriptor: Its parameters, plain as all that follows.
        made: The info of its output.
        operands: The data of its inputs with their infos; None if one is absent.
        spare: The data of an input that nothing else needs; the output may be written there.
    """
    if kind == "Fill":
        return _filled(descriptor.value, made)
    data = [each[0] for each in operands if each is not None]
    types = [None if each is None else each[1].data_type for each in operands]
    if made.is_quantized or len(data) < len(operands):
        return None
    if kind == "Cast":
        return _converted(data[0], types[0], made)
    if kind == "Dequantize" and operands[0] is not None:
        return _dequantized(*operands[0], made)
    if kind == "Transpose" and types[0] is made.data_type:
        return _in_order(data[0].transpose(descriptor.dim_mappings))
    combine = _COMBINED.get(descriptor.operation if kind == "ElementwiseBinary" else kind)
    if combine is not None:
        return _combined(combine, data, types, made, spare)
    if kind not in MOVED:
        return None
    first, last = MOVED[kind]
    if any(each is not made.data_type for each in types[first:last]):
        return None
    found = moved_by(kind, descriptor, made, data)
    return None if found is None or found.shape != made.shape else _in_order(found)


def _in_order(found: Array) -> Array:
    """Return a copy with its elements in order.

    Transposed ones are copied in stripes: what a row reads is then in the first cache for the next.
    """
    if found.size < _MANY or found.strides[-1] < _FAR:
        return np.array(found, order="C")
    made = _many(found.shape, found.dtype)
    for begin in range(0, found.shape[-1], _STRIPE):
        stripe = (..., slice(begin, begin + _STRIPE))
        made[stripe] = found[stripe]
    return made


def _many(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return memory for many elements, in huge pages alone.

    NumPy's own begins and ends with others.
    """
    pages = HugePages().empty(math.prod(shape) * dtype.itemsize)
    made: Array = np.frombuffer(pages, dtype)
    return made.reshape(shape)


def _converted(data: Array, kind: DataType | None, made: TensorInfo) -> Array | None:
    """Return integers in a wider type, or as floats."""
    if kind is None or not kind.is_integer or data.dtype.kind not in "iu":
        return None
    dtype = made.data_type.numpy_dtype
    is_held = made.data_type.is_integer and np.can_cast(data.dtype, dtype)
    if not is_held and made.data_type is not DataType.FLOAT32:
        return None
    if data.size < _MANY:
        return data.astype(dtype, order="C")
    found = _many(data.shape, dtype)
    np.copyto(found, data, casting="unsafe")
    return found


def _dequantized(data: Array, info: TensorInfo, made: TensorInfo) -> Array | None:
    """Return the real values of stored ones in float32."""
    if not info.scales or data.dtype.kind not in "iu" or made.data_type is not DataType.FLOAT32:
        return None
    with np.errstate(all="ignore"):
        return dequantize(data, info)


def _combined(
    combine: np.ufunc,
    data: Sequence[Array],
    types: Sequence[DataType | None],
    made: TensorInfo,
    spare: Array | None,
) -> Array | None:
    """Return what becomes of pairs of elements of one type.

    Many of them take less time in memory that is there than in pages that are new to the process.
    """
    if made.data_type not in _COMBINED_TYPES or any(each is not made.data_type for each in types):
        return None
    if combine is np.subtract and _is_nothing(data[1], data[0], made):
        return data[0]
    if spare is not None and (spare.shape != made.shape or spare.dtype != data[0].dtype):
        spare = None
    try:
        with np.errstate(all="ignore"):  # infinity is a value like any other
            found = np.asarray(combine(*data, out=spare))
    except ValueError:
        return None
    return found if found.shape == made.shape else None


def _is_nothing(data: Array, whole: Array, made: TensorInfo) -> bool:
    """Return whether subtracting it leaves many elements as they are.

    The zero points of symmetric weights are zero. A number minus -0.0 may be another one.
    """
    if whole.size < _MANY or whole.shape != made.shape or 2 * data.size > whole.size:
        return False
    return not data.view(np.int32).any()


def moved_by(
    kind: str, descriptor: Any, made: TensorInfo, operands: Sequence[Array]
) -> Array | None:
    """Return moved elements, symbolic ones too; None if it fails.

    Args:
        kind: The type of the layer, of :data:`MOVED`.
        descriptor: Its parameters.
        made: The info of its output.
        operands: The elements, with what says where they go.
    """
    try:
        found = _MOVES[kind](descriptor, made, *operands)
    except (IndexError, ValueError):
        return None
    if type(found) is np.ndarray:
        return found
    single = np.empty((), getattr(found, "dtype", object))  # NumPy makes no array of one element
    single[()] = found
    return single


def _filled(value: float, made: TensorInfo) -> Array | None:
    if made.data_type not in _FILLED:
        return None
    dtype = made.data_type.numpy_dtype
    if dtype.kind == "f":
        is_held = abs(value) <= float(np.finfo(dtype).max)
    else:
        limits = np.iinfo(dtype)
        is_held = limits.min <= value <= limits.max and value == int(value)
    return np.full(made.static_shape, value, dtype) if is_held else None


def _broadcast_to(descriptor: Any, _made: TensorInfo, data: Array) -> Array:
    return np.broadcast_to(data, np.broadcast_shapes(data.shape, descriptor.broadcast_to_shape))


def _gather(descriptor: Any, _made: TensorInfo, data: Array, indices: Array) -> Array:
    return np.take(data, indices, axis=descriptor.axis)


def _concat(descriptor: Any, _made: TensorInfo, *data: Array) -> Array:
    return np.concatenate(data, axis=descriptor.axis)


def _reshape(_descriptor: Any, made: TensorInfo, data: Array) -> Array:
    return data.reshape(made.static_shape)


def _stack(descriptor: Any, _made: TensorInfo, *data: Array) -> Array:
    return np.stack(data, axis=descriptor.axis)


def _strided_slice(descriptor: Any, _made: TensorInfo, data: Array) -> Array:
    found: Array = data[descriptor.index(data.ndim)]
    return found


def _where(_descriptor: Any, _made: TensorInfo, condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


_MOVES: dict[str, Callable[..., Array]] = {
    "BroadcastTo": _broadcast_to,
    "Concat": _concat,
    "Gather": _gather,
    "Reshape": _reshape,
    "Stack": _stack,
    "StridedSlice": _strided_slice,
    "Where": _where,
}
