# SPDX-License-Identifier: MIT
"""Matrices and their diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armnn.parsing.conversion import NotKnownYetError, RefusedError
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.shapes import with_axis

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_tflite.operation import Operation

_LARGEST = 2**12


@operator("MATRIX_DIAG")
def matrix_diag(operation: Operation) -> Value:
    """Add Where: the elements on the diagonal, zeros elsewhere."""
    value, rank = operation.input(), len(operation.shape())
    if not rank or value.info.is_quantized:
        raise RefusedError("its input is a scalar or quantised")
    size = _size(operation.shape()[-1])
    zero = operation.number(0, value, "zero")
    return _on_diagonal(operation, size, size, with_axis(operation, value, rank, "column"), zero)


@operator("MATRIX_SET_DIAG")
def matrix_set_diag(operation: Operation) -> Value:
    """Add Where: the second input on the first's diagonal."""
    shape = operation.shape()
    if len(shape) < 2 or len(operation.shape(1)) != len(shape) - 1:
        raise operation.error("its inputs are not matrices and their diagonals")
    rows, columns = _size(shape[-2]), _size(shape[-1])
    # The diagonal is as long as the shorter side, along which it is laid.
    axis = len(shape) - 1 if rows <= columns else len(shape) - 2
    diagonal = with_axis(operation, operation.input(1), axis, "diagonal")
    return _on_diagonal(operation, rows, columns, diagonal, operation.input())


def _on_diagonal(
    operation: Operation, rows: int, columns: int, diagonal: Value, other: Value
) -> Value:
    where = operation.network.add_constant(
        np.eye(rows, columns, dtype=bool), name=operation.layer_name("on_diagonal")
    )
    return operation.network.add_where(where, diagonal, other, name=operation.layer_name())


def _size(dim: int | str | None) -> int:
    if not isinstance(dim, int):
        raise NotKnownYetError("the size of its matrices is not known")
    if dim > _LARGEST:
        raise RefusedError(f"its matrices have {dim} rows or columns: more than {_LARGEST}")
    return dim
