# SPDX-License-Identifier: MIT
"""Casts at the edges of the types, against NumPy and literals."""

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
    """Return what a network of one Cast makes of an array, on CpuAcc alone."""
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


def test_what_would_be_rounded_twice_is_refused() -> None:
    with pytest.raises(ArmnnError, match="Float64 is not cast to Float16 here"):
        cast(np.ones(3, np.float64), DataType.FLOAT16)


HALVED = [DataType.FLOAT32, DataType.FLOAT16, DataType.BFLOAT16, DataType.BOOLEAN]
HALVED += [DataType.SIGNED8, DataType.SIGNED16, DataType.UNSIGNED8, DataType.UNSIGNED16]
REFUSED = [each for each in DataType if not each.is_quantized and each not in HALVED]


@pytest.mark.parametrize("data_type", REFUSED, ids=lambda data_type: data_type.arm_name)
def test_a_refusal_names_the_data_type(data_type: DataType) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,), data_type))
    network.add_output("y", network.add_cast(x, output=DataType.BFLOAT16))
    name = data_type.arm_name
    with pytest.raises(ArmnnError, match=f"{name} is not cast to BFloat16|{name} is not computed"):
        armnn.load_model(network, backends=["CpuAcc"])
