# SPDX-License-Identifier: MIT
"""Products of matrices: FULLY_CONNECTED and BATCH_MATMUL."""

from __future__ import annotations

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, reshape
from armnn_parser_tflite._bindings import FullyConnectedOptionsWeightsFormat
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.operators.activation import fused
from armnn_parser_tflite.shapes import with_last_axis
from armnn_parser_tflite.weights import bias, real_like, static_weights


@operator("FULLY_CONNECTED", newest=14)
def fully_connected(operation: Operation) -> Value:
    """Add FullyConnected on the input as a matrix.

    Its rows have as many numbers as the weights read.
    """
    options = operation.options("FullyConnectedOptions")
    layout = options.integer("WeightsFormat")
    if layout != FullyConnectedOptionsWeightsFormat.DEFAULT:
        raise RefusedError(f"its weights are in the format {layout}, made for one processor")
    value = operation.input()
    weights, (outputs, read) = static_weights(operation, 2, value)
    shape = operation.shape()
    rows = value
    if len(shape) != 2 or shape[1] != read:
        rows = reshape(operation, value, (-1, read), "rows")

    result = fused(
        operation,
        options,
        lambda label: operation.network.add_fully_connected(
            rows,
            weights,
            bias(operation, 2, value),
            transpose_weight_matrix=True,
            name=label,
            output=operation.info(),
        ),
    )
    if not options.flag("KeepNumDims") or len(shape) == 2:
        return result
    return with_last_axis(operation, result, value, outputs, "as_input")


@operator("BATCH_MATMUL", newest=4)
def batch_mat_mul(operation: Operation) -> Value:
    """Add BatchMatMul."""
    options = operation.options("BatchMatMulOptions")
    first = operation.input(0)
    second = real_like(operation, operation.input(1), first, "real_operand")
    return operation.network.add_batch_mat_mul(
        first,
        second,
        transpose_x=options.flag("AdjX"),
        transpose_y=options.flag("AdjY"),
        name=operation.layer_name(),
        output=operation.info(),
    )
