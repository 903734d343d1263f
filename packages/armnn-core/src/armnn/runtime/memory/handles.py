# SPDX-License-Identifier: MIT
"""The runtime's own tensor handles, and copies between memories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armnn.backends import Step
from armnn.backends.base import Workload
from armnn.backends.memory import ArrayHandle, TensorHandle
from armnn.errors import ExecutionError
from armnn.graph import Value


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
