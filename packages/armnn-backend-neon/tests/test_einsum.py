# SPDX-License-Identifier: MIT
"""Einsum as matrix product against NumPy; others are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import Network
from armnn.errors import ArmnnError
from armnn.tensor import info_of

Array = NDArray[Any]

SIZES = {"a": 2, "b": 3, "c": 17, "d": 5, "e": 1, "f": 33}


def operands(equation: str) -> list[Array]:
    rng = np.random.default_rng(1)
    terms = equation.partition("->")[0].split(",")
    return [rng.standard_normal([SIZES[a] for a in term.strip()], np.float32) for term in terms]


def run(equation: str, given: list[Array], constants: int) -> Array:
    """Compute an Einsum on CpuAcc, its last operands constant."""
    network = Network()
    split = len(given) - constants
    feeds = {f"input {i}": operand for i, operand in enumerate(given[:split])}
    values = [network.add_input(name, info_of(each)) for name, each in feeds.items()]
    values += [network.add_constant(each) for each in given[split:]]
    network.add_output("y", network.add_einsum(values, equation=equation))
    return np.array(armnn.load_model(network, backends=["CpuAcc"]).run(feeds)["y"])


@pytest.mark.parametrize(
    "equation",
    [
        "bc,cd->bd",
        "bc,dc",
        "abc,acd->abd",
        "abc,adc->dab",
        "cab,dca->adb",
        "abcd,abfd->abcf",
        "abcd,df->abcf",
        "abc,abc->a",
        "abc,c->ab",
        "c,f->fc",
        "abc, cd -> adb",
        "eb,ef->bf",
        "abc->cab",
    ],
)
def test_products_agree_with_numpy(equation: str) -> None:
    given = operands(equation)
    expected = np.einsum(equation, *(each.astype(np.float64) for each in given))
    for constants in range(len(given)):
        actual = run(equation, given, constants)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "reason"),
    [
        ("bc,cd,df->bf", "more than two operands are not computed here"),
        ("b...,...d->bd...", "an ellipsis is not computed here"),
        ("abc,cd->ad", "a sum over one operand is not computed here"),
        ("abc->ab", "a sum over one operand is not computed here"),
        ("cc->c", "a diagonal is not computed here"),
    ],
)
def test_what_is_no_product_is_refused(equation: str, reason: str) -> None:
    given = (
        [np.zeros((3, 2), np.float32), np.zeros((2, 5), np.float32)]
        if "." in equation
        else operands(equation)
    )
    with pytest.raises(ArmnnError, match=reason):
        run(equation, given, 0)
