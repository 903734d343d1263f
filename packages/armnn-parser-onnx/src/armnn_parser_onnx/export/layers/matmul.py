# SPDX-License-Identifier: MIT
"""Products: FullyConnected, BatchMatMul, Einsum."""

from __future__ import annotations

from armnn.types import DataLayout
from armnn_parser_onnx.export.operation import Operation, exports


@exports("FullyConnected")
def fully_connected(op: Operation) -> str:
    """Gemm on the input flattened to a matrix."""
    weights = op.shape("weights")
    depth = weights[1] if op.d.transpose_weight_matrix else weights[0]
    x = op.reshape(op.x, (op.shape("input")[0], depth))
    bias = op.input("bias")
    y = op.emit("Gemm", x, op.input("weights"), bias, transB=int(op.d.transpose_weight_matrix))
    return op.reshape(y, op.output_shape)


@exports("BatchMatMul")
def batch_mat_mul(op: Operation) -> str:
    """Write MatMul; refuse channels-last layouts and adjoints."""
    d = op.d
    layouts = (d.data_layout_x, d.data_layout_y)
    if d.adjoint_x or d.adjoint_y or any(layout is not DataLayout.NCHW for layout in layouts):
        op.refuse("it has adjoints or channels last, expected matrices in the last two axes")
    operands = [
        _transposed(op, name) if transpose else op.input(name)
        for name, transpose in (("input", d.transpose_x), ("other", d.transpose_y))
    ]
    return op.emit("MatMul", *operands)


@exports("Einsum")
def einsum(op: Operation) -> str:
    """Einsum."""
    return op.emit("Einsum", *op.inputs, equation=op.d.equation)


def _transposed(op: Operation, name: str) -> str:
    rank = len(op.shape(name))
    perm = [*range(rank - 2), rank - 1, rank - 2]
    return op.emit("Transpose", op.input(name), perm=perm)
