# SPDX-License-Identifier: MIT
"""ONNX models as text, converted by the package onnx.

The formats are those of ``onnx.load``: Protocol Buffers as text (.textproto, .prototxt, .pbtxt,
.txtpb) or JSON (.json, .onnxjson), and ONNX's own language (.onnxtxt, .onnxtext).
"""

from __future__ import annotations

import os
import warnings
from functools import partial
from pathlib import Path
from typing import Any, Final

from armnn.errors import ModelFileError, ParseError
from armnn.graph import Network, Survey
from armnn.parsing.conversion import model_content
from armnn_parser_onnx.model_file import read_model
from armnn_parser_onnx.parser import network_of


def _parse_text(
    source: str | os.PathLike[str] | bytes,
    form: str,
    *,
    overridable: str | bool = False,
    folder: Path | None = None,
    survey: Survey | None = None,
) -> Network:
    """Read an ONNX model that is stored as text.

    Args:
        source: The file, or its content; see :func:`armnn_parser_onnx.parser.parse`.
        form: The name of the format in onnx: "textproto", "json" or "onnxtxt".
        overridable: See :func:`armnn_parser_onnx.parser.parse`.
        folder: See :func:`armnn_parser_onnx.parser.parse`.
        survey: See :func:`armnn_parser_onnx.parser.parse`.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read, or the package ``onnx`` is not installed.
        UnsupportedOperatorError: The model uses operators that layers cannot compute.
        ParseError: The text is malformed, or the model is.
    """
    name, content, folder = model_content(source, folder)
    model = read_model(_binary(name, content, form), name, folder)
    return network_of(model, survey, overridable=overridable)


def _binary(name: str, content: bytes, form: str) -> bytes:
    """Return a model's bytes as in a .onnx file."""
    try:
        import onnx  # late: an optional dependency
    except ImportError as error:
        raise ModelFileError(
            f"Cannot parse {name!r}: ONNX models as text ({form}) need the package onnx, which "
            f"cannot be imported ({error}): pip install onnx, or store the model as .onnx, which "
            "needs no other package"
        ) from error
    reader: Any = onnx.serialization.registry.get(form)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that a format is experimental
            made: bytes = reader.deserialize_proto(content, onnx.ModelProto()).SerializeToString()
    except Exception as error:  # each format has errors of its own, and onnx's C++ others
        what = " ".join(str(error).split())
        raise ParseError(
            f"the model {name!r} is not an ONNX model in text form ({form}): "
            f"{type(error).__name__}: {what}"
        ) from error
    return made


parse_textproto: Final = partial(_parse_text, form="textproto")
parse_json: Final = partial(_parse_text, form="json")
parse_onnxtxt: Final = partial(_parse_text, form="onnxtxt")
