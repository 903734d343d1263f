# SPDX-License-Identifier: MIT
"""Large arrays whose pages are in a file.

A comparison has the values of the reference, of the truth and of a backend at once. Those that are
not read for a while leave memory; the system reads their pages again when they are.
"""

from __future__ import annotations

import math
import mmap
import os
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Array = NDArray[Any]

WORTH_A_FILE: Final = 1 << 20
"""Bytes of an array from which on it is in a file."""


class _FileMemory(mmap.mmap):
    """Mapped files of this module: their pages can leave memory.

    Those of an anonymous mapping, such as that of a model's weights, would be zeros then.
    """


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an array without values.

    It is in a file without a name if it is large and there is room for it.

    Args:
        shape: Its shape.
        dtype: Its type.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < WORTH_A_FILE:
        return np.empty(shape, dtype)
    try:
        with TemporaryFile() as file:
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk would kill the process later
            memory = _FileMemory(file.fileno(), size)
    except OSError:
        return np.empty(shape, dtype)
    return np.frombuffer(memory, dtype).reshape(shape)


def leave_memory(arrays: Iterable[Array | None]) -> None:
    """Let pages of arrays that :func:`empty` made leave memory."""
    for array in arrays:
        base: object = array
        while isinstance(base, np.ndarray):
            base = base.base
        memory = base.obj if isinstance(base, memoryview) else None
        if isinstance(memory, _FileMemory):
            memory.madvise(mmap.MADV_DONTNEED)
