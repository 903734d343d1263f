# SPDX-License-Identifier: MIT
"""Conformance cases of matrix products: rows by columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers.matmul import (
    BatchMatMulDescriptor,
    DeterminantDescriptor,
    EinsumDescriptor,
    FullyConnectedDescriptor,
    MatMulIntegerDescriptor,
    MatMulNBitsDescriptor,
)
from armnn.types import DataLayout, DataType
from armnn_conformance.cases import LayerCase, Tolerance, case, cases
from armnn_conformance.cases.convolution import SUMS
from armnn_conformance.operands import (
    FLOATS,
    NUMBERS,
    QUANTIZED,
    REAL,
    bias_tensor,
    blocks,
    tensor,
    values,
)


def _product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Multiply the last two axes, the others broadcast."""
    product: NDArray[Any] = (left[..., :, :, None] * right[..., None, :, :]).sum(-2)
    return product


@cases(FullyConnectedDescriptor, types=REAL)
def fully_connected(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both weight orders, rank five, no bias, per-axis scales."""
    for transpose in (False, True):
        for name, shape, inner, outer, axis in (
            ("rectangular", (2, 5), 5, 3, None),
            ("square", (3, 4), 4, 4, None),
            ("flattened", (2, 1, 2, 1, 3), 6, 2, None),
            ("scales per output", (1, 3), 3, 2, 0 if transpose else 1),
        ):
            x = values(data_type, shape, seed=1)
            sizes = (outer, inner) if transpose else (inner, outer)
            kind = data_type if axis is None or data_type in FLOATS else DataType.QSYMM_S8
            per_axis = axis if data_type not in FLOATS else None
            w = values(kind, sizes, -1, 1, seed=2, axis=per_axis, constant=True)
            b = bias_tensor(np.linspace(-1, 1, outer), x, w)
            matrix = w.real.T if transpose else w.real
            expected = _product(x.real.reshape(shape[0], -1), matrix) + b.real
            d = FullyConnectedDescriptor(transpose_weight_matrix=transpose)
            yield case(
                data_type,
                f"{name}, transposed {transpose}",
                d,
                [x, w, b],
                expected,
                tolerance=SUMS.get(data_type),
                edge=name != "rectangular",
            )
    x, w = values(data_type, (2, 3), seed=1), values(data_type, (3, 1), -1, 1, seed=2)
    expected = _product(x.real, w.real)
    d = FullyConnectedDescriptor()
    tolerance = SUMS.get(data_type)
    yield case(data_type, "without bias", d, [x, w], expected, tolerance=tolerance)


@cases(FullyConnectedDescriptor, types=QUANTIZED)
def fully_connected_with_a_quantized_bias(data_type: DataType) -> Iterator[LayerCase]:
    """Give the bias a scale of its own."""
    x, w = values(data_type, (2, 3), seed=1), values(data_type, (3, 2), -1, 1, seed=2)
    b = values(DataType.QASYMM_S8, (2,), -1, 1, seed=3, constant=True)
    expected = _product(x.real, w.real) + b.real
    d = FullyConnectedDescriptor()
    yield case(data_type, "a bias with a scale", d, [x, w, b], expected, edge=True)


@cases(BatchMatMulDescriptor, types=NUMBERS)
def batch_mat_mul(data_type: DataType) -> Iterator[LayerCase]:
    """Cover broadcast batches, either side transposed, channels last."""
    rows: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
        "matrices": ((2, 3), (3, 4), {}),
        "broadcast batch": ((2, 1, 2, 3), (3, 3, 2), {}),
        "left transposed": ((2, 3, 3), (2, 3, 3), {"transpose_x": True}),
        "right transposed": ((2, 3), (4, 3), {"transpose_y": True}),
        "one element": ((1, 1, 1), (1, 1, 1), {}),
    }
    for name, (left, right, parameters) in rows.items():
        x, y = values(data_type, left, -2, 2, seed=1), values(data_type, right, -2, 2, seed=2)
        a = x.real.swapaxes(-2, -1) if "transpose_x" in parameters else x.real
        b = y.real.swapaxes(-2, -1) if "transpose_y" in parameters else y.real
        expected = _product(a, b).astype(x.real.dtype)
        d = BatchMatMulDescriptor(**parameters)
        edge = name != "matrices"
        tolerance = SUMS.get(data_type)
        yield case(data_type, name, d, [x, y], expected, tolerance=tolerance, edge=edge)


@cases(BatchMatMulDescriptor, types=REAL)
def batch_mat_mul_of_pictures(data_type: DataType) -> Iterator[LayerCase]:
    """NHWC, and the adjoint of Arm NN."""
    nhwc = DataLayout.NHWC
    x, y = values(data_type, (1, 2, 3, 4), seed=1), values(data_type, (1, 3, 2, 4), seed=2)
    product = _product(np.moveaxis(x.real, -1, 1), np.moveaxis(y.real, -1, 1))
    d = BatchMatMulDescriptor(data_layout_x=nhwc, data_layout_y=nhwc)
    expected = np.moveaxis(product, 1, -1)
    tolerance = SUMS.get(data_type)
    yield case(data_type, "NHWC", d, [x, y], expected, tolerance=tolerance, edge=True)
    ndhwc = DataLayout.NDHWC
    x, y = (values(data_type, shape, seed=4) for shape in ((1, 2, 2, 3, 2), (1, 2, 3, 2, 2)))
    product = _product(np.moveaxis(x.real, -1, 1), np.moveaxis(y.real, -1, 1))
    d = BatchMatMulDescriptor(data_layout_x=ndhwc, data_layout_y=ndhwc)
    expected = np.moveaxis(product, 1, -1)
    yield case(data_type, "NDHWC", d, [x, y], expected, tolerance=tolerance, edge=True)
    d = BatchMatMulDescriptor(data_layout_x=DataLayout.NCDHW, data_layout_y=DataLayout.NCDHW)
    x, y = (values(data_type, shape, seed=5) for shape in ((1, 2, 2, 2, 3), (1, 2, 2, 3, 2)))
    expected = _product(x.real, y.real)
    yield case(data_type, "NCDHW", d, [x, y], expected, tolerance=tolerance, edge=True)
    # The adjoint of [[a, b], [c, d]] is [[d, -b], [-c, a]].
    x, y = tensor(data_type, [[1.0, 2.0], [3.0, 5.0]]), values(data_type, (2, 3), seed=3)
    (a, b), (c, e) = x.real
    adjoint = np.array([[e, -b], [-c, a]])
    d = BatchMatMulDescriptor(adjoint_x=True)
    expected = _product(adjoint, y.real)
    yield case(data_type, "adjoint", d, [x, y], expected, tolerance=tolerance, edge=True)
    d = BatchMatMulDescriptor(transpose_x=True, adjoint_y=True)
    expected = _product(y.real.T, adjoint)
    name = "adjoint on the right"
    yield case(data_type, name, d, [y, x], expected, tolerance=tolerance, edge=True)


@cases(EinsumDescriptor, types=REAL)
def einsum(data_type: DataType) -> Iterator[LayerCase]:
    """Cover a matrix product, shared axes, outer product, one operand."""
    x, y = values(data_type, (2, 3), seed=1), values(data_type, (4, 3), seed=2)
    z = values(data_type, (3,), seed=3)
    rows = {
        "ij,kj->ik": ([x, y], _product(x.real, y.real.T)),
        "ij,j->i": ([x, z], (x.real * z.real).sum(1)),
        "i,j->ij": ([z, tensor(data_type, [1.0, -2.0])], None),
        "ij->ji": ([x], x.real.T),
    }
    for equation, (inputs, expected) in rows.items():
        if expected is None:
            expected = inputs[0].real[:, None] * inputs[1].real[None, :]
        d = EinsumDescriptor(equation=equation)
        edge = len(inputs) == 1
        tolerance = SUMS.get(data_type)
        yield case(data_type, equation, d, inputs, expected, tolerance=tolerance, edge=edge)


@cases(MatMulIntegerDescriptor, types=(DataType.SIGNED8, DataType.UNSIGNED8))
def mat_mul_integer(data_type: DataType) -> Iterator[LayerCase]:
    """Zero points of both operands, for all and per row."""
    low = 0 if data_type is DataType.UNSIGNED8 else -100
    x = values(data_type, (2, 3), low, 100, seed=1)
    y = values(data_type, (3, 4), low, 100, seed=2)
    left, right = x.real.astype(np.int64), y.real.astype(np.int64)
    x_zero, y_zero = tensor(data_type, np.int64(3)), tensor(data_type, np.int64(5))
    rows_zero = tensor(data_type, [3, 7])
    columns = np.array([[3], [7]])
    rows = {
        "bare": ([x, y], _product(left, right)),
        "zero points": ([x, y, x_zero, y_zero], _product(left - 3, right - 5)),
        "a zero point per row": ([x, y, rows_zero, y_zero], _product(left - columns, right - 5)),
    }
    for name, (inputs, expected) in rows.items():
        d = MatMulIntegerDescriptor()
        yield case(data_type, name, d, inputs, expected, outputs=[DataType.SIGNED32], edge=True)


_FEW_BITS = {
    DataType.FLOAT32: Tolerance("activations in two terms of 8 bits", rtol=1e-4, atol=5e-4),
    DataType.FLOAT16: Tolerance("sums of float16 products", rtol=1e-2, atol=5e-2),
    DataType.BFLOAT16: Tolerance("sums of bfloat16 products", rtol=4e-2, atol=4e-1),
}
_ONE_TERM = Tolerance("activations of 8 bits", rtol=4e-2, atol=2e-1)


@cases(MatMulNBitsDescriptor, types=FLOATS)
def mat_mul_n_bits(data_type: DataType) -> Iterator[LayerCase]:
    """Cover bits, sizes of blocks, kinds of zero points, a bias, and short last blocks."""
    for name, rows, shape, bits, block_size, points, level, edge in (
        ("4 bits, one row", (1,), (5, 64), 4, 32, "", 0, False),
        ("4 bits, packed zero points", (2, 3), (20, 96), 4, 32, "packed", 0, False),
        ("4 bits, real zero points", (2,), (9, 64), 4, 16, "real", 0, False),
        ("8 bits, packed zero points", (2, 1, 1, 2), (7, 48), 8, 16, "packed", 0, False),
        ("2 bits, packed zero points", (2,), (7, 160), 2, 32, "packed", 0, False),
        ("a block larger than a row", (3,), (4, 40), 4, 128, "packed", 0, True),
        ("a short last block", (1,), (17, 72), 4, 32, "real", 0, True),
        ("rounded activations", (2,), (20, 64), 4, 32, "packed", 4, False),
        ("rounded activations, real zero points", (1,), (6, 64), 4, 32, "real", 4, False),
    ):
        x = values(data_type, (*rows, shape[1]), seed=1)
        right = blocks(
            data_type,
            shape,
            bits=bits,
            block_size=block_size,
            points=points,
            is_whole=edge,
            constant=True,
        )
        d = MatMulNBitsDescriptor(bits=bits, block_size=block_size, accuracy_level=level)
        operands = [x, *right.operands]
        expected = (x.real[..., np.newaxis, :] * right.real).sum(-1)
        if bits == 4:
            bias = values(data_type, shape[:1], seed=4, constant=True)
            operands.append(bias)
            expected = expected + bias.real
        tolerance = _ONE_TERM if level == 4 else _FEW_BITS.get(data_type)
        yield case(data_type, name, d, operands, expected, tolerance=tolerance, edge=edge)


@cases(DeterminantDescriptor, types=REAL)
def determinant(data_type: DataType) -> Iterator[LayerCase]:
    """Cover one matrix, several, and one or no elements."""
    for name, shape, edge in (
        ("one matrix", (3, 3), False),
        ("several", (2, 1, 1, 2, 2), False),
        ("one element", (2, 1, 1), True),
        ("no element", (2, 0, 0), True),
    ):
        x = values(data_type, shape, seed=1)
        expected = _determinants(x.real)
        d = DeterminantDescriptor()
        yield case(data_type, name, d, [x], expected, tolerance=SUMS.get(data_type), edge=edge)


def _determinants(x: NDArray[Any]) -> NDArray[Any]:
    """Expand along the first row (Laplace)."""
    size = x.shape[-1]
    total = np.full(x.shape[:-2], float(size == 0))
    for column in range(size):
        minor = np.delete(x[..., 1:, :], column, -1)
        total += (-1) ** column * x[..., 0, column] * _determinants(minor)
    return total
