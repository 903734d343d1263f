# SPDX-License-Identifier: MIT
"""The data of tensors, in the file or beside it.

In the file it is in the tables or behind them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from armnn.errors import ParseError
from armnn.graph import Network
from armnn.parsing.conversion import open_beside, path_beside
from armnn.parsing.flatbuffers import FlatTable
from armnn_parser_tflite.model_file import ModelFile
from armnn_parser_tflite.schema import Tensor

_EXTERNAL_GROUPS_SLOT = 20
_EXTERNAL_BUFFERS_SLOT = 22
_BEHIND_TABLES = 2
"""The least ``Buffer.offset`` that means something; 1 is what converters write before they know."""


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
        """Say in a network which files were read so far."""
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
