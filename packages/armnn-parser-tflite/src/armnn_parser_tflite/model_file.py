# SPDX-License-Identifier: MIT
"""The root table of a TensorFlow Lite file.

The file is a path or bytes.
"""

from __future__ import annotations

import os
from pathlib import Path

from armnn.errors import ParseError
from armnn.parsing.conversion import model_content
from armnn.parsing.flatbuffers import FlatFile, FlatTable
from armnn_parser_tflite._bindings import TABLES

_IDENTIFIER = b"TFL3"
_LEAST_BYTES = 8
_SCHEMA_VERSION = 3


class ModelFile:
    """The content of a file and where it came from.

    Attributes:
        file: Its bytes.
        root: Its ``Model`` table.
        folder: Where data in other files is; None for a model that came as bytes.
    """

    __slots__ = ("file", "folder", "root")

    def __init__(self, file: FlatFile, root: FlatTable, folder: Path | None) -> None:
        self.file = file
        self.root = root
        self.folder = folder


def read_model(source: str | os.PathLike[str] | bytes, folder: Path | None = None) -> ModelFile:
    """Return the model in a file or in bytes.

    Args:
        source: The file, or its content.
        folder: Where data beside content is; None if there can be none.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        ParseError: It is not a TensorFlow Lite file, or is of another version of the schema.
    """
    name, data, folder = model_content(source, folder)
    if len(data) < _LEAST_BYTES or data[4:8] != _IDENTIFIER:
        raise ParseError(
            f"the model {name!r} is not a TensorFlow Lite file: expected the bytes "
            f"{_IDENTIFIER.decode()!r} at its position 4"
        )
    file = FlatFile(data, name, TABLES)
    root = FlatTable.at("Model", int.from_bytes(data[:4], "little"), file)
    version = root.integer("Version")
    if version != _SCHEMA_VERSION:
        raise ParseError(
            f"the model {name!r} is of version {version} of the schema: expected {_SCHEMA_VERSION}"
        )
    return ModelFile(file, root, folder)
