# SPDX-License-Identifier: MIT
"""Tensors that a program cannot use where they lie, and what it asks of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn.backends.native.tensors import tensor_of
from armnn_backend_api.structs import Arena

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends.memory import TensorHandle
    from armnn_backend_api import ctypes_mirror as abi

ALIGNMENT_LIMIT: Final = 1 << 21  # a huge page
_PADDING_LIMIT: Final = 1 << 21


class Port:
    """A tensor that execute cannot use where it lies: it is copied to memory that fits."""

    def __init__(self, handle: TensorHandle, need: abi.IoRequirement, *, is_output: bool) -> None:
        self._handle = handle
        self._is_output = is_output
        self._arena = Arena()
        info = handle.info
        dtype = info.data_type.numpy_dtype
        size = max(info.size_bytes, need.min_bytes)
        alignment = max(need.min_align, dtype.itemsize, 1)
        block = np.empty(size + alignment, np.uint8)
        start = -block.ctypes.data % alignment
        raw = block[start : start + info.size_bytes]
        self._array: NDArray[Any] = raw.view(dtype).reshape(info.static_shape)
        self._arena.hold(block)
        self.tensor = tensor_of(self._array, self._arena)

    def enter(self) -> None:
        """Bring the input."""
        if not self._is_output:
            np.copyto(self._array, self._handle.map())
            self._handle.unmap()

    def leave(self) -> None:
        """Take the output away."""
        if self._is_output:
            np.copyto(self._handle.map(), self._array)
            self._handle.unmap()


def is_sane(need: abi.IoRequirement, size: int) -> bool:
    """Whether a wish about the memory of a tensor of that many bytes can be meant."""
    align = need.min_align
    return (
        align <= ALIGNMENT_LIMIT
        and align & (align - 1) == 0
        and need.min_bytes <= 2 * size + _PADDING_LIMIT
    )


def fits(array: NDArray[Any], need: abi.IoRequirement) -> bool:
    """Whether a program can use an array where it lies."""
    alignment = max(need.min_align, array.dtype.itemsize, 1)
    return (
        array.flags.c_contiguous
        and array.nbytes >= need.min_bytes
        and array.ctypes.data % alignment == 0
    )
