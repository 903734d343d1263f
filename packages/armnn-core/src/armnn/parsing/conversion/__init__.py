# SPDX-License-Identifier: MIT
"""Refusals, deferral, names, axes, shapes and files of all parsers.

``docs/writing-a-parser.md`` shows a parser that is made of it.
"""

from __future__ import annotations

from armnn._process_memory import HugePages
from armnn.parsing.conversion._conversion import Conversion, Converted, add_stand_in, values_of
from armnn.parsing.conversion._files import (
    check_model_file,
    model_content,
    open_beside,
    path_beside,
    unreadable,
)
from armnn.parsing.conversion._layers import (
    add_layer,
    cast,
    compare,
    logical,
    reshape,
    reshape_target,
    same_padding,
    shape_vector,
    static_shape,
    transpose,
)
from armnn.parsing.conversion._operation import (
    NotKnownYetError,
    Operation,
    RefusedError,
    type_of_number,
)
from armnn.parsing.conversion._values import ValueTable

__all__ = [
    "Conversion",
    "Converted",
    "HugePages",
    "NotKnownYetError",
    "Operation",
    "RefusedError",
    "ValueTable",
    "add_layer",
    "add_stand_in",
    "cast",
    "check_model_file",
    "compare",
    "logical",
    "model_content",
    "open_beside",
    "path_beside",
    "reshape",
    "reshape_target",
    "same_padding",
    "shape_vector",
    "static_shape",
    "transpose",
    "type_of_number",
    "unreadable",
    "values_of",
]
