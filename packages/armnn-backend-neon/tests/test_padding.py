# SPDX-License-Identifier: MIT
"""Padding of each data type, at its limits."""

from __future__ import annotations

import numpy as np
import pytest

import armnn
from armnn import DataType, Network, TensorInfo


@pytest.mark.parametrize(
    ("data_type", "value", "stored"),
    [
        (DataType.SIGNED8, -300.0, -128),
        (DataType.UNSIGNED8, -2.0, 0),
        (DataType.UNSIGNED16, 7.9, 7),
        (DataType.SIGNED16, 1e9, 32767),
        (DataType.SIGNED32, -1.9, -1),
        (DataType.SIGNED64, 1e30, 2**63 - 1),
        (DataType.UNSIGNED32, float("inf"), 2**32 - 1),
        (DataType.UNSIGNED64, 1e30, 2**64 - 1),
        (DataType.BOOLEAN, 0.5, True),
        (DataType.FLOAT64, 0.1, 0.1),
        (DataType.FLOAT16, 0.5, 0.5),
    ],
)
def test_the_number_is_whole_and_within_the_range_of_its_type(
    data_type: DataType, value: float, stored: float
) -> None:
    net = Network("pad")
    x = net.add_input("x", TensorInfo((2,), data_type))
    net.add_output("y", net.add_pad(x, pad_list=[(3, 1)], pad_value=value))
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(net, backends=["CpuAcc"])
        y = loaded.run({"x": np.ones(2, data_type.numpy_dtype)})["y"]
    expected = np.array([stored, stored, stored, 1, 1, stored], data_type.numpy_dtype)
    np.testing.assert_array_equal(y, expected)
