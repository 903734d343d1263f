# SPDX-License-Identifier: MIT
"""Writing networks, or parts of them, as ONNX models.

It is the inverse of the parser. Other run times that read ONNX become backends by it, and a network
can be looked at with the tools that exist for ONNX files.
"""

from __future__ import annotations

from armnn.errors import NotExportableError
from armnn_parser_onnx.export.model import export_support, to_onnx
from armnn_parser_onnx.export.writer import OPSET

__all__ = ["OPSET", "NotExportableError", "export_support", "to_onnx"]
