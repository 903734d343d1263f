# SPDX-License-Identifier: MIT
"""Fourier transforms as matrix products, and complex numbers.

A complex number is two elements along a last axis: the real and the imaginary part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError
from armnn.types import ReduceOperation, UnaryOperation
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation

_LONGEST_TRANSFORM = 2**13


@operator("RFFT2D", complex_numbers=True)
def real_transform(operation: Operation) -> Value:
    """Add two products with the Fourier matrix, and Stack.

    Only the last axis is transformed: that is how TensorFlow's one-dimensional transform comes.
    """
    lengths = operation.known_integers(1)
    shape = operation.shape()
    if len(lengths) != 2 or len(shape) < 2:
        raise operation.error("it does not transform two axes")
    size = shape[-1]
    if not isinstance(size, int) or not isinstance(shape[-2], int):
        raise NotKnownYetError("the size of the transformed axis is not known")
    if lengths[0] != 1 or shape[-2] != 1:
        raise RefusedError("it transforms two axes; only one is supported")
    if not 0 < lengths[1] <= _LONGEST_TRANSFORM:
        raise RefusedError(f"its length is {lengths[1]}: supported are 1 to {_LONGEST_TRANSFORM}")
    real, imaginary = _matrices(size, lengths[1])
    parts = [
        operation.network.add_batch_mat_mul(
            operation.input(),
            operation.network.add_constant(matrix, name=operation.layer_name(f"{part}_matrix")),
            name=operation.layer_name(part),
        )
        for part, matrix in (("real", real), ("imaginary", imaginary))
    ]
    return operation.network.add_stack(parts, axis=len(shape), name=operation.layer_name())


def _matrices(size: int, length: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return cosines and sines; samples beyond the length are dropped."""
    turns = np.outer(np.arange(size), np.arange(length // 2 + 1)) % length
    angles = turns * (-2 * np.pi / length)
    used = np.arange(size)[:, None] < length
    real, imaginary = np.cos(angles) * used, np.sin(angles) * used
    return real.astype(np.float32), imaginary.astype(np.float32)


@operator("COMPLEX_ABS", complex_numbers=True)
def absolute(operation: Operation) -> Value:
    """Add the root of the sum of both squares."""
    _check_complex(operation)
    network, value = operation.network, operation.input()
    squares = network.add_multiplication(value, value, name=operation.layer_name("squares"))
    total = network.add_reduce(
        squares,
        axis=(-1,),
        keep_dims=False,
        reduce_operation=ReduceOperation.SUM,
        name=operation.layer_name("sum"),
    )
    return network.add_elementwise_unary(
        total, operation=UnaryOperation.SQRT, name=operation.layer_name()
    )


@operator("REAL", complex_numbers=True)
def real_part(operation: Operation) -> Value:
    """Take the first element of each number."""
    return part(operation, 0)


@operator("IMAG", complex_numbers=True)
def imaginary_part(operation: Operation) -> Value:
    """Take the second element of each number."""
    return part(operation, 1)


def part(operation: Operation, index: int, label: str = "") -> Value:
    """Return the real (0) or imaginary (1) part.

    Args:
        operation: The operator, whose first input they are.
        index: Which part.
        label: The name of the layer, behind that of the output.

    Raises:
        ParseError: They are not complex numbers.
    """
    _check_complex(operation)
    place = operation.network.add_constant(
        np.array(index, np.int32), name=operation.layer_name("part")
    )
    return operation.network.add_gather(
        operation.input(), place, axis=-1, name=operation.layer_name(label)
    )


def _check_complex(operation: Operation) -> None:
    if not operation.is_complex():
        raise operation.error("its input is not of complex numbers")
