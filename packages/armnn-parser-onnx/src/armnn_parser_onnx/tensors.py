# SPDX-License-Identifier: MIT
"""The data of tensors as arrays: from the message, the model's file, or files beside it.

Sizes are checked before memory is taken.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ParseError
from armnn.graph import Network
from armnn.parsing.content import content_of
from armnn.parsing.conversion import map_file, open_beside, path_beside, type_of_number
from armnn.types import DataType
from armnn_parser_onnx.messages import Tensor
from armnn_parser_onnx.protobuf import LARGE, Span, check_span

_ALIGNMENT = 16
"""The number that divides the address of mapped data, as that of data that is read."""


class ExternalData:
    """Reads a model's tensor data from other files.

    Args:
        folder: The folder of the model; None if the model has none, since it came as bytes.
        model: The file of the model, which may be a link; None if it came as bytes.

    """

    def __init__(self, folder: Path | None, model: Path | None = None) -> None:
        self._folder = folder
        self._model = model
        self._read: dict[str, os.stat_result] = {}

    def note_in(self, network: Network) -> None:
        """Record the files that were read so far in a network."""
        network.external_files.update(self._read)

    def read(self, tensor: Tensor, size: int) -> bytes | memoryview:
        """Return a tensor's bytes; much data is mapped.

        Raises:
            ParseError: The entry is malformed, points out of the folder, or its file is too short.
        """
        what = f"the external data of the tensor {tensor.name!r}"
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        path = path_beside(self._folder, location, what, self._model)
        offset = _number(entries, "offset", 0, what)
        length = _number(entries, "length", size, what)
        if length != size:
            raise ParseError(f"{what} has a length of {length} bytes: expected {size}")
        descriptor = open_beside(path, what)
        try:
            status = os.fstat(descriptor)
            self._read.setdefault(location, status)
            try:
                check_span(status, offset, size, f"{what} in {str(path)!r}")
            except ParseError as error:
                raise _explained(error, path) from error
            if size >= LARGE and offset % _ALIGNMENT == 0:
                return map_file(descriptor, offset, size)
            with open(descriptor, "rb", closefd=False) as file:
                file.seek(offset)
                return file.read(size)
        finally:
            os.close(descriptor)


def _explained(error: ParseError, path: Path) -> ParseError:
    """Return the error of a file that is too short, with the kind of file that it is."""
    content = content_of(path)
    if content is None or not content.advice:
        return error
    return ParseError(f"{error}: it is {content.what}; {content.advice}")


def _number(entries: dict[str, str], key: str, default: int, what: str) -> int:
    text = entries.get(key, "")
    if not text:
        return default
    # int() would take "1_0" and " 1 " too, and digits of any script.
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ParseError(f"{what} has the {key} {text!r}: expected a number of bytes")
    return int(text)


# The numbers of TensorProto.DataType. Literals, as older releases of onnx lack the newer names.
_DATA_TYPES = {
    1: DataType.FLOAT32,
    2: DataType.UNSIGNED8,
    3: DataType.SIGNED8,
    4: DataType.UNSIGNED16,
    5: DataType.SIGNED16,
    6: DataType.SIGNED32,
    7: DataType.SIGNED64,
    9: DataType.BOOLEAN,
    10: DataType.FLOAT16,
    11: DataType.FLOAT64,
    12: DataType.UNSIGNED32,
    13: DataType.UNSIGNED64,
    16: DataType.BFLOAT16,
    17: DataType.FLOAT8_E4M3FN,
    18: DataType.FLOAT8_E4M3FNUZ,
    19: DataType.FLOAT8_E5M2,
    20: DataType.FLOAT8_E5M2FNUZ,
    21: DataType.UINT4,
    22: DataType.INT4,
    23: DataType.FLOAT4_E2M1FN,
    24: DataType.FLOAT8_E8M0FNU,
    25: DataType.UINT2,
    26: DataType.INT2,
}
_NO_DATA_TYPES = {
    8: "string",
    14: "complex64",
    15: "complex128",
    27: "float6e2m3",
    28: "float6e3m2",
}
_TYPE_NAMES = {
    "float16": "float16",
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz",
    "float8_e8m0fnu": "float8e8m0",
    "float4_e2m1fn": "float4e2m1",
}
EXTERNAL = 1
"""The ``data_location`` of tensors whose data is in another file."""

_MAX_ELEMENTS = 2**48
_TYPED_FIELDS = {
    DataType.FLOAT32: "float_data",
    DataType.FLOAT64: "double_data",
    DataType.SIGNED64: "int64_data",
    DataType.UNSIGNED32: "uint64_data",
    DataType.UNSIGNED64: "uint64_data",
}
"""Where the values stand that are not raw; ``int32_data`` for all other types."""


def onnx_type_of(data_type: DataType) -> int:
    """Return a data type's number in ``TensorProto.DataType``."""
    plain = DataType.from_numpy(data_type.numpy_dtype)
    return next(number for number, known in _DATA_TYPES.items() if known is plain)


def data_type_of(elem_type: int) -> DataType:
    """Return the data type of a ``TensorProto.DataType`` number.

    Raises:
        ParseError: Networks have no such type.
    """
    return type_of_number(elem_type, _DATA_TYPES, _NO_DATA_TYPES)


@functools.cache
def onnx_type_name(data_type: DataType) -> str:
    """Return a type's name in ONNX's operator schemas: "tensor(float)"."""
    name = data_type.numpy_name
    return f"tensor({_TYPE_NAMES.get(name, name)})"


def checked_count(dims: tuple[int, ...], what: str) -> int:
    """Return the number of elements of a tensor.

    Raises:
        ParseError: A dimension is negative, or no machine could hold the tensor.
    """
    if not dims:
        return 1  # as of most: scales and zero points
    count = math.prod(dims)
    # NumPy bounds the product of the others even where one dimension is 0.
    least = min(dims, default=1)
    bounded = count if least > 0 else math.prod(max(dim, 1) for dim in dims)
    if least < 0 or bounded > _MAX_ELEMENTS:
        raise ParseError(f"{what} has the dimensions {list(dims)}: no tensor can be that large")
    return count


def to_array(tensor: Tensor, external_data: ExternalData) -> NDArray[Any]:
    """Return a tensor's data.

    Types narrower than a byte have one byte each.

    Args:
        tensor: An initializer or an attribute.
        external_data: Reads the data that is not in the message.

    Raises:
        ParseError: The data does not fit the dimensions, is of a type that networks lack, or
            stands where it must not.
    """
    what = f"the tensor {tensor.name!r}"
    data_type = _tensor_data_type(tensor, what)
    dims = tuple(tensor.dims)
    checked_count(dims, what)
    if tensor.segment is not None:
        raise ParseError(f"{what} is stored in segments, which are not supported")
    if tensor.data_location == EXTERNAL:
        return _from_bytes(external_bytes(tensor, external_data), data_type, dims, what)
    if tensor.raw_data is not None:
        data = _raw_data(tensor, data_type.numpy_dtype.itemsize)
        return _from_bytes(data, data_type, dims, what)
    field = _TYPED_FIELDS.get(data_type, "int32_data")
    return _from_numbers(getattr(tensor, field), data_type, dims, f"{field} of {what}")


def external_bytes(tensor: Tensor, external_data: ExternalData) -> bytes | memoryview:
    """Return the data of a tensor in another file.

    Raises:
        ParseError: Networks have no such type, the tensor is too large, or the file lacks the data.
    """
    what = f"the tensor {tensor.name!r}"
    count = checked_count(tuple(tensor.dims), what)
    return external_data.read(tensor, -(-count * _tensor_data_type(tensor, what).bits // 8))


def _raw_data(tensor: Tensor, alignment: int) -> bytes | memoryview:
    raw = tensor.raw_data
    if isinstance(raw, Span):
        return raw.buffer(f"the data of {tensor.name!r}", alignment)
    return raw or b""


def _tensor_data_type(tensor: Tensor, what: str) -> DataType:
    try:
        return data_type_of(tensor.data_type)
    except ParseError as error:
        raise ParseError(f"{what}: {error}") from None


def _from_bytes(
    data: bytes | memoryview, data_type: DataType, dims: tuple[int, ...], what: str
) -> NDArray[Any]:
    count = math.prod(dims)
    size = -(-count * data_type.bits // 8)
    if len(data) != size:
        raise ParseError(
            f"{what} has {len(data)} bytes of data: expected {size} for {list(dims)} elements of "
            f"{data_type.arm_name}"
        )
    if data_type.bits < 8:
        return _unpacked(np.frombuffer(data, np.uint8), data_type, count).reshape(dims)
    if data_type is DataType.BOOLEAN:
        # Any byte but 0 is true, whereas NumPy takes it as it is.
        return np.not_equal(np.frombuffer(data, np.uint8), 0).reshape(dims)
    array: NDArray[Any] = np.frombuffer(data, data_type.numpy_dtype).reshape(dims)
    return array if sys.byteorder == "little" else array.byteswap()


def _from_numbers(
    numbers: Any, data_type: DataType, dims: tuple[int, ...], what: str
) -> NDArray[Any]:
    """Return the array in a tensor's typed field.

    Floats of 8 and 16 bits are stored there as integers with the same bits.
    """
    count = math.prod(dims)
    stored = -(-count * data_type.bits // 8) if data_type.bits < 8 else count
    if len(numbers) != stored:
        raise ParseError(f"{what} has {len(numbers)} values: expected {stored} for {list(dims)}")
    dtype = data_type.numpy_dtype
    array: NDArray[Any]
    if data_type in _TYPED_FIELDS:
        array = np.array(numbers, np.uint64 if dtype == np.uint32 else dtype).astype(dtype)
    elif data_type.bits < 8:
        array = _unpacked(np.array(numbers, np.int32).astype(np.uint8), data_type, count)
    elif data_type is DataType.BOOLEAN:
        array = np.not_equal(np.array(numbers, np.int32), 0)
    elif data_type.is_float:
        array = np.array(numbers, np.int32).astype(f"uint{data_type.bits}").view(dtype)
    else:
        array = np.array(numbers, np.int32).astype(dtype)
    return array.reshape(dims)


def _unpacked(packed: NDArray[np.uint8], data_type: DataType, count: int) -> NDArray[Any]:
    """Return one element per byte; lowest bits are first."""
    bits = data_type.bits
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes: NDArray[Any] = ((packed[:, None] >> shifts) & (2**bits - 1)).reshape(-1)[:count]
    if data_type.is_float:
        return codes.view(data_type.numpy_dtype)
    if data_type in (DataType.INT4, DataType.INT2):
        codes = codes.astype(np.int8)
        codes[codes >= 2 ** (bits - 1)] -= 2**bits
    return codes.astype(data_type.numpy_dtype)
