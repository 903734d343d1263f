# SPDX-License-Identifier: MIT
"""Arrays in host memory as ``armnn_tensor``, the DLTensor of DLPack."""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any, Final

from armnn.types import DataType
from armnn_backend_api import ctypes_mirror as abi

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from armnn_backend_api.structs import Arena

_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6  # DLDataTypeCode
_CODES: Final = {"i": _INT, "u": _UINT, "f": _FLOAT, "b": _BOOL}


def tensor_of(array: NDArray[Any], arena: Arena) -> abi.Tensor:
    """Return the description of an array, which must be contiguous and stay where it is.

    DLPack says how elements are stored: a type of less than eight bits takes a byte here, and what
    DLPack 1.0 does not know is stored as unsigned integers.
    """
    tensor = abi.Tensor()
    tensor.data = array.ctypes.data
    tensor.device_type = abi.DEVICE_CPU
    tensor.ndim = array.ndim
    tensor.dtype_code = _code_of(array.dtype)
    tensor.dtype_bits = 8 * array.dtype.itemsize
    tensor.dtype_lanes = 1
    tensor.shape = arena.filled(ctypes.c_int64, array.shape)
    return tensor


@functools.cache
def _code_of(dtype: np.dtype[Any]) -> int:
    if dtype.name == DataType.BFLOAT16.numpy_name:
        return _BFLOAT
    return _CODES.get(dtype.kind, _UINT)
