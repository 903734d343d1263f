# SPDX-License-Identifier: MIT
"""The data of tensors: in the file, beside it, or without its zeros, as infos and arrays.

Sizes are checked before memory is taken. Data is in the tables of the file, behind them, or in
another file. Constants may be stored without their zeros, in the format of ``SparsityParameters``:
the elements form a tree whose levels are the axes of the tensor in some order, then blocks of axes.
A level is dense, or lists for each node which of its children there are (compressed sparse rows).
"""

from __future__ import annotations

import functools
import math
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ArmnnError, ParseError
from armnn.graph import Network
from armnn.parsing.conversion import open_beside, path_beside, type_of_number
from armnn.parsing.flatbuffers import FlatTable
from armnn.tensor import Dimension, TensorInfo
from armnn.types import DataType
from armnn_parser_tflite._bindings import DimensionType, SparseIndexVector
from armnn_parser_tflite.model_file import ModelFile
from armnn_parser_tflite.schema import Quantization, Tensor

_ZEROS_PER_BYTE = 64
"""A few bytes may claim a tensor of any size, so its zeros count as read, if not in full."""

_VECTORS = {
    SparseIndexVector.Int32Vector: "Int32Vector",
    SparseIndexVector.Uint16Vector: "Uint16Vector",
    SparseIndexVector.Uint8Vector: "Uint8Vector",
}


def _positions(table: FlatTable, shape: Sequence[int], name: str) -> tuple[NDArray[Any], ...]:
    """Return the indices of every stored element of a sparse constant, one array per axis.

    Args:
        table: The ``SparsityParameters``.
        shape: The dimensions of the tensor.
        name: The name of the tensor.

    Raises:
        ParseError: The tree does not fit the dimensions.
    """
    table.charge(math.prod(shape) // _ZEROS_PER_BYTE)
    order = table.integers("TraversalOrder")
    blocks = table.integers("BlockMap")
    levels = table.tables("DimMetadata")
    count = len(shape) + len(blocks)
    if (
        sorted(order) != list(range(count))
        or len(levels) != count
        or not all(0 <= axis < len(shape) for axis in blocks)
    ):
        raise _error(name, "its levels are not those of its axes and blocks")
    sizes = [0] * count
    by_axis: list[NDArray[Any]] = [np.zeros(1, np.int64)] * count
    nodes = np.zeros(1, np.int64)
    for axis, level in zip(order, levels, strict=True):
        parents, nodes, here, sizes[axis] = _expanded(level, nodes, name)
        by_axis = [indices[parents] for indices in by_axis]
        by_axis[axis] = here
    return _joined(by_axis, sizes, blocks, shape, name)


def _dense(stored: NDArray[Any], positions: Sequence[NDArray[Any]], shape: Sequence[int]) -> Any:
    """Return a dense tensor of stored elements, else zero."""
    array = np.zeros(shape, stored.dtype)
    array[tuple(positions)] = stored
    return array


def _expanded(
    level: FlatTable, nodes: NDArray[Any], name: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
    """Return each child's parent, number and index, and the size.

    The size is that of the level.
    """
    if level.integer("Format") == DimensionType.DENSE:
        size = level.integer("DenseSize")
        if size < 0:
            raise _error(name, f"a level of it has {size} indices")
        level.charge(nodes.size * size)
        parents = np.repeat(np.arange(nodes.size), size)
        here = np.tile(np.arange(size), nodes.size)
        return parents, nodes[parents] * size + here, here, size
    segments, indices = _vector(level, "ArraySegments"), _vector(level, "ArrayIndices")
    if nodes.size and nodes.max() + 1 >= segments.size:
        raise _error(name, f"a level of it has {segments.size} segments")
    first, last = segments[nodes], segments[nodes + 1]
    lengths = last - first
    if lengths.size and not (
        lengths.min() >= 0 and first.min() >= 0 and last.max() <= indices.size
    ):
        raise _error(name, "a segment of it is outside of its level")
    level.charge(int(lengths.sum()))
    parents = np.repeat(np.arange(nodes.size), lengths)
    starts = np.cumsum(lengths) - lengths
    children = np.arange(parents.size) - starts[parents] + first[parents]
    return parents, children, indices[children], -1


def _vector(level: FlatTable, field: str) -> NDArray[Any]:
    kind = _VECTORS.get(level.integer(f"{field}Type"))
    table = None if kind is None else level.union(field, kind)
    return np.zeros(0, np.int64) if table is None else table.array("Values").astype(np.int64)


def _joined(
    by_axis: list[NDArray[Any]],
    sizes: list[int],
    blocks: Sequence[int],
    shape: Sequence[int],
    name: str,
) -> tuple[NDArray[Any], ...]:
    """Add the indices in blocks to those of the blocks."""
    positions = by_axis[: len(shape)]
    for place, axis in enumerate(blocks, len(shape)):
        positions[axis] = positions[axis] * sizes[place] + by_axis[place]
    for indices, size in zip(positions, shape, strict=True):
        if indices.size and not (indices.min() >= 0 and indices.max() < size):
            raise _error(name, "an element of it is outside of its dimensions")
    return tuple(positions)


def _error(name: str, what: str) -> ParseError:
    return ParseError(f"the sparse tensor {name!r} is malformed: {what}")


_EXTERNAL_GROUPS_SLOT = 20
_EXTERNAL_BUFFERS_SLOT = 22
_BEHIND_TABLES = 2
"""The least valid ``Buffer.offset``; converters write 1 as a placeholder."""


class _Span:
    """Where an external buffer is."""

    __slots__ = ("group", "length", "offset", "packing")

    def __init__(self, group: str, offset: int, length: int, packing: str) -> None:
        self.group = group
        self.offset = offset
        self.length = length
        self.packing = packing


class Buffers:
    """Reads the data of the tensors of one model.

    Args:
        model: The file.

    Raises:
        ParseError: The tables of the buffers are malformed.
    """

    def __init__(self, model: ModelFile) -> None:
        self._file = model.file
        self._folder = model.folder
        self._tables = model.root.tables("Buffers")
        self._files: dict[Path, tuple[bytes, os.stat_result]] = {}
        self._read: dict[str, os.stat_result] = {}
        groups = [table.slot_text(4) for table in model.root.slot_tables(_EXTERNAL_GROUPS_SLOT)]
        self._external = {
            table.slot_integer(4): self._span(table, groups)
            for table in model.root.slot_tables(_EXTERNAL_BUFFERS_SLOT)
        }

    def note_in(self, network: Network) -> None:
        """Record the files that were read so far in a network."""
        network.external_files.update(self._read)

    def read(self, tensor: Tensor, size: int) -> memoryview | None:
        """Return a tensor's bytes, None if it has no data.

        Args:
            tensor: The tensor.
            size: How many bytes it needs.

        Raises:
            ParseError: The data has another size, or is at a forbidden place.
        """
        what = f"the tensor {tensor.name!r}"
        if tensor.external_buffer:
            return self._read_external(tensor, size, what)
        data = self._inline(tensor, what)
        if data is not None and len(data) != size:
            raise ParseError(f"{what} has {len(data)} bytes of data: expected {size}")
        self._file.charge(size)  # tensors may share data, and some of it has to be copied
        return data

    def data(self, index: int) -> memoryview | None:
        """Return a buffer's bytes, None if it is empty.

        Raises:
            ParseError: There is no such buffer, or it is not within the file.
        """
        if index == 0 and not self._tables:
            return None  # the first buffer is empty by convention, so some files have none
        if not 0 <= index < len(self._tables):
            raise self._file.error(f"it names the buffer {index} of {len(self._tables)}")
        table = self._tables[index]
        offset, size = table.integer("Offset"), table.integer("Size")
        if offset >= _BEHIND_TABLES and size:
            if offset + size > len(self._file.data):
                raise self._file.error(
                    f"buffer {index} spans the bytes {offset} to {offset + size} of "
                    f"{len(self._file.data)}"
                )
            return memoryview(self._file.data)[offset : offset + size]
        array = table.array("Data", charged=False)
        return array.data.cast("B") if array.size else None

    def _inline(self, tensor: Tensor, what: str) -> memoryview | None:
        try:
            return self.data(tensor.buffer)
        except ParseError as error:
            raise ParseError(f"{what}: {error}") from error

    def _span(self, table: FlatTable, groups: list[str]) -> _Span:
        group = table.slot_integer(6)
        if group >= len(groups):
            raise self._file.error(f"it names the external group {group} of {len(groups)}")
        return _Span(
            groups[group],
            table.slot_integer(8, wide=True),
            table.slot_integer(10, wide=True),
            table.slot_text(12),
        )

    def _read_external(self, tensor: Tensor, size: int, what: str) -> memoryview:
        span = self._external.get(tensor.external_buffer)
        if span is None:
            raise ParseError(
                f"{what} is in the external buffer {tensor.external_buffer}, which the file lacks"
            )
        if span.packing not in ("", "unpacked"):
            raise ParseError(f"{what} is packed as {span.packing!r}: expected unpacked data")
        if span.length != size:
            raise ParseError(f"{what} has {span.length} bytes of data: expected {size}")
        path = path_beside(self._folder, span.group, what)
        if path not in self._files:
            self._files[path] = _content(path, what)
        content, self._read[span.group] = self._files[path]
        if span.offset + size > len(content):
            raise ParseError(
                f"{what} spans the bytes {span.offset} to {span.offset + size} of {str(path)!r}, "
                f"which has {len(content)}"
            )
        return memoryview(content)[span.offset : span.offset + size]


def _content(path: Path, what: str) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a file, and its status."""
    descriptor = open_beside(path, what)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ParseError(f"{what} is not in a regular file: {str(path)!r}")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(), status
    finally:
        os.close(descriptor)


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
"""Quantized types of less than a byte, and the types that they are computed in."""


def _stored_type(number: int) -> DataType:
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


def _element_count(tensor: Tensor) -> int:
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
    """Return type and quantization of a tensor.

    Raises:
        ParseError: Networks have no such tensor.
    """
    info = info_of(tensor)
    return info.with_shape(None) if info.is_quantized else _plain_info(None, info.data_type)


def info_of(tensor: Tensor) -> TensorInfo:
    """Return type, quantization and shape of a tensor.

    Unknown dimensions are None. Eight-bit integers with a scale are QAsymmS8 or QAsymmU8, QSymmS8
    if they have one per index of an axis; 16-bit ones are QSymmS16. Other integers are plain: what
    a step of a bias is worth follows from input and weights.

    Raises:
        ParseError: Networks have no such tensor.
    """
    _element_count(tensor)
    dims: tuple[Dimension, ...] = tensor.shape
    if tensor.signature:
        dims = tuple(
            [None if d == -1 else dim for dim, d in zip(dims, tensor.signature, strict=True)]
        )
    try:
        plain = _stored_type(tensor.type)
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
    plain = _stored_type(tensor.type)
    count = _element_count(tensor)
    if tensor.sparsity is not None:
        positions = _positions(tensor.sparsity, tensor.shape, tensor.name)
        stored = _elements(tensor, plain, len(positions[0]) if positions else 1, buffers)
        return None if stored is None else _dense(stored, positions, tensor.shape)
    elements = _elements(tensor, plain, count, buffers)
    if elements is None:
        return np.empty(tensor.shape, plain.numpy_dtype) if count == 0 else None
    return elements.reshape(tensor.shape)


def _elements(tensor: Tensor, plain: DataType, count: int, buffers: Buffers) -> NDArray[Any] | None:
    """Return the elements of a tensor as a list."""
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
