# SPDX-License-Identifier: MIT
"""Computes operators on few known integers.

They are counters of loops and the conditions made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn_parser_tflite.operation import Operation

_MOST_ELEMENTS = 64

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "NEG": np.negative,
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
    "LOGICAL_NOT": np.logical_not,
}
_ACTIVATED = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions"}


def folded(operation: Operation) -> Value | None:
    """Return an operator's constant result, None if not foldable.

    Known integers and Booleans are folded.

    Raises:
        ParseError: Its options are malformed.
    """
    function = _FUNCTIONS.get(operation.type)
    if function is None:
        return None
    arrays = [_integers(operation, index) for index in range(operation.count())]
    if not arrays or any(array is None for array in arrays):
        return None
    options = _ACTIVATED.get(operation.type)
    if options and operation.options(options).integer("FusedActivationFunction"):
        return None
    try:
        with np.errstate(over="ignore"):
            result = np.asarray(function(*arrays))
    except (TypeError, ValueError):
        return None  # too many inputs, or shapes that do not fit: the layer says it better
    if result.dtype != operation.info().data_type.numpy_dtype:
        return None
    return operation.network.add_constant(result, name=operation.layer_name())


def _integers(operation: Operation, index: int) -> NDArray[Any] | None:
    if not operation.has_input(index):
        return None
    value = operation.input(index)
    array = value.constant
    if array is None or value.info.is_quantized or array.dtype.kind not in "ib":
        return None
    return array if array.size <= _MOST_ELEMENTS else None
