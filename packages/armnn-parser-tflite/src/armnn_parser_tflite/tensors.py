# SPDX-License-Identifier: MIT
"""Conversion of tensors to infos and arrays, sizes checked first.

They are checked before memory is taken.
"""

from __future__ import annotations

import functools
import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ArmnnError, ParseError
from armnn.parsing.conversion import type_of_number
from armnn.tensor import Dimension, TensorInfo
from armnn.types import DataType
from armnn_parser_tflite.buffers import Buffers
from armnn_parser_tflite.schema import Quantization, Tensor
from armnn_parser_tflite.sparsity import Sparsity, dense

# The numbers of TensorType. Literals, as the bindings lack the newer names.
_DATA_TYPES = {
    0: DataType.FLOAT32,
    1: DataType.FLOAT16,
    2: DataType.SIGNED32,
    3: DataType.UNSIGNED8,
    4: DataType.SIGNED64,
    6: DataType.BOOLEAN,
    7: DataType.SIGNED16,
    9: DataType.SIGNED8,
    10: DataType.FLOAT64,
    12: DataType.UNSIGNED64,
    15: DataType.UNSIGNED32,
    16: DataType.UNSIGNED16,
    17: DataType.INT4,
    18: DataType.BFLOAT16,
    19: DataType.INT2,
    20: DataType.UINT4,
    21: DataType.FLOAT8_E4M3FN,
    22: DataType.FLOAT8_E5M2,
}
_NO_DATA_TYPES = {
    5: "STRING",
    8: "COMPLEX64",
    11: "COMPLEX128",
    13: "RESOURCE",
    14: "VARIANT",
}
_COMPLEX64 = 8
_RESOURCE = 13
_MAX_ELEMENTS = 2**48
_COPIED_BYTES = 2**14
_NARROW = {DataType.INT4: DataType.SIGNED8, DataType.INT2: DataType.SIGNED8}
"""Quantised types of less than a byte, and what they are computed in."""


def stored_type(number: int) -> DataType:
    """Return the plain data type of a ``TensorType`` number.

    Raises:
        ParseError: Networks have no such type.
    """
    return type_of_number(number, _DATA_TYPES, _NO_DATA_TYPES)


def has_type(tensor: Tensor) -> bool:
    """Return whether networks have a tensor's element type."""
    return tensor.type in _DATA_TYPES


def is_complex(tensor: Tensor) -> bool:
    """Return whether a tensor is complex, with two 32-bit parts."""
    return tensor.type == _COMPLEX64


def is_half(tensor: Tensor) -> bool:
    """Return whether the elements of a tensor are Float16."""
    return _DATA_TYPES.get(tensor.type) is DataType.FLOAT16


def is_handle(tensor: Tensor) -> bool:
    """Return whether a tensor is a variable's handle."""
    return tensor.type == _RESOURCE


def element_count(tensor: Tensor) -> int:
    """Return the number of elements of a tensor.

    Raises:
        ParseError: A dimension is negative, or no machine could hold the tensor.
    """
    # NumPy bounds the product of the others even where one dimension is 0.
    dims = tensor.shape
    if min(dims, default=0) < 0 or math.prod(max(dim, 1) for dim in dims) > _MAX_ELEMENTS:
        raise ParseError(
            f"the tensor {tensor.name!r} has the dimensions {list(dims)}: no tensor can be that "
            "large"
        )
    return math.prod(dims)


def unshaped_info_of(tensor: Tensor) -> TensorInfo:
    """Return type and quantisation of a tensor.

    Raises:
        ParseError: Networks have no such tensor.
    """
    info = info_of(tensor)
    return info.with_shape(None) if info.is_quantized else _plain_info(None, info.data_type)


def info_of(tensor: Tensor) -> TensorInfo:
    """Return type, quantisation and shape of a tensor.

    Unknown dimensions are None. Eight-bit integers with a scale are QAsymmS8 or QAsymmU8, QSymmS8
    if they have one per index of an axis; 16-bit ones are QSymmS16. Other integers are plain: what
    a step of a bias is worth follows from input and weights.

    Raises:
        ParseError: Networks have no such tensor.
    """
    element_count(tensor)
    dims: tuple[Dimension, ...] = tensor.shape
    if tensor.signature:
        dims = tuple(
            [None if d == -1 else dim for dim, d in zip(dims, tensor.signature, strict=True)]
        )
    try:
        plain = stored_type(tensor.type)
        if tensor.quantization is None:
            return _plain_info(dims, plain)
        return _quantized(dims, plain, tensor.quantization)
    except ArmnnError as error:
        raise ParseError(f"the tensor {tensor.name!r}: {error}") from error


@functools.lru_cache(1024)
def _plain_info(dims: tuple[Dimension, ...] | None, plain: DataType) -> TensorInfo:
    """Return an info; models have many tensors of one shape."""
    return TensorInfo(dims, plain)


def _quantized(
    dims: tuple[Dimension, ...], plain: DataType, quantization: Quantization
) -> TensorInfo:
    scales, points = quantization.scales, quantization.zero_points
    if len(points) <= 1:
        points = (points[0] if points else 0,) * len(scales)
    kind = _NARROW.get(plain, plain)
    if kind is DataType.SIGNED8:
        # Weights per channel are symmetric; activations are not, whatever their zero point.
        symmetric = len(scales) > 1 and not any(points)
        kind = DataType.QSYMM_S8 if symmetric else DataType.QASYMM_S8
    elif kind is DataType.UNSIGNED8:
        kind = DataType.QASYMM_U8
    elif kind is DataType.SIGNED16:
        kind = DataType.QSYMM_S16
    else:
        return TensorInfo(dims, plain)
    axis = quantization.axis if len(scales) > 1 else None
    return TensorInfo(dims, kind, scales, points, axis)


def to_array(tensor: Tensor, buffers: Buffers) -> NDArray[Any] | None:
    """Return a tensor's data, None if it has none.

    Where possible it is a view of the file, unless it is small: all of the file would stay in
    memory as long as a bias of it does.

    Raises:
        ParseError: The data does not fit the dimensions, or is at a forbidden place.
    """
    plain = stored_type(tensor.type)
    count = element_count(tensor)
    if tensor.sparsity is not None:
        positions = Sparsity(tensor.sparsity).positions(tensor.shape, tensor.name)
        stored = _elements(tensor, plain, len(positions[0]) if positions else 1, buffers)
        return None if stored is None else dense(stored, positions, tensor.shape)
    elements = _elements(tensor, plain, count, buffers)
    if elements is None:
        return np.empty(tensor.shape, plain.numpy_dtype) if count == 0 else None
    return elements.reshape(tensor.shape)


def _elements(tensor: Tensor, plain: DataType, count: int, buffers: Buffers) -> NDArray[Any] | None:
    """Return what a tensor stores, as a list."""
    data = buffers.read(tensor, -(-count * plain.bits // 8))
    if data is None:
        return None
    if plain.bits < 8:
        return _unpacked(np.frombuffer(data, np.uint8), plain, count)
    if plain is DataType.BOOLEAN:
        # Any byte but 0 is true, whereas NumPy takes it as it is.
        return np.not_equal(np.frombuffer(data, np.uint8), 0)
    array: NDArray[Any] = np.frombuffer(data, plain.numpy_dtype)
    if sys.byteorder == "big":
        return array.byteswap()
    return array if array.flags.aligned and array.nbytes > _COPIED_BYTES else array.copy()


def _unpacked(packed: NDArray[np.uint8], plain: DataType, count: int) -> NDArray[Any]:
    """Return one element per byte, sign extended; lowest bits first."""
    bits = plain.bits
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes: NDArray[Any] = (
        ((packed[:, None] >> shifts) & (2**bits - 1)).reshape(-1)[:count].astype(np.int8)
    )
    if plain in _NARROW:
        codes[codes >= 2 ** (bits - 1)] -= 2**bits
    return codes
