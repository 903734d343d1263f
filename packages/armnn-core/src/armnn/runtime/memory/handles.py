# SPDX-License-Identifier: MIT
"""The runtime's own tensor handles, and copies between memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armnn._arguments import shown
from armnn.backends.base import Workload
from armnn.backends.memory import ALIGNMENT, ArrayHandle, TensorHandle, address_of
from armnn.errors import BackendError, ExecutionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends import Allocator, Step
    from armnn.graph import Value
    from armnn.tensor import TensorInfo
    from armnn.types import MemorySource


def allocated(backend_id: str, allocator: Allocator, size: int) -> NDArray[np.uint8]:
    """Return working memory of a backend.

    Raises:
        BackendError: The allocator returned something else.
    """
    block: Any = allocator.allocate(size, ALIGNMENT)
    is_array = isinstance(block, np.ndarray) and block.dtype == np.uint8 and block.shape == (size,)
    if is_array and block.flags.writeable and (not size or address_of(block) % ALIGNMENT == 0):
        return cast("NDArray[np.uint8]", block)
    raise BackendError(
        f"the allocator of backend {backend_id!r}, {type(allocator).__name__}, returned "
        f"{shown(block)}: expected a writable array of uint8[{size}] at a multiple of {ALIGNMENT} "
        "bytes"
    )


def handle_at(
    arena: NDArray[np.uint8], offset: int, info: TensorInfo, source: MemorySource
) -> ArrayHandle:
    """Return the handle of a tensor in an arena."""
    array: NDArray[Any] = np.ndarray(info.static_shape, info.data_type.numpy_dtype, arena, offset)
    return ArrayHandle(info, array, source)


def constant_handle(value: Value) -> ArrayHandle:
    """Return the handle of a constant, made contiguous.

    Raises:
        ExecutionError: The value is not constant.
    """
    if value.constant is None:
        raise ExecutionError(f"the value {value.name!r} is not constant")
    return ArrayHandle(
        value.info, np.ascontiguousarray(value.constant).reshape(value.constant.shape)
    )


class CopyWorkload(Workload):
    """The workload of MemCopy, and of MemImport without an import."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return a step that copies the input through host memory."""
        (source,), (target,) = inputs, outputs
        if source is None:
            raise ExecutionError("a copy needs a tensor to copy: got none")

        def step() -> None:
            try:
                target.copy_from(source.map())
            finally:
                source.unmap()

        return step
