# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.tensor import TensorInfo
from armnn.types import DataType

INFO = TensorInfo((None, 3), DataType.QASYMM_U8, 0.5, 7)


@pytest.mark.parametrize("name", ["Input", "Constant"])
def test_what_makes_a_tensor_is_told_its_info(infer, name):
    assert infer(name, [], [INFO]) == (INFO,)


def test_an_input_may_have_an_unknown_rank(infer):
    assert infer("Input", [], [DataType.SIGNED64]) == (TensorInfo(None, DataType.SIGNED64),)


def test_an_output_of_the_network_makes_no_tensor(infer):
    assert infer("Output", [INFO]) == ()
