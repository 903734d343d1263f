# SPDX-License-Identifier: MIT
"""Products of matrices: MatMul, Gemm, Einsum, MatMulInteger, MatMulNBits; and Det."""

from __future__ import annotations

import numpy as np

from armnn.graph import Value
from armnn.layers.matmul import EinsumDescriptor
from armnn.parsing.conversion import RefusedError, add_layer, reshape
from armnn.types import BinaryOperation, DataType
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.graph import FewBits
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import binary
from armnn_parser_onnx.schemas import MICROSOFT
from armnn_parser_onnx.shapes import reshape_to_groups


@operator("MatMul")
def matmul(operation: Operation) -> Value:
    """Add FullyConnected for constant weights, else BatchMatMul.

    FullyConnected multiplies rows. As in NumPy, a vector is a row on the left and a column on the
    right, and the axis added for it is removed again.
    """
    first, second = operation.input(), operation.input(1)
    ranks = len(operation.shape(0)), len(operation.shape(1))
    if 0 in ranks:
        raise operation.error("an input is a scalar: expected rank 1 or more")
    weights = operation.graph.few_bits.get(second)
    if weights is not None and not weights.is_turned:
        return _product_with_few_bits(operation, first, weights)
    if ranks == (2, 2) and second.constant is not None and first.info.data_type.is_float:
        return add_layer(operation, "FullyConnected", [first, second])
    if 1 not in ranks:
        return add_layer(operation, "BatchMatMul", [first, second])
    if ranks[0] == 1:
        first = reshape_to_groups(operation, first, [[], [0]], "row")
    if ranks[1] == 1:
        second = reshape_to_groups(operation, second, [[0], []], "column")
    product = add_layer(operation, "BatchMatMul", [first, second], "product")
    kept = list(range(len(operation.shape_of(product))))
    if ranks[1] == 1:
        kept.pop()
    if ranks[0] == 1:
        kept.pop(-1 if ranks[1] == 1 else -2)
    return reshape_to_groups(operation, product, [[axis] for axis in kept])


@operator("Gemm")
def gemm(operation: Operation) -> Value:
    """Add alpha * A * B + beta * C.

    It is FullyConnected where that suffices, else its parts.
    """
    first, second, added = operation.input(), operation.input(1), operation.optional_input(2)
    transpose_a, transpose_b = operation.flag("transA"), operation.flag("transB")
    alpha, beta = operation.real("alpha"), operation.real("beta")
    for index in (0, 1):
        if len(operation.shape(index)) != 2:
            raise operation.error(
                f"an input has rank {len(operation.shape(index))}: expected matrices, rank 2"
            )
    added = None if beta == 0 else added
    plain = alpha == 1 and beta in (0, 1) and not transpose_a
    if plain and second.constant is not None and first.info.data_type.is_float:
        outputs = second.constant.shape[0 if transpose_b else 1]
        bias = added is not None and added.info.shape == (outputs,)
        product = add_layer(
            operation,
            "FullyConnected",
            [first, second, added if bias else None],
            "" if bias or added is None else "product",
            transpose_weight_matrix=transpose_b,
        )
        if bias or added is None:
            return product
        return binary(operation, BinaryOperation.ADD, product, added)
    product = add_layer(
        operation,
        "BatchMatMul",
        [first, second],
        "" if alpha == 1 and added is None else "product",
        transpose_x=transpose_a,
        transpose_y=transpose_b,
    )
    product = _scaled(operation, product, alpha, "" if added is None else "alpha")
    if added is None:
        return product
    return binary(operation, BinaryOperation.ADD, product, _scaled(operation, added, beta, "beta"))


def _scaled(operation: Operation, value: Value, factor: float, part: str) -> Value:
    if factor == 1:
        return value
    number = operation.number(factor, value, "factor")
    return binary(operation, BinaryOperation.MUL, value, number, part)


@operator("Einsum")
def einsum(operation: Operation) -> Value:
    """Add Einsum."""
    layer = operation.network.add(
        "Einsum",
        operation.values(),
        EinsumDescriptor(equation=operation.any_text("equation")),
        name=operation.layer_name(),
    )
    return layer.output


@operator("MatMulInteger")
def matmul_integer(operation: Operation) -> Value:
    """Add MatMulInteger."""
    zero_points = [operation.optional_input(2), operation.optional_input(3)]
    inputs = [operation.input(), operation.input(1), *zero_points]
    return add_layer(operation, "MatMulInteger", inputs)


@operator("Det")
def determinant(operation: Operation) -> Value:
    """Add Determinant."""
    return operation.network.add_determinant(operation.input(), name=operation.layer_name())


def _product_with_few_bits(operation: Operation, value: Value, weights: FewBits) -> Value:
    """Add MatMulNBits of weights that DequantizeLinear makes real."""
    held = [
        None
        if data is None
        else operation.network.add_constant(data, name=operation.layer_name(part))
        for data, part in (
            (weights.packed, "weights"),
            (weights.scales, "scales"),
            (weights.zero_points, "zero_points"),
        )
    ]
    return add_layer(
        operation,
        "MatMulNBits",
        [value, *held],
        bits=weights.bits,
        block_size=weights.block_size,
    )


@operator("MatMulNBits", domain=MICROSOFT)
def mat_mul_n_bits(operation: Operation) -> Value:
    """Add MatMulNBits; weights of few bits stay so."""
    bits, block_size = operation.integer("bits"), operation.integer("block_size", 0)
    columns, size = operation.integer("N", 0), operation.integer("K", 0)
    if bits not in (2, 4, 8):
        raise RefusedError(f"its weights have {bits} bits: expected 2, 4 or 8")
    if operation.has_input(4) and not _is_in_order(operation, size, max(block_size, 1)):
        raise RefusedError("it orders the rows of its weights (g_idx)")
    if operation.flag("weight_prepacked"):
        raise RefusedError("its weights are packed for one processor (weight_prepacked)")
    if min(columns, size) < 1 or block_size < 16 or block_size & (block_size - 1):
        raise operation.error(
            f"the attributes N, K and block_size are {columns}, {size} and {block_size}: expected "
            "positive numbers, and a power of two of 16 or more"
        )
    if operation.shape()[-1:] != (size,) and isinstance(operation.shape()[-1], int):
        raise operation.error(f"its rows have {operation.shape()[-1]} numbers: expected {size}")
    return operation.network.add_mat_mul_n_bits(
        operation.input(),
        _rows(operation, 1, columns, -(-size // block_size) * block_size * bits // 8),
        _rows(operation, 2, columns, -(-size // block_size)),
        _zero_points(operation, columns, -(-size // block_size), bits),
        operation.optional_input(5),
        bits=bits,
        block_size=block_size,
        accuracy_level=operation.integer("accuracy_level"),
        name=operation.layer_name(),
    )


def _is_in_order(operation: Operation, size: int, block_size: int) -> bool:
    """Return whether the group of each row is the block that it is in, as without g_idx."""
    groups = operation.constant(4)
    if groups is None or groups.size not in (size, -(-size // block_size) * block_size):
        return False
    return bool((groups.reshape(-1) == np.arange(groups.size) // block_size).all())


def _zero_points(operation: Operation, columns: int, blocks: int, bits: int) -> Value | None:
    if not operation.has_input(3):
        return None
    packed = operation.data_type(3) is DataType.UNSIGNED8
    return _rows(operation, 3, columns, -(-blocks * bits // 8) if packed else blocks)


def _rows(operation: Operation, index: int, rows: int, length: int) -> Value:
    """Return an input as a matrix; a constant keeps its memory."""
    data = operation.constant(index)
    if data is None:
        return reshape(operation, operation.input(index), (rows, length), f"rows_{index}")
    if data.size != rows * length:
        raise operation.error(
            f"the input {operation.input_name(index)} has shape {list(data.shape)}: expected "
            f"{rows * length} elements in {rows} rows"
        )
    if data.shape == (rows, length):
        return operation.input(index)
    return operation.network.add_constant(
        data.reshape(rows, length), name=operation.layer_name(f"rows_{index}")
    )
