# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from armnn.backends.ffi.values import tensor_of, tensors_at
from armnn.backends.memory import address_of
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena

ARRAYS = [
    np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    np.array(5, np.int64),
    np.zeros((0, 3), np.uint8),
    np.zeros((1, 2, 1, 2, 1, 2, 1, 2), np.bool_),
    np.ones(3, ml_dtypes.bfloat16),
]


def read(tensor: abi.Tensor) -> tuple[Any, ...]:
    shape = tensor.shape[: tensor.ndim]
    kind = (tensor.dtype_code, tensor.dtype_bits, tensor.dtype_lanes)
    place = (tensor.device_type, tensor.device_id, bool(tensor.strides), tensor.byte_offset)
    return tensor.data, shape, kind, place


def test_descriptions_of_several_arrays_are_those_of_each_alone() -> None:
    arena = Arena()
    pointers = tensors_at([(array, array.ctypes.data) for array in ARRAYS])
    together = [read(pointers[index].contents) for index in range(len(ARRAYS))]
    assert together == [read(tensor_of(array, arena)) for array in ARRAYS]
    kinds = [(2, 32, 1), (0, 64, 1), (1, 8, 1), (6, 8, 1), (4, 16, 1)]
    assert together == [
        (array.ctypes.data, list(array.shape), kind, (abi.DEVICE_CPU, 0, False, 0))
        for array, kind in zip(ARRAYS, kinds, strict=True)
    ]


def test_descriptions_of_no_array_have_an_address() -> None:
    assert ctypes.addressof(tensors_at([]))


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize(
    "array", [*ARRAYS, ARRAYS[0][:, 1:], ARRAYS[0][::-1], np.zeros(2, "M8[s]")]
)
def test_an_address_is_where_the_first_element_is(array: Any, writeable: bool) -> None:
    other = array.view()
    other.flags.writeable = writeable
    assert address_of(other) == array.__array_interface__["data"][0]
