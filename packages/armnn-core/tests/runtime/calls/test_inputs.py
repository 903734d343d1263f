# SPDX-License-Identifier: MIT
"""Real values for quantized inputs and outputs."""

from __future__ import annotations

import numpy as np
import pytest

import armnn
from armnn.errors import InvalidArgumentError
from armnn.graph import Network
from armnn.tensor import TensorInfo
from armnn.types import DataType

BYTES = TensorInfo((2, "n"), DataType.QASYMM_U8, 0.5, 10)
LEVELS = TensorInfo((2, "n"), DataType.QASYMM_S8, 0.25, -3)
CHANNELS = TensorInfo((2, 3), DataType.QSYMM_S8, (0.5, 2), (0, 0), 0)
REAL = np.array([[-5, 0, 0.3], [1.24, 100, np.nan]], np.float32)


def network() -> Network:
    made = Network()
    x = made.add_input("x", BYTES)
    plain = made.add_input("plain", TensorInfo((2,), DataType.SIGNED32))
    made.add_output("same", x)
    made.add_output("levels", made.add_quantize(made.add_dequantize(x), output=LEVELS))
    made.add_output("integers", plain)
    return made


def test_real_values_go_in_and_come_out() -> None:
    with armnn.load_model(network(), backends=["CpuRef"], quantize=True) as model:
        given = {"x": REAL, "plain": np.array([7, 8], np.int32)}
        outputs = model.run(given)
        expected = [[-5, 0, 0.5], [1, 100, 0]]  # 0.3/0.5 -> 1 step, 1.24/0.5 -> 2 steps, NaN -> 0
        np.testing.assert_array_equal(outputs["same"], np.array(expected, np.float32))
        np.testing.assert_array_equal(outputs["levels"], [[-5, 0, 0.5], [1, 32.5, 0]])
        np.testing.assert_array_equal(outputs["integers"], [7, 8])
        assert [array.dtype for array in outputs.values()] == [np.float32, np.float32, np.int32]
        assert model.inputs["x"] == BYTES
        assert model.outputs["levels"] == LEVELS


@pytest.mark.parametrize("data", [[[1, 2], [3, 4]], np.ones((2, 2), np.float16), np.eye(2) > 0])
def test_any_real_numbers_will_do(data: object) -> None:
    with armnn.load_model(network(), backends=["CpuRef"], quantize=True) as model:
        outputs = model.run({"x": data, "plain": np.zeros(2, np.int32)})  # type: ignore[dict-item]  # arrays and lists
    np.testing.assert_array_equal(outputs["same"], np.asarray(data, np.float32))


def test_stored_values_are_the_default() -> None:
    stored = np.array([[0, 10, 255]] * 2, np.uint8)
    with armnn.load_model(network(), backends=["CpuRef"]) as model:
        outputs = model.run({"x": stored, "plain": np.zeros(2, np.int32)})
        np.testing.assert_array_equal(outputs["same"], stored)
        with pytest.raises(InvalidArgumentError, match=r"'x' is float32: expected uint8"):
            model.run({"x": REAL, "plain": np.zeros(2, np.int32)})


def test_each_index_of_an_axis_has_its_scale() -> None:
    made = Network()
    made.add_output("y", made.add_input("x", CHANNELS))
    with armnn.load_model(made, backends=["CpuRef"], quantize=True) as model:
        y = model.run({"x": [[1, 2, 3.2], [1, 2, 3.2]]})["y"]
        np.testing.assert_array_equal(y, [[1, 2, 3], [2, 2, 4]])
        with pytest.raises(InvalidArgumentError, match=r"has shape \[3\]: expected \[2,3\]"):
            model.run({"x": [1, 2, 3]})


def test_what_is_no_number_is_refused() -> None:
    with (
        armnn.load_model(network(), backends=["CpuRef"], quantize=True) as model,
        pytest.raises(InvalidArgumentError, match="'x' holds <U1: expected real numbers, which ar"),
    ):
        model.run({"x": np.array([["a"], ["b"]]), "plain": np.zeros(2, np.int32)})
