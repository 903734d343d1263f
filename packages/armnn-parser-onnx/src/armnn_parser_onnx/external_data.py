# SPDX-License-Identifier: MIT
"""Tensor data beside the model, bounded by its tensors' size."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from armnn.errors import ParseError
from armnn.graph import Network
from armnn.parsing.conversion import open_beside, path_beside
from armnn_parser_onnx.wire.messages import Tensor
from armnn_parser_onnx.wire.source import check_span

_MAPPED = 1 << 16
"""Bytes of a tensor from which on its file is mapped."""

_ALIGNMENT = 16
"""What divides the address of mapped data, as that of data that is read."""


class ExternalData:
    """Reads a model's tensor data from other files.

    Args:
        folder: The folder of the model; None if the model has none, since it came as bytes.

    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._read: dict[str, os.stat_result] = {}

    def note_in(self, network: Network) -> None:
        """Say in a network which files were read so far."""
        network.external_files.update(self._read)

    def read(self, tensor: Tensor, size: int) -> bytes | memoryview:
        """Return a tensor's bytes; much data is mapped.

        Raises:
            ParseError: The entry is malformed, points out of the folder, or its file is too short.
        """
        what = f"the external data of the tensor {tensor.name!r}"
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        path = path_beside(self._folder, location, what)
        offset = _number(entries, "offset", 0, what)
        length = _number(entries, "length", size, what)
        if length != size:
            raise ParseError(f"{what} has a length of {length} bytes: expected {size}")
        descriptor = open_beside(path, what)
        try:
            status = os.fstat(descriptor)
            self._read.setdefault(location, status)
            check_span(status, offset, size, f"{what} in {str(path)!r}")
            if size >= _MAPPED and offset % _ALIGNMENT == 0:
                return _mapped(descriptor, offset, size)
            with open(descriptor, "rb", closefd=False) as file:
                file.seek(offset)
                return file.read(size)
        finally:
            os.close(descriptor)


def _mapped(descriptor: int, offset: int, size: int) -> memoryview:
    """Map bytes of a file for reading."""
    before = offset % mmap.ALLOCATIONGRANULARITY
    pages = mmap.mmap(descriptor, size + before, offset=offset - before, access=mmap.ACCESS_READ)
    return memoryview(pages)[before:]


def _number(entries: dict[str, str], key: str, default: int, what: str) -> int:
    text = entries.get(key, "")
    if not text:
        return default
    # int() would take "1_0" and " 1 " too, and digits of any script.
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ParseError(f"{what} has the {key} {text!r}: expected a number of bytes")
    return int(text)
