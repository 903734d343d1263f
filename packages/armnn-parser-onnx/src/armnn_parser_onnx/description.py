# SPDX-License-Identifier: MIT
"""An ONNX file's declarations, for programs that need them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from armnn_parser_onnx.model_file import read_message

if TYPE_CHECKING:
    import onnx


def read_declarations(source: str | os.PathLike[str] | bytes) -> onnx.ModelProto:
    """Return a model's message, with as few checks as possible.

    The data of large tensors stays in a file, so that reading takes little time and memory.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        ParseError: It holds no message of ONNX, or a part of one.
    """
    return read_message(source)[0]


__all__ = ["read_declarations"]
