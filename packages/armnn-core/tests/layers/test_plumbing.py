# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.errors import ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataType

INFO = TensorInfo(("n", 3), DataType.QASYMM_U8, 0.5, 7)


@pytest.mark.parametrize("name", ["Debug", "MemCopy", "MemImport"])
def test_what_moves_data_changes_nothing(infer, name):
    assert infer(name, [INFO]) == (INFO,)


@pytest.mark.parametrize("name", ["Map", "Unmap"])
def test_marks_make_no_tensor(infer, name):
    assert infer(name, [INFO]) == ()


def test_merged_branches_complete_each_other(infer):
    assert infer("Merge", [("n", None), (None, 3)])[0].shape == ("n", 3)
    with pytest.raises(ShapeError, match=r"\[2\] and \[3\]: expected the same"):
        infer("Merge", [(2,), (3,)])


def test_both_branches_of_a_switch_get_the_input(infer):
    assert infer("Switch", [INFO, TensorInfo((), DataType.BOOLEAN)]) == (INFO, INFO)


@pytest.mark.parametrize("shape", [(2,), (0,), (1, 3)])
def test_a_switch_wants_one_condition(infer, shape):
    with pytest.raises(ShapeError, match=r"'condition' has shape \[.*\]: expected one Boolean"):
        infer("Switch", [INFO, TensorInfo(shape, DataType.BOOLEAN)])
    assert infer("Switch", [INFO, TensorInfo((1, 1), DataType.BOOLEAN)]) == (INFO, INFO)


@pytest.mark.parametrize(
    ("name", "field"), [("PreCompiled", "num_output_slots"), ("StandIn", "num_outputs")]
)
def test_what_is_not_computed_here_is_as_its_maker_says(infer, name, field):
    wanted = [INFO, TensorInfo(None, DataType.SIGNED32)]
    assert infer(name, [(2,), (3,), (4,)], wanted, **{field: 2}) == tuple(wanted)
    assert infer(name, [], [], **{field: 0}) == ()
