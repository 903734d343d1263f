# SPDX-License-Identifier: MIT
"""Products of matrices and of tensors: FullyConnected, BatchMatMul, Einsum, MatMulNBits, ..."""

from __future__ import annotations

import numpy as np

from armnn.layers import Descriptor
from armnn.layers.matmul import (
    BatchMatMulDescriptor,
    DeterminantDescriptor,
    EinsumDescriptor,
    FullyConnectedDescriptor,
    MatMulNBitsDescriptor,
)
from armnn.types import DataLayout
from armnn_backend_ref.ops._registry import Array, op
from armnn_backend_ref.ops.quantizing import dequantized_blocks


@op("FullyConnected")
def fully_connected(
    d: FullyConnectedDescriptor, x: Array, weights: Array, bias: Array | None
) -> Array:
    """Flatten all axes but the batch; multiply by the weights.

    Weights are [in,out] or, transposed, [out,in].
    """
    matrix = weights.T if d.transpose_weight_matrix else weights
    y: Array = x.reshape(len(x), len(matrix)) @ matrix
    if bias is not None:
        y += bias
    return y


@op("BatchMatMul")
def batch_mat_mul(d: BatchMatMulDescriptor, x: Array, y: Array) -> Array:
    """Multiply the matrices in the last two axes.

    In NHWC they are the two axes before the channels. The product has the layout of the operand of
    the higher rank.
    """
    left = _matrices(x, d.data_layout_x, d.transpose_x, d.adjoint_x)
    right = _matrices(y, d.data_layout_y, d.transpose_y, d.adjoint_y)
    product: Array = np.matmul(left, right)
    layout = d.data_layout_x if x.ndim >= y.ndim else d.data_layout_y
    return np.moveaxis(product, -3, -1) if _channels_last(layout) else product


@op("Einsum")
def einsum(d: EinsumDescriptor, *inputs: Array) -> Array:
    """Evaluate the equation, two tensors at a time.

    The order of the pairs is a cheap one.
    """
    product: Array = np.einsum(d.equation, *inputs, optimize="greedy")
    return product


@op("MatMulInteger")
def mat_mul_integer(
    _d: Descriptor, x: Array, y: Array, x_zero: Array | None, y_zero: Array | None
) -> Array:
    """Take the zero points off and multiply."""
    left, right = x.astype(np.float64), y.astype(np.float64)
    if x_zero is not None:
        left -= x_zero.reshape(-1, 1) if x_zero.ndim == 1 else x_zero
    if y_zero is not None:
        right -= y_zero
    # Doubles hold the sums of 2^37 such products exactly, and their products are fast.
    product: Array = np.matmul(left, right)
    return product.astype(np.int64).astype(np.int32)


@op("Determinant")
def determinant(_d: DeterminantDescriptor, x: Array) -> Array:
    """Return the determinants of the last two axes' matrices."""
    return np.asarray(np.linalg.det(x))


def _matrices(x: Array, layout: DataLayout, transpose: bool, adjoint: bool) -> Array:
    """View a tensor as matrices in its last two axes."""
    matrices = np.moveaxis(x, -1, -3) if _channels_last(layout) else x
    if transpose:
        return matrices.swapaxes(-2, -1)
    return _adjugate(matrices) if adjoint else matrices


def _channels_last(layout: DataLayout) -> bool:
    return layout in (DataLayout.NHWC, DataLayout.NDHWC)


def _adjugate(matrices: Array) -> Array:
    """Return the transposed cofactor matrices, Arm NN's adjoint."""
    size = matrices.shape[-1]
    if size == 0:
        return matrices
    others = np.array([[i for i in range(size) if i != skipped] for skipped in range(size)], int)
    minors = matrices[..., others[:, None, :, None], others[None, :, None, :]]
    signs = (-1.0) ** np.add.outer(np.arange(size), np.arange(size))
    cofactors: Array = np.linalg.det(minors) * signs.astype(matrices.dtype)
    return cofactors.swapaxes(-2, -1)


@op("MatMulNBits")
def mat_mul_n_bits(
    d: MatMulNBitsDescriptor,
    x: Array,
    weights: Array,
    scales: Array,
    zero_points: Array | None,
    bias: Array | None,
) -> Array:
    """Return the product with the transpose of the dequantized weights, plus bias."""
    size = x.shape[-1]
    right = dequantized_blocks(weights, scales, zero_points, d.bits, d.block_size, size)
    y: Array = x @ right.astype(x.dtype).T
    return y if bias is None else y + bias
