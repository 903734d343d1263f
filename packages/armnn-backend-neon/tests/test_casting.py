# SPDX-License-Identifier: MIT
"""Casts at the edges of types, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataType, Network, TensorInfo
from armnn.errors import ArmnnError
from armnn.tensor import info_of

Array = NDArray[Any]


def cast(x: Array, to: DataType) -> Array:
    """Return the result of one Cast on CpuAcc alone."""
    network = Network("cast")
    value = network.add_input("x", info_of(x))
    network.add_output("y", network.add_cast(value, output=to))
    with armnn.Runtime() as runtime:
        return np.array(runtime.load_model(network, backends=["CpuAcc"]).run({"x": x})["y"])


@pytest.mark.parametrize(
    ("to", "lowest", "highest"),
    [
        (DataType.SIGNED32, -(2**31), 2**31 - 1),
        (DataType.SIGNED64, -(2**63), 2**63 - 1),
        (DataType.UNSIGNED8, 0, 255),
    ],
)
def test_reals_are_cut_off_and_saturate(to: DataType, lowest: int, highest: int) -> None:
    x = np.array([2.9, 0.5, -0.5, np.nan, np.inf, -np.inf, 1e30, -1e30], np.float32)
    assert cast(x, to).tolist() == [2, 0, 0, 0, highest, lowest, highest, lowest]


def test_between_integers_the_lower_bits_are_kept() -> None:
    x = np.array([2**32 + 5, -1, 2**31], np.int64)
    assert cast(x, DataType.SIGNED32).tolist() == [5, -1, -(2**31)]


def test_anything_but_zero_is_true() -> None:
    x = np.array([0.0, -0.0, 0.25, -3.0, np.nan], np.float32)
    assert cast(x, DataType.BOOLEAN).tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 10_007])
def test_pieces_of_any_size_are_whole(size: int) -> None:
    x = np.arange(size, dtype=np.int32) * 17
    np.testing.assert_array_equal(cast(x, DataType.FLOAT32), x.astype(np.float32))


def test_float64_is_rounded_to_halves_once() -> None:
    """Through float32, slightly above a tie would be a tie."""
    x = np.array(
        [1 + 2.0**-11 + 2.0**-40, -1 - 2.0**-11 - 2.0**-40, 1e300, 1e-300, -np.inf, np.nan]
    )
    y = cast(x, DataType.FLOAT16).astype(np.float64)
    np.testing.assert_array_equal(y, [1 + 2.0**-10, -1 - 2.0**-10, np.inf, 0, -np.inf, np.nan])
    x = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 3 * 2.0**-8 - 2.0**-40])
    y = cast(x, DataType.BFLOAT16).astype(np.float64)
    assert y.tolist() == [1 + 2.0**-7, 1, 1 + 2.0**-7]


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.uint64])
def test_integers_are_rounded_to_halves_once(kind: type[np.integer[Any]]) -> None:
    tie = 2**30 + 2**22  # between two BFloat16
    x = np.array([tie, tie + 1, tie - 1, 3], kind)
    assert cast(x, DataType.BFLOAT16).tolist() == [2.0**30, 2.0**30 + 2.0**23, 2.0**30, 3]
    assert cast(x, DataType.FLOAT16).tolist() == [np.inf, np.inf, np.inf, 3]


HALVED = [DataType.FLOAT32, DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT64, DataType.BOOLEAN]
REFUSED = [
    each
    for each in DataType
    if each not in HALVED and not each.is_quantized and not (each.is_integer and each.bits >= 8)
]


@pytest.mark.parametrize("data_type", REFUSED, ids=lambda data_type: data_type.arm_name)
def test_a_refusal_names_the_data_type(data_type: DataType) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,), data_type))
    network.add_output("y", network.add_cast(x, output=DataType.BFLOAT16))
    name = data_type.arm_name
    with pytest.raises(ArmnnError, match=f"{name} is not cast to BFloat16|{name} is not computed"):
        armnn.load_model(network, backends=["CpuAcc"])
