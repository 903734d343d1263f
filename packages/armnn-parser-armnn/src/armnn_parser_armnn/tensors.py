# SPDX-License-Identifier: MIT
"""Tensor infos and constants of the format, both ways."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.parsing.conversion import RefusedError
from armnn.parsing.flatbuffers import FlatTable
from armnn.tensor import TensorInfo, format_shape
from armnn.types import DataType
from armnn_parser_armnn.flat_writer import FlatRecord
from armnn_parser_armnn.schema import (
    BEYOND_TYPE,
    MOST_DIMENSIONS,
    NEWEST,
    NOT_SPECIFIED,
    SCALAR,
    SPECIFIED,
    is_known_to,
    member_of,
    number_of,
)

DATA_TABLES: Final = ("", "Bytes", "Shorts", "Ints", "Longs")
"""The tables of a constant's data by their places in the union."""

_DATA_OF_SIZE: Final = {1: 1, 2: 2, 4: 3, 8: 4}
_WIRE_TYPES: Final = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def read_info(table: FlatTable) -> TensorInfo:
    """Return a stored tensor info.

    Raises:
        RefusedError: Networks have no such data type.
        InvalidArgumentError: Its fields do not agree with each other.
    """
    plain = read_plain_info(table)
    shape, data_type = plain.shape, plain.data_type
    if not data_type.is_quantized:
        return plain
    scales = [float(scale) for scale in table.reals("scales")]
    axis: int | None = table.integer("axis")
    points = list(table.integers("zero_points"))
    known = shape[axis] if shape is not None and axis is not None and axis < len(shape) else None
    if not scales or (len(scales) == 1 and known not in (None, 1)):
        scale = scales[0] if scales else table.real("scale")
        if not 0 < scale < math.inf:
            return plain
        return TensorInfo(shape, data_type, scale, table.integer("zero_point"))
    return TensorInfo(shape, data_type, scales, points or [0] * len(scales), axis)


def read_plain_info(table: FlatTable) -> TensorInfo:
    """Return a stored tensor info without its quantization.

    Raises:
        RefusedError: Networks have no such data type.
        InvalidArgumentError: The shape is none.
    """
    return TensorInfo(_shape(table), _data_type(table))


def read_constant(table: FlatTable, info: TensorInfo) -> NDArray[Any]:
    """Return a constant's data, as a view if possible.

    Raises:
        RefusedError: The file has no data for it, or another number of bytes.
    """
    dtype = info.data_type.numpy_dtype
    # Arm NN 20.08 writes QAsymmS8 data and forgets to say what it is.
    member = table.integer("member") or _DATA_OF_SIZE[dtype.itemsize]
    data = table.union("data", DATA_TABLES[member]) if 0 < member < len(DATA_TABLES) else None
    if data is None:
        raise RefusedError("a constant of it has no data")
    stored = data.array("data", charged=False)
    count = math.prod(info.static_shape)
    if stored.nbytes != count * dtype.itemsize:
        raise RefusedError(
            f"a constant of it has {stored.nbytes} bytes of data, expected {info} with "
            f"{count * dtype.itemsize}"
        )
    if not count:
        return np.empty(info.static_shape, dtype)
    data.charge(stored.nbytes)  # tables may share data, and some of it has to be copied
    if info.data_type is DataType.BOOLEAN:
        flags: NDArray[Any] = np.not_equal(stored, 0)
        return flags.reshape(info.static_shape)
    aligned: NDArray[Any] = np.require(stored.view(np.uint8).view(dtype), requirements="A")
    return aligned.reshape(info.static_shape)


def info_fault(info: TensorInfo, version: str) -> str:
    """Return why files cannot hold a tensor, or ""."""
    name = info.data_type.arm_name
    if number_of(info.data_type) is None:
        return f"it is {name}, which .armnn files lack"
    if not is_known_to(version, f"DataType.{name}"):
        return f"it is {name}, which files for Arm NN {version} lack"
    if info.rank is not None and info.rank > MOST_DIMENSIONS:
        return f"its rank is {info.rank}, and Arm NN's highest is {MOST_DIMENSIONS}"
    if info.is_per_axis and any(info.zero_points):
        return "it has other zero points than 0 along an axis"
    if version != NEWEST and not info.is_static and info.shape is not None:
        return f"its shape {format_shape(info.shape)} is open, which Arm NN {version} lacks"
    return ""


def info_record(info: TensorInfo, version: str, scales: TensorInfo | None = None) -> FlatRecord:
    """Return a tensor info to be stored.

    Args:
        info: The info.
        version: The Arm NN that has to read it.
        scales: The quantization to store with a type that has none here, as Arm NN's biases have.
    """
    source = info if scales is None else scales
    fields: dict[str, Any] = {
        "data_type": number_of(info.data_type),
        "scale": source.scales[0] if source.scales else 0.0,
        "zero_point": source.zero_points[0] if source.zero_points else 0,
    }
    if number_of(info.data_type) is None:
        fields |= {"data_type": BEYOND_TYPE, "beyond_type": int(info.data_type)}
    if source.is_per_axis:
        fields |= {"scales": source.scales, "axis": source.axis}
        if any(source.zero_points):
            fields["zero_points"] = source.zero_points
    shape = info.shape
    if not shape:
        fields["dimensionality"] = NOT_SPECIFIED if shape is None else SCALAR
        shape = () if shape is None else (1,)
    known = [isinstance(dim, int) for dim in shape]
    fields["dimensions"] = [dim if isinstance(dim, int) else 0 for dim in shape]
    if version == NEWEST:
        fields["known"] = known
    return FlatRecord("TensorInfo", fields)


def constant_record(
    data: NDArray[Any], info: TensorInfo, version: str, scales: TensorInfo | None = None
) -> FlatRecord:
    """Return a constant to be stored; see :func:`info_record`."""
    plain = np.ascontiguousarray(data).reshape(-1)
    size = plain.dtype.itemsize
    member = _DATA_OF_SIZE[size]
    stored = plain.view(np.uint8).view(_WIRE_TYPES[size]) if plain.size else plain[:0].view(np.int8)
    return FlatRecord(
        "ConstTensor",
        {
            "info": info_record(info, version, scales),
            "member": member,
            "data": FlatRecord(DATA_TABLES[member], {"data": stored}),
        },
    )


def _data_type(table: FlatTable) -> DataType:
    number = table.integer("data_type")
    if number == BEYOND_TYPE:
        beyond = table.integer("beyond_type")
        found = next((each for each in DataType if each == beyond), None)
    else:
        beyond, found = number, member_of(DataType, number)
    if found is None:
        raise RefusedError(f"a tensor of it has the data type {beyond}, which is not known here")
    return found


def _shape(table: FlatTable) -> tuple[int | None, ...] | None:
    dimensionality = table.integer("dimensionality")
    if dimensionality == SCALAR:
        return ()
    if dimensionality == NOT_SPECIFIED:
        return None
    if dimensionality != SPECIFIED:
        raise RefusedError(f"a tensor of it has the dimensionality {dimensionality}")
    dims = table.integers("dimensions")
    known = table.array("known").tolist()
    if not known:
        return dims
    if len(known) != len(dims):
        raise RefusedError(
            f"a tensor has {len(dims)} dimensions, and {len(known)} flags that say whether these "
            "are known"
        )
    return tuple(dim if is_known else None for dim, is_known in zip(dims, known, strict=True))
