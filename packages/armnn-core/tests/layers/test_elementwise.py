# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.errors import ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataType

BINARY = (
    "Addition",
    "Subtraction",
    "Multiplication",
    "Division",
    "Maximum",
    "Minimum",
    "ElementwiseBinary",
    "Comparison",
    "LogicalBinary",
)


@pytest.mark.parametrize("name", BINARY)
def test_operands_broadcast(infer, name):
    assert infer(name, [("n", 1, 4), (3, 1)])[0].shape == ("n", 3, 4)
    assert infer(name, [(), (0, 2)])[0].shape == (0, 2)


@pytest.mark.parametrize("name", BINARY)
def test_operands_that_do_not_broadcast_are_refused(infer, name):
    with pytest.raises(ShapeError, match=r"\[2,3\] and \[4\] do not broadcast: 3 is not 4"):
        infer(name, [(2, 3), (4,)])


@pytest.mark.parametrize("name", ["ElementwiseUnary", "Floor"])
def test_functions_of_one_operand_keep_shape_and_type(infer, name):
    info = TensorInfo((0, "n"), DataType.FLOAT16)
    assert infer(name, [info]) == (info,)


def test_arithmetic_has_the_type_of_its_first_operand(infer):
    whole = TensorInfo((2,), DataType.SIGNED64)
    assert infer("Addition", [whole, whole])[0].data_type is DataType.SIGNED64


@pytest.mark.parametrize("name", ["Comparison", "LogicalBinary"])
def test_statements_are_boolean(infer, name):
    whole = TensorInfo((2,), DataType.SIGNED64)
    assert infer(name, [whole, whole]) == (TensorInfo((2,), DataType.BOOLEAN),)


def test_where_broadcasts_all_three_and_has_the_type_of_what_it_takes(infer):
    condition = TensorInfo((2, 1, 1), DataType.BOOLEAN)
    x, y = (TensorInfo(shape, DataType.SIGNED32) for shape in ((3, 1), ("n",)))
    assert infer("Where", [condition, x, y]) == (TensorInfo((2, 3, "n"), DataType.SIGNED32),)


@pytest.mark.parametrize("outputs", [1, 2])
def test_fused_layers_have_one_shape(infer, outputs):
    infos = infer("Fused", [(2, 3), (2, 3), (3,), (3,)], num_output_slots=outputs)
    assert [info.shape for info in infos] == [(2, 3)] * outputs


def test_add_mul_add_takes_four_inputs(infer):
    with pytest.raises(ShapeError, match="AddMulAdd takes 4 inputs: got 3"):
        infer("Fused", [(2, 3)] * 3)
