# SPDX-License-Identifier: MIT
"""Values share their arrays' memory and describe it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from armnn_compat.onnxruntime import OrtDevice, OrtValue
from armnn_compat.onnxruntime.values import ELEMENTS, array_at, element_number, numpy_type

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_a_value_says_what_it_is() -> None:
    value = OrtValue.ortvalue_from_numpy(X)
    assert value.shape() == [2, 3]
    assert value.data_type() == "tensor(float)"
    assert value.element_type() == 1
    assert value.device_name() == "cpu"
    assert value.tensor_size_in_bytes() == 24
    assert value.has_value()
    assert value.is_tensor()
    assert not value.is_sparse_tensor()
    assert not value.is_tensor_sequence()


def test_a_value_shares_the_memory_of_its_array() -> None:
    array = X.copy()
    value = OrtValue.ortvalue_from_numpy(array)
    assert value.data_ptr() == array.ctypes.data
    assert np.shares_memory(value.numpy(), array)
    assert np.shares_memory(np.asarray(value), array)
    assert np.shares_memory(np.from_dlpack(value), array)
    assert np.shares_memory(OrtValue.from_dlpack(array).numpy(), array)
    value.update_inplace(-X)
    np.testing.assert_array_equal(array, -X)


def test_an_array_that_is_not_contiguous_is_copied() -> None:
    value = OrtValue.ortvalue_from_numpy(X.T)
    np.testing.assert_array_equal(array_at(value.data_ptr(), np.float32, (3, 2)), X.T)


def test_conversion_to_an_array_can_change_the_type_and_copy() -> None:
    value = OrtValue.ortvalue_from_numpy(X)
    assert np.asarray(value, np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(value), X)


@pytest.mark.parametrize("element_type", [np.int64, 7, "int64"])
def test_a_new_value_has_the_type_that_was_named(element_type: object) -> None:
    value = OrtValue.ortvalue_from_shape_and_type([2, 0], element_type)
    assert value.data_type() == "tensor(int64)"
    assert value.shape() == [2, 0]


def test_every_element_type_that_can_be_stored_has_a_number_and_a_type() -> None:
    for number, (_, name) in ELEMENTS.items():
        if name != "object":
            assert element_number(numpy_type(number)) == number
    assert numpy_type(16) == np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("wrong", [8, 14, "complex64", "nonsense"])
def test_a_type_that_no_tensor_has_is_refused(wrong: object) -> None:
    with pytest.raises(RuntimeError, match="is not"):
        OrtValue.ortvalue_from_shape_and_type([1], wrong)


def test_an_update_of_another_shape_or_type_is_refused() -> None:
    value = OrtValue.ortvalue_from_numpy(X.copy())
    with pytest.raises(RuntimeError, match=r"the shape \[2, 3\] .* got \[3, 2\] and float32$"):
        value.update_inplace(X.T)
    with pytest.raises(RuntimeError, match=r"got \[2, 3\] and float64$"):
        value.update_inplace(X.astype(np.float64))


@pytest.mark.parametrize("wrong", [[1.0], np.array(["text"]), np.array([None])])
def test_what_is_no_array_of_numbers_is_refused(wrong: object) -> None:
    with pytest.raises(RuntimeError, match=r"expected a NumPy array of numbers$"):
        OrtValue.ortvalue_from_numpy(wrong)


def test_values_on_other_devices_are_refused() -> None:
    with pytest.raises(
        RuntimeError, match=r"a value is requested on the device 'cuda': expected 'cpu'"
    ):
        OrtValue.ortvalue_from_numpy(X, "cuda")
    with pytest.raises(RuntimeError, match="Unsupported device type: moon"):
        OrtValue.ortvalue_from_shape_and_type([1], np.float32, "moon")


def test_a_device_has_the_numbers_of_onnxruntime() -> None:
    device = OrtDevice.make("cpu", 0)
    assert device.device_type() == device.device_id() == 0
    assert device.device_vendor_id() == device.device_mem_type() == 0
