# SPDX-License-Identifier: MIT
"""Constants, and operators that return their input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, shape_vector
from armnn.types import DataType
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.tensors import data_type_of, to_array

_FORMS = (
    "value", "value_float", "value_floats", "value_int", "value_ints", "value_string",
    "value_strings", "sparse_value",
)  # fmt: skip


@operator("Constant")
def constant(operation: Operation) -> Value:
    """Add a Constant layer."""
    forms = [form for form in _FORMS if operation.has(form)]
    if len(forms) != 1:
        raise operation.error(f"got the attributes {forms}, expected exactly one value")
    return operation.network.add_constant(
        _constant_data(operation, forms[0]), name=operation.layer_name()
    )


def _constant_data(operation: Operation, form: str) -> NDArray[Any]:
    if form == "value_float":
        return np.array(operation.real(form), np.float32)
    if form == "value_floats":
        return np.array(operation.reals(form), np.float32)
    if form == "value_int":
        return np.array(operation.integer(form), np.int64)
    if form == "value_ints":
        return np.array(operation.integers(form), np.int64)
    tensor = operation.tensor(form)
    if tensor is None:
        raise RefusedError(f"its attribute {form!r} is a string or a sparse tensor")
    return to_array(tensor, operation.graph.external_data)


@operator("Identity", moves_data=True)
def identity(operation: Operation) -> Value:
    """Add nothing."""
    return operation.input()


@operator("Dropout", moves_data=True)
def dropout(operation: Operation) -> list[Value]:
    """Add nothing: dropout does something only in training.

    The optional second output, the mask, is then true everywhere.
    """
    value = operation.input()
    training = operation.constant(2)
    if operation.has_input(2) and (training is None or bool(training.any())):
        raise RefusedError("it may be in training mode")
    if len(operation.outputs) < 2 or not operation.outputs[1]:
        return [value]
    mask = operation.network.add_fill(
        shape_vector(operation, value),
        value=1,
        name=operation.layer_name("mask"),
        output=DataType.BOOLEAN,
    )
    return [value, mask]


@operator("OptionalHasElement")
def has_element(operation: Operation) -> Value:
    """Add a constant: whether the optional input is given."""
    return operation.network.add_constant(
        np.array(operation.has_input(0)), name=operation.layer_name()
    )


@operator("OptionalGetElement", moves_data=True)
def get_element(operation: Operation) -> Value:
    """Add nothing: a tensor is its own element."""
    return operation.input()


@operator("EyeLike")
def eye_like(operation: Operation) -> Value:
    """Add Fill with ones, reduced to a diagonal by Trilu."""
    value, network = operation.input(), operation.network
    data_type = value.info.data_type
    if operation.has("dtype"):
        data_type = data_type_of(operation.integer("dtype"))
    if len(operation.shape()) != 2:
        raise operation.error(f"the input has rank {len(operation.shape())}: expected 2")
    diagonal = operation.integer("k")
    ones = network.add_fill(
        shape_vector(operation, value),
        value=1,
        name=operation.layer_name("ones"),
        output=data_type,
    )
    upper = network.add_trilu(ones, k=diagonal, name=operation.layer_name("upper"))
    return network.add_trilu(upper, k=diagonal, upper=False, name=operation.layer_name())
