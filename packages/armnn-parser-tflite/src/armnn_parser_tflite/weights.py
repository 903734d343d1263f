# SPDX-License-Identifier: MIT
"""Weights and biases in the types that layers take."""

from __future__ import annotations

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, static_shape
from armnn.types import DataType
from armnn_parser_tflite.operation import Operation


def real_like(operation: Operation, value: Value, like: Value, part: str) -> Value:
    """Return a value in another's floating point type.

    If both are quantized, it stays. Hybrid models have 8-bit weights under floating point
    activations, and 16-bit ones under 32.
    """
    real = like.info.data_type
    if not real.is_float or value.info.data_type is real:
        return value
    name = operation.layer_name(part)
    if value.info.is_quantized:
        return operation.network.add_dequantize(value, name=name, output=real)
    if value.info.data_type.is_float:
        return operation.network.add_cast(value, name=name, output=real)
    return value


def static_weights(operation: Operation, rank: int, data: Value) -> tuple[Value, tuple[int, ...]]:
    """Return the second input as the layer's weights, with shape.

    Args:
        operation: The operator.
        rank: The rank that they must have.
        data: The activations.

    Raises:
        ParseError: They are of another rank, or empty.
        NotKnownYetError: A dimension is not known.
    """
    value = operation.input(1)
    shape = static_shape(value, "its weights")
    if len(shape) != rank or 0 in shape:
        raise operation.error(
            f"the weights have shape {list(shape)}: expected rank {rank}, and no empty axis"
        )
    return real_like(operation, value, data, "real_weights"), shape


def bias(operation: Operation, index: int, data: Value) -> Value | None:
    """Return the bias, None if absent.

    64-bit steps, which 16-bit activations have, become 32-bit ones.

    Args:
        operation: The operator.
        index: Which input it is.
        data: The activations.

    Raises:
        RefusedError: A 64-bit bias is computed, or does not fit.
    """
    value = operation.optional_input(index)
    if value is None:
        return None
    if value.info.data_type is not DataType.SIGNED64:
        return real_like(operation, value, data, "real_bias")
    steps = operation.known(index)
    limits = np.iinfo(np.int32)
    if steps.size and not limits.min <= steps.min() <= steps.max() <= limits.max:
        raise RefusedError("its 64-bit bias does not fit into 32 bits")
    return operation.network.add_constant(steps.astype(np.int32), name=operation.layer_name("bias"))
