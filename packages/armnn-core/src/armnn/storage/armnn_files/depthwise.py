# SPDX-License-Identifier: MIT
"""The older layout of depthwise weights, [M,I,KH,KW].

The newer one, that of armnn's layer table, is [1,KH,KW,I*M].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ParseError
from armnn.graph import Value
from armnn.parsing.conversion import RefusedError
from armnn.parsing.flatbuffers import FlatRecord, FlatTable
from armnn.storage.armnn_files.operation import StoredOperation
from armnn.storage.armnn_files.tensors import (
    constant_record,
    read_constant,
    read_info,
    read_plain_info,
)
from armnn.tensor import TensorInfo, format_shape


def read_member(operation: StoredOperation, member: FlatTable) -> Value:
    """Add weights that are members in the older layout.

    Raises:
        ParseError: They have no info.
        RefusedError: Their shape or scales are not those of such weights.
    """
    table = member.table("info")
    if table is None:
        raise ParseError("its weights have no tensor info")
    plain = read_plain_info(table)
    data = read_constant(member, plain)
    # Arm NN has one scale per output channel along the axis of M, which has fewer indices.
    scales = table.reals("scales") if plain.is_quantized else ()
    if len(scales) > 1:
        return _added(operation, data, plain, scales)
    return _added(operation, data, read_info(table), ())


def read_value(operation: StoredOperation, value: Value) -> Value:
    """Return the weights of a Constant layer, newly laid out."""
    if value.constant is None:
        return value
    return _added(operation, value.constant, value.info, ())


def _added(
    operation: StoredOperation, data: NDArray[Any], info: TensorInfo, scales: tuple[float, ...]
) -> Value:
    if data.ndim != 4:
        raise RefusedError(
            f"its weights have the shape {format_shape(data.shape)}, not [M,I,KH,KW]"
        )
    multiplier, channels, height, width = data.shape
    shape = (1, height, width, channels * multiplier)
    moved = np.ascontiguousarray(data.transpose(2, 3, 1, 0)).reshape(shape)
    newer = info.with_shape(shape)
    if scales:
        newer = TensorInfo(shape, info.data_type, scales, [0] * len(scales), 3)
    return operation.network.add_constant(moved, newer, name=operation.free_name("weights"))


def older_record(data: NDArray[Any], info: TensorInfo, channels: int, version: str) -> FlatRecord:
    """Return weights to be stored in the older layout.

    Args:
        data: The weights in the newer layout.
        info: Their info.
        channels: The number of the input's channels, I.
        version: The Arm NN that has to read them.
    """
    _, height, width, outputs = data.shape
    shape = (outputs // channels, channels, height, width)
    moved = data.reshape(height, width, channels, -1).transpose(3, 2, 0, 1)
    scales = info
    if info.is_per_axis:
        scales = TensorInfo(None, info.data_type, info.scales, info.zero_points, 0)
    return constant_record(moved, TensorInfo(shape, info.data_type), version, scales)
