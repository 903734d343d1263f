# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.errors import ShapeError
from armnn.types import ActivationFunction


@pytest.mark.parametrize("shape", [(), (0, 3), (1, "n", None)])
def test_a_function_of_elements_keeps_the_shape(infer, shape):
    (info,) = infer("Activation", [shape])
    assert info.shape == shape


def test_celu_refuses_a_divisor_of_zero(infer):
    for a in (0.0, -0.0):
        with pytest.raises(ShapeError, match="Celu divides by a, which is 0: expected another num"):
            infer("Activation", [(2,)], function=ActivationFunction.CELU, a=a)
    (info,) = infer("Activation", [(2,)], function=ActivationFunction.CELU, a=-1.0)
    assert info.shape == (2,)


def test_the_slopes_of_prelu_broadcast(infer):
    assert infer("Prelu", [("n", 4, 5, 3), (1, 1, 3)])[0].shape == ("n", 4, 5, 3)
    with pytest.raises(ShapeError, match=r"\[2,3\] and \[2\] do not broadcast"):
        infer("Prelu", [(2, 3), (2,)])
