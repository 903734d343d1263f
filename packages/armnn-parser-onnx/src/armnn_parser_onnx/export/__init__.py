# SPDX-License-Identifier: MIT
"""Writing networks, or parts of them, as ONNX models.

It is the inverse of the parser. Other run times that read ONNX become backends by it, and a network
can be looked at with the tools that exist for ONNX files.
"""

from __future__ import annotations

from armnn.errors import NotExportableError
from armnn_parser_onnx.export.graph import OPSET
from armnn_parser_onnx.export.model import (
    as_one_layer,
    computed_inputs,
    export_support,
    layer_view,
    not_compiled,
    to_onnx,
)
from armnn_parser_onnx.tensors import onnx_type_of

__all__ = [
    "OPSET",
    "NotExportableError",
    "as_one_layer",
    "computed_inputs",
    "export_support",
    "layer_view",
    "not_compiled",
    "onnx_type_of",
    "to_onnx",
]
