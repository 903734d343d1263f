# SPDX-License-Identifier: MIT
"""The parser and the writer of ``.armnn`` files, Arm NN's own format."""

from __future__ import annotations

from armnn_parser_armnn._schema import VERSIONS

__all__ = ["VERSIONS"]
