# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType

NHWC = DataLayout.NHWC


@pytest.mark.parametrize(
    ("operands", "parameters", "expected"),
    [
        ([(2, 3), (3, 5)], {}, (2, 5)),
        ([(2, 3, 4), (12, 5), (5,)], {}, (2, 5)),
        ([(2, 3), (5, 3)], {"transpose_weight_matrix": True}, (2, 5)),
        ([("n", 3), (3, None)], {}, ("n", None)),
        ([("n", "k", 4), (12, 5)], {}, ("n", 5)),
        ([(0, 3), (3, 5)], {}, (0, 5)),
    ],
)
def test_a_fully_connected_layer_multiplies_rows(infer, operands, parameters, expected):
    assert infer("FullyConnected", operands, **parameters)[0].shape == expected


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ([(3,), (3, 5)], r"the input has shape \[3\]: expected rank 2 or more"),
        ([(2, 4), (3, 5)], r"weights of shape \[3,5\] read 3 numbers, but .*\[2,4\] has 4"),
        ([(2, 3), (3,)], "'weights' has shape .*expected rank 2"),
        ([(2, 3), (3, 5), (1,)], r"'bias' has shape \[1\]: expected \[5\]"),
    ],
)
def test_weights_that_do_not_fit_are_refused(infer, operands, message):
    with pytest.raises(ShapeError, match=message):
        infer("FullyConnected", operands)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((2, 3), (7, 3, 1)),
        ((0, 2, 3), (1, 3, 4)),
        ((2, 0), (0, 4)),
    ],
)
def test_products_have_the_shape_of_numpys_matmul(infer, x, y):
    expected = np.matmul(np.zeros(x), np.zeros(y)).shape
    assert infer("BatchMatMul", [x, y])[0].shape == expected


def test_operands_may_be_transposed(infer):
    flags = {"transpose_x": True, "transpose_y": True}
    assert infer("BatchMatMul", [(5, 3, 2), (4, 3)], **flags)[0].shape == (5, 2, 4)


def test_matrices_may_stand_before_the_channels(infer):
    (info,) = infer(
        "BatchMatMul",
        [("n", 2, 3, 7), (1, 3, 4, 7)],
        data_layout_x=NHWC,
        data_layout_y=NHWC,
    )
    assert info.shape == ("n", 2, 4, 7)


def test_the_output_lies_as_the_operand_of_higher_rank(infer):
    (info,) = infer("BatchMatMul", [(2, 3, 7), (5, 7, 3, 4)], data_layout_x=NHWC)
    assert info.shape == (5, 7, 2, 4)


def test_unknown_dimensions_are_carried(infer):
    assert infer("BatchMatMul", [("n", "m", 3), (3, "k")])[0].shape == ("n", "m", "k")


@pytest.mark.parametrize(
    ("operands", "parameters", "message"),
    [
        ([(2, 3), (4, 5)], {}, r"\[2,3\] and \[4,5\] cannot be multiplied: 3 columns meet 4 rows"),
        ([(2, 2, 3), (3, 3, 4)], {}, r"\[2\] and \[3\] do not broadcast"),
        ([(3,), (3, 4)], {}, "rank 1 holds no matrices: expected rank 2 or more for NCHW"),
        ([(2, 3), (3, 4)], {"data_layout_x": NHWC}, "expected rank 3 or more for NHWC"),
        ([(2, 3), (3, 4)], {"adjoint_x": True}, "2 rows and 3 columns is not defined"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(infer, operands, parameters, message):
    with pytest.raises(ShapeError, match=message):
        infer("BatchMatMul", operands, **parameters)


@pytest.mark.parametrize(
    ("equation", "shapes", "expected"),
    [
        ("", [()], ()),
        ("ij", [(2, "n")], (2, "n")),
        ("ba", [(2, 3)], (3, 2)),
        ("ij,jk", [("n", 3), (3, 4)], ("n", 4)),
        (" i j , j k -> k i ", [(2, 3), (3, 4)], (4, 2)),
        ("ii->i", [(3, 3)], (3,)),
        ("ii", [(None, 3)], ()),
        ("...ij,...jk->...ik", [(5, 1, 2, 3), (6, 3, 4)], (5, 6, 2, 4)),
        ("...i,i", [("n", 2, 3), (3,)], ("n", 2)),
        ("bh...d,bd->...bh", [(2, 3, 4, 5, 6), (2, 6)], (4, 5, 2, 3)),
        ("i,i->i", [(1,), (4,)], (4,)),
    ],
)
def test_an_equation_tells_the_shape(infer, equation, shapes, expected):
    assert infer("Einsum", shapes, equation=equation)[0].shape == expected


@pytest.mark.parametrize(
    "equation", ["i1", "i.j", "..i", "......", "i->ii", "i->j", "i->i->i", "...i->i", "i->...i"]
)
def test_an_ill_formed_equation_is_refused(infer, equation):
    with pytest.raises(InvalidArgumentError, match=r"'equation' is .*expected letters and at most"):
        infer("Einsum", [(2, 3)], equation=equation)


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk", [(2, 3)], "names 2 inputs: got 1"),
        ("ij", [(2,)], r"the term 'ij' of the equation 'ij' does not fit .* \[2\]"),
        ("...ij", [(2,)], r"the term '...ij' .* does not fit the input of shape \[2\]"),
        ("i", [(2, 3)], r"does not fit the input of shape \[2,3\]"),
        ("ii", [(2, 3)], r"the label 'i' .* means 2 and 3 in the input of shape \[2,3\]"),
        ("ij,jk", [(2, 3), (4, 5)], "do not broadcast: 3 is not 4"),
    ],
)
def test_inputs_that_do_not_fit_the_equation_are_refused(infer, equation, shapes, message):
    with pytest.raises(ShapeError, match=message):
        infer("Einsum", shapes, equation=equation)


def test_products_of_small_integers_are_signed32(infer):
    x, y = TensorInfo((2, 3), DataType.UNSIGNED8), TensorInfo((5, 3, "n"), DataType.SIGNED8)
    (info,) = infer("MatMulInteger", [x, y])
    assert (info.shape, info.data_type) == ((5, 2, "n"), DataType.SIGNED32)


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ([(2, 3), (4, 5)], "cannot be multiplied: expected matrices, with as many columns"),
        ([(3,), (3, 5)], "cannot be multiplied: expected matrices"),
        ([(2, 3), (3, 5), (3,)], r"'input_zero_point' has shape \[3\]: .* \[2\] or \[2,1\]"),
        ([(2, 3), (3, 5), None, (2,)], r"'other_zero_point' .* \[5\] or \[1,5\]"),
    ],
)
def test_integer_matrices_that_do_not_fit_are_refused(infer, operands, message):
    with pytest.raises(ShapeError, match=message):
        infer("MatMulInteger", operands)


def test_determinants_are_those_of_square_matrices(infer):
    assert infer("Determinant", [("n", 2, 3, 3)])[0].shape == ("n", 2)
    for shape in ((3,), (2, 3)):
        with pytest.raises(ShapeError, match="expected square matrices in the last two axes"):
            infer("Determinant", [shape])


def _bytes(*shape):
    return TensorInfo(shape, DataType.UNSIGNED8)


@pytest.mark.parametrize(
    ("operands", "parameters"),
    [
        ([(2, 3, 64), _bytes(5, 32), (5, 2), None, (5,)], {}),
        ([(70,), _bytes(5, 35), (5, 3), _bytes(5, 2)], {}),  # the last block has 6 numbers
        ([(70,), _bytes(5, 48), (5, 3), (5, 3)], {}),  # with all of its bytes
        ([("n", 64), _bytes(5, 64), (5, 1), _bytes(5, 1)], {"bits": 8, "block_size": 128}),
    ],
)
def test_weights_of_few_bits_make_a_column_for_each_row(infer, operands, parameters):
    shape = infer("MatMulNBits", operands, **parameters)[0].shape
    assert shape == (*operands[0][:-1], 5)


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ([(), _bytes(5, 32), (5, 2)], "'input' is a scalar"),
        ([(2, 64), _bytes(5, 31), (5, 2)], "'weights' has 31 bytes in a row: expected 32 to 32"),
        ([(2, 64), _bytes(5, 32), (5, 3)], r"'scales' has shape \[5,3\]: expected \[5,2\]"),
        ([(2, 64), _bytes(5, 32), (5, 2), (5, 1)], r"'zero_points' .* expected \[5,2\]"),
        ([(2, 64), _bytes(5, 32), (5, 2), _bytes(5, 2)], r"'zero_points' .* expected \[5,1\]"),
        ([(2, 64), _bytes(5, 32), (5, 2), None, (4,)], r"'bias' .* expected \[5\]"),
    ],
)
def test_weights_of_few_bits_that_do_not_fit_are_refused(infer, operands, message):
    with pytest.raises(ShapeError, match=message):
        infer("MatMulNBits", operands)


@pytest.mark.parametrize("bits", [1, 3, 5])
def test_other_numbers_of_bits_are_refused(infer, bits):
    with pytest.raises(InvalidArgumentError, match=f"'bits' is {bits}, expected one of 2, 4, 8"):
        infer("MatMulNBits", [(2, 64), _bytes(5, 32), (5, 2)], bits=bits)
