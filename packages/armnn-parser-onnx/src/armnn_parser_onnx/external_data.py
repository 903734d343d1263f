# SPDX-License-Identifier: MIT
"""Tensor data beside the model, bounded by its tensors' size."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from armnn.errors import ParseError
from armnn.parsing.conversion import open_beside, path_beside
from armnn_parser_onnx.data_in_file import DataInFile, check_span

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import TensorProto


class ExternalData:
    """Reads a model's tensor data from outside its message.

    Args:
        folder: The folder of the model; None if the model has none, since it came as bytes.
        in_model_file: What was left in the model's file.

    Attributes:
        was_read: Whether a tensor was read from another file.
    """

    def __init__(self, folder: Path | None, in_model_file: DataInFile | None = None) -> None:
        self._folder = folder
        self._in_model_file = in_model_file
        self.was_read = False

    def raw_data(self, tensor: TensorProto) -> bytes:
        """Return a tensor's raw data, also from the model's file.

        Raises:
            ParseError: The file was cut short since it was opened.
        """
        data: bytes = tensor.raw_data
        if self._in_model_file is None:
            return data
        return self._in_model_file.resolved(data, tensor.name)

    def read(self, tensor: TensorProto, size: int) -> bytes:
        """Return the ``size`` bytes of a tensor.

        Raises:
            ParseError: The entry is malformed, points out of the folder, or its file is too short.
        """
        what = f"the external data of the tensor {tensor.name!r}"
        entries = {entry.key: entry.value for entry in tensor.external_data}
        self.was_read = True
        path = path_beside(self._folder, entries.get("location", ""), what)
        offset = _number(entries, "offset", 0, what)
        length = _number(entries, "length", size, what)
        if length != size:
            raise ParseError(f"{what} has a length of {length} bytes: expected {size}")
        descriptor = open_beside(path, what)
        try:
            check_span(os.fstat(descriptor), offset, size, f"{what} in {str(path)!r}")
            with open(descriptor, "rb", closefd=False) as file:
                file.seek(offset)
                return file.read(size)
        finally:
            os.close(descriptor)


def _number(entries: dict[str, str], key: str, default: int, what: str) -> int:
    text = entries.get(key, "")
    if not text:
        return default
    # int() would take "1_0" and " 1 " too, and digits of any script.
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ParseError(f"{what} has the {key} {text!r}: expected a number of bytes")
    return int(text)
