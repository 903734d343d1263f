# SPDX-License-Identifier: MIT
"""Products of matrices and of tensors: FullyConnected, BatchMatMul, Einsum, MatMulNBits, ..."""

from __future__ import annotations

import math
from collections.abc import Sequence

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import (
    broadcast,
    known_better,
    product,
    require_blocks,
    require_rank,
    require_shape,
    same_dimension,
    same_shape,
)
from armnn.layers._spec import Inputs, Numerics, Shapes, layer, result, slot
from armnn.tensor import Dimension, Shape, TensorInfo, format_shape
from armnn.types import DataLayout, DataType


def _fully_connected(descriptor: FullyConnectedDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if len(shape) < 2:
        raise ShapeError(
            f"the input has shape {format_shape(shape)}: expected rank 2 or more, the batch first"
        )
    weights = require_rank(inputs, "weights", 2)
    outputs, read = weights if descriptor.transpose_weight_matrix else (weights[1], weights[0])
    given = product(shape[1:])
    if not same_dimension(given, read):
        raise ShapeError(
            f"the weights of shape {format_shape(weights)} read {read} numbers, but the input of "
            f"shape {format_shape(shape)} has {given} for each index of its first axis"
        )
    require_shape(inputs, "bias", (outputs,))
    return [(shape[0], outputs)]


def _fully_connected_products(
    _descriptor: Descriptor, inputs: Inputs, outputs: Sequence[TensorInfo]
) -> int:
    """Count multiply-adds: each output row takes the matrix once."""
    return math.prod(outputs[0].static_shape[:-1]) * math.prod(inputs.sizes("weights"))


@layer(
    21,
    inputs=[
        slot("input", "[N, ...]; all axes but the first are flattened."),
        slot("weights", "[in, out], or [out, in] if ``transpose_weight_matrix``."),
        slot("bias", "[out], added to the product.", optional=True),
    ],
    outputs=[result("output", "Shape [N, out].")],
    infer=_fully_connected,
    numerics=Numerics(linear=True),
    multiply_adds=_fully_connected_products,
)
class FullyConnectedDescriptor(Descriptor):
    """The input, as a matrix, times weights, plus bias.

    Attributes:
        transpose_weight_matrix: Whether the weights are [out, in].
    """

    transpose_weight_matrix: bool = False


def _batch_mat_mul(descriptor: BatchMatMulDescriptor, inputs: Inputs) -> Shapes:
    x, y = inputs.shape("input"), inputs.shape("other")
    rows_x, columns_x = descriptor.axes("x", len(x))
    rows_y, columns_y = descriptor.axes("y", len(y))
    if not same_dimension(x[columns_x], y[rows_y]):
        raise ShapeError(
            f"the inputs of shape {format_shape(x)} and {format_shape(y)} cannot be multiplied: "
            f"{x[columns_x]} columns meet {y[rows_y]} rows"
        )
    for shape, rows, columns, adjoint in (
        (x, rows_x, columns_x, descriptor.adjoint_x),
        (y, rows_y, columns_y, descriptor.adjoint_y),
    ):
        if adjoint and not same_dimension(shape[rows], shape[columns]):
            raise ShapeError(
                f"the adjoint of matrices of {shape[rows]} rows and {shape[columns]} columns is "
                "not defined: expected square ones"
            )
    batch_x = tuple(dim for axis, dim in enumerate(x) if axis not in (rows_x, columns_x))
    batch_y = tuple(dim for axis, dim in enumerate(y) if axis not in (rows_y, columns_y))
    batch = broadcast(batch_x, batch_y)
    # The output has the layout of the input of the higher rank, transposition aside (Arm NN).
    layout = descriptor.data_layout_x if len(x) >= len(y) else descriptor.data_layout_y
    first = min(_matrix_axes(layout, len(batch) + 2))
    return [(*batch[:first], x[rows_x], y[columns_y], *batch[first:])]


def _batch_mat_mul_products(
    _descriptor: Descriptor, inputs: Inputs, outputs: Sequence[TensorInfo]
) -> int:
    """Count multiply-adds: the output's elements times K.

    The last two axes of the first operand are M and K, in either order; M is the output's.
    """
    rows = outputs[0].static_shape[-2]
    summed = math.prod(inputs.sizes("input")[-2:]) // rows if rows else 0
    return outputs[0].num_elements * summed


@layer(
    71,
    inputs=[
        slot("input", "The matrices on the left, rank 2 or more."),
        slot("other", "The matrices on the right, rank 2 or more."),
    ],
    infer=_batch_mat_mul,
    numerics=Numerics(linear=True, overflows="adjoint matrices are products and sums in float32"),
    multiply_adds=_batch_mat_mul_products,
)
class BatchMatMulDescriptor(Descriptor):
    """Matrix products; other axes broadcast.

    The matrices are the last two axes, or the last two but one for NHWC and NDHWC.

    Attributes:
        transpose_x: Whether the matrices on the left are transposed.
        transpose_y: Whether the matrices on the right are transposed.
        adjoint_x: Whether the adjoints of the (square) matrices on the left are taken.
        adjoint_y: Whether the adjoints of the (square) matrices on the right are taken.
        data_layout_x: Where the matrices on the left are.
        data_layout_y: Where the matrices on the right are.
    """

    transpose_x: bool = False
    transpose_y: bool = False
    adjoint_x: bool = False
    adjoint_y: bool = False
    data_layout_x: DataLayout = DataLayout.NCHW
    data_layout_y: DataLayout = DataLayout.NCHW

    def check(self) -> None:
        """Raise InvalidArgumentError if one input is transposed and adjoined."""
        if (self.transpose_x and self.adjoint_x) or (self.transpose_y and self.adjoint_y):
            raise InvalidArgumentError(
                f"{type(self).__name__}: transpose and adjoint are both set for one input, "
                "expected at most one of them"
            )

    def axes(self, operand: str, rank: int) -> tuple[int, int]:
        """Return an operand's axes of rows and columns.

        They are those with which it enters the product.

        Args:
            operand: "x" for the left input, "y" for the right one.
            rank: The rank of the input.

        Raises:
            ShapeError: The rank is too low.
        """
        left = operand == "x"
        rows, columns = _matrix_axes(self.data_layout_x if left else self.data_layout_y, rank)
        turned = self.transpose_x if left else self.transpose_y
        return (columns, rows) if turned else (rows, columns)


def _einsum(descriptor: EinsumDescriptor, inputs: Inputs) -> Shapes:
    terms, output = descriptor.terms()
    if len(inputs.variadic()) != len(terms):
        raise ShapeError(
            f"the equation {descriptor.equation!r} names {len(terms)} inputs: got "
            f"{len(inputs.variadic())}"
        )
    batch: Shape = ()
    sizes: dict[str, Dimension] = {}
    for term, info in zip(terms, inputs.variadic(), strict=True):
        extra, named = _term_sizes(term, info.shape or (), descriptor.equation)
        batch = broadcast(batch, extra)
        for label, dim in named.items():
            (sizes[label],) = broadcast((sizes.get(label, 1),), (dim,))
    before, _, after = output.partition(ELLIPSIS)
    inner = batch if ELLIPSIS in output else ()
    return [(*(sizes[a] for a in before), *inner, *(sizes[a] for a in after))]


def _term_sizes(term: str, shape: Shape, equation: str) -> tuple[Shape, dict[str, Dimension]]:
    """Return the dimensions of the ellipsis and of the labels."""
    before, ellipsis, after = term.partition(ELLIPSIS)
    count = len(shape) - len(before) - len(after)
    if count < 0 or (count > 0 and not ellipsis):
        raise ShapeError(
            f"the term {term.replace(ELLIPSIS, '...')!r} of the equation {equation!r} does not fit "
            f"the input of shape {format_shape(shape)}"
        )
    behind = len(before) + count
    sizes: dict[str, Dimension] = {}
    for label, dim in zip(before + after, shape[: len(before)] + shape[behind:], strict=True):
        if not same_dimension(sizes.get(label, dim), dim):
            raise ShapeError(
                f"the label {label!r} of the equation {equation!r} means {sizes[label]} and "
                f"{dim} in the input of shape {format_shape(shape)}"
            )
        sizes[label] = known_better(sizes.get(label, dim), dim)
    return shape[len(before) : behind], sizes


ELLIPSIS = "."
"""The label of "..." in the terms of an Einsum equation."""


def _einsum_products(
    descriptor: EinsumDescriptor, inputs: Inputs, outputs: Sequence[TensorInfo]
) -> int:
    """Count multiply-adds: each element sums over the other labels.

    A term after the second one takes one more product per number that is summed.
    """
    terms, output = descriptor.terms()
    summed: dict[str, int] = {}
    for term, info in zip(terms, inputs.variadic(), strict=True):
        before, _, after = term.partition(ELLIPSIS)
        shape = info.static_shape
        ends = shape[: len(before)] + shape[len(shape) - len(after) :]
        for label, size in zip(before + after, ends, strict=True):
            if label not in output:
                summed[label] = max(size, summed.get(label, 0))
    products = outputs[0].num_elements * math.prod(summed.values())
    return products * (len(terms) - 1)


@layer(
    1007,
    inputs=[slot("inputs", "One tensor for each term of the equation.", variadic=True)],
    outputs=[result(like="inputs")],
    infer=_einsum,
    numerics=Numerics(linear=True),
    multiply_adds=_einsum_products,
)
class EinsumDescriptor(Descriptor):
    """Products of tensors summed over axes: Einstein's notation.

    ONNX, NumPy: einsum. ``ij,jk->ik`` is the product of two matrices. Each letter names an axis;
    one that the output lacks is summed over, one that occurs twice in a term takes the diagonal.
    ``...`` names axes that broadcast. Without ``->`` the output has the ellipsis and then, in the
    order of the alphabet, the letters that occur once.

    Attributes:
        equation: The labels of the axes of each input and of the output.
    """

    equation: str = ""

    def check(self) -> None:
        """Raise InvalidArgumentError if the equation is not well formed."""
        self.terms()

    def terms(self) -> tuple[list[str], str]:
        """Return the labels of each input and the output.

        ``...`` is :data:`ELLIPSIS`.

        Raises:
            InvalidArgumentError: The equation is not well formed.
        """
        equation = self.equation.replace(" ", "")
        left, arrow, output = equation.replace("...", ELLIPSIS).partition("->")
        labels = left.replace(",", "")
        if not arrow:
            once = sorted(a for a in labels if a != ELLIPSIS and labels.count(a) == 1)
            output = "".join([ELLIPSIS] * (ELLIPSIS in labels) + once)
        terms = left.split(",")
        if (
            "." in equation.replace("...", "")
            or not all(_is_term(term) for term in (*terms, output))
            or len(set(output)) != len(output)
            or not set(output) <= set(labels)
            or (ELLIPSIS in labels) != (ELLIPSIS in output)
        ):
            raise InvalidArgumentError(
                f"{type(self).__name__}: the parameter 'equation' is {self.equation!r}, expected "
                "letters and at most one '...' for each input, between commas, then '->' and those "
                "of the output, each once"
            )
        return terms, output


def _matrix_axes(layout: DataLayout, rank: int) -> tuple[int, int]:
    behind = 1 if layout in (DataLayout.NHWC, DataLayout.NDHWC) else 0
    if rank < 2 + behind:
        raise ShapeError(
            f"an input of rank {rank} holds no matrices: expected rank {2 + behind} or more for "
            f"{layout.name}"
        )
    return rank - 2 - behind, rank - 1 - behind


def _mat_mul_integer(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    x, y = inputs.shape("input"), inputs.shape("other")
    if len(x) < 2 or len(y) < 2 or not same_dimension(x[-1], y[-2]):
        raise ShapeError(
            f"the inputs of shape {format_shape(x)} and {format_shape(y)} cannot be multiplied: "
            "expected matrices, with as many columns on the left as rows on the right"
        )
    for name, lone, matrix in (
        ("input_zero_point", x[-2], (*x[:-1], 1)),
        ("other_zero_point", y[-1], (*y[:-2], 1, y[-1])),
    ):
        zero = inputs.get(name)
        given = () if zero is None or zero.shape is None else zero.shape
        if given not in ((), (1,)) and not (
            same_shape(given, (lone,)) or same_shape(given, matrix)
        ):
            raise ShapeError(
                f"the input {name!r} has shape {format_shape(given)}: expected one number, "
                f"{format_shape((lone,))} or {format_shape(matrix)}"
            )
    return [(*broadcast(x[:-2], y[:-2]), x[-2], y[-1])]


def _mat_mul_integer_products(
    _descriptor: Descriptor, inputs: Inputs, outputs: Sequence[TensorInfo]
) -> int:
    """Count multiply-adds: the output's elements times K."""
    return outputs[0].num_elements * inputs.sizes("input")[-1]


@layer(
    1023,
    inputs=[
        slot("input", "The matrices on the left, [...,M,K]; Signed8 or Unsigned8."),
        slot("other", "The matrices on the right, [...,K,N]; Signed8 or Unsigned8."),
        slot(
            "input_zero_point",
            "The zero points of the left matrices: one number, [M] or [...,M,1].",
            optional=True,
        ),
        slot(
            "other_zero_point",
            "The zero points of the right matrices: one number, [N] or [...,1,N].",
            optional=True,
        ),
    ],
    outputs=[result(data_types=[DataType.SIGNED32])],
    infer=_mat_mul_integer,
    multiply_adds=_mat_mul_integer_products,
)
class MatMulIntegerDescriptor(Descriptor):
    """Exact products of matrices of small integers (ONNX: MatMulInteger).

    Leading axes broadcast; sums wrap around modulo 2^32.
    """


def _mat_mul_n_bits(descriptor: MatMulNBitsDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if not shape:
        raise ShapeError("the input 'input' is a scalar: expected rank 1 or more")
    columns = known_better(
        require_rank(inputs, "weights", 2)[0], require_rank(inputs, "scales", 2)[0]
    )
    bits, block_size = descriptor.bits, descriptor.block_size
    require_blocks(inputs, "weights", bits, block_size, (columns,), shape[-1])
    require_shape(inputs, "bias", (columns,))
    return [(*shape[:-1], columns)]


def _mat_mul_n_bits_products(
    _descriptor: Descriptor, inputs: Inputs, outputs: Sequence[TensorInfo]
) -> int:
    """Count multiply-adds: the output's elements times K."""
    return outputs[0].num_elements * inputs.sizes("input")[-1]


def _rounding_of_activations(descriptor: MatMulNBitsDescriptor) -> float:
    return 4e-2 if descriptor.accuracy_level == 4 else 1e-4


@layer(
    1035,
    inputs=[
        slot("input", "Shape [...,K]."),
        slot("weights", "[N,bytes], Unsigned8: K numbers, from the low bits of a byte on."),
        slot("scales", "[N,blocks], one for each block of a row.", finite=True),
        slot(
            "zero_points",
            "[N,blocks], real numbers, or [N,bytes], Unsigned8, packed as the weights are; "
            "2^(bits - 1) if absent.",
            optional=True,
            finite=True,
        ),
        slot("bias", "[N], added to the product.", optional=True),
    ],
    outputs=[result("output", "Shape [...,N].")],
    infer=_mat_mul_n_bits,
    numerics=Numerics(
        sums=True,
        overflows="weights may be scaled after they are multiplied",
        allowed=_rounding_of_activations,
    ),
    multiply_adds=_mat_mul_n_bits_products,
)
class MatMulNBitsDescriptor(Descriptor):
    """The product with the transpose of weights of few bits, plus bias (onnxruntime: MatMulNBits).

    A weight is scale * (number - zero point), with a scale for each block of a row.

    Attributes:
        bits: The bits of a number: 2, 4 or 8.
        block_size: How many numbers of a row share a scale; the last block may have fewer.
        accuracy_level: 4 if the numbers of the input may be rounded to 8 bits in blocks; with any
            other, results are within 1e-4 of the largest one of those in float32.
    """

    bits: int = parameter(4, one_of=(2, 4, 8))
    block_size: int = parameter(32, at_least=1)
    accuracy_level: int = parameter(0, at_least=0, at_most=4)


def _determinant(_descriptor: DeterminantDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if len(shape) < 2 or not same_dimension(shape[-2], shape[-1]):
        raise ShapeError(
            f"the input has shape {format_shape(shape)}: expected square matrices in the last two "
            "axes"
        )
    return [shape[:-2]]


@layer(
    1030,
    inputs=[slot("input", "Square matrices, [...,M,M].")],
    outputs=[result("output", "Shape [...].")],
    infer=_determinant,
    numerics=Numerics(sums=True),
)
class DeterminantDescriptor(Descriptor):
    """The determinants of matrices (ONNX: Det)."""


def _is_term(term: str) -> bool:
    letters = term.replace(ELLIPSIS, "", 1)
    return not letters or (letters.isascii() and letters.isalpha())
