# SPDX-License-Identifier: MIT
"""Copying a tensor from one kind of memory to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armnn.backends import Workload
from armnn.errors import ExecutionError

if TYPE_CHECKING:
    from armnn.backends import Step, TensorHandle


class CopyWorkload(Workload):
    """The workload of MemCopy, and of MemImport where the memory cannot be imported after all."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return a step that copies the one input into the one output through host memory."""
        (source,), (target,) = inputs, outputs
        if source is None:
            raise ExecutionError("a copy needs a tensor to copy: got none")

        def step() -> None:
            try:
                np.copyto(target.map(), source.map())
            finally:
                target.unmap()
                source.unmap()

        return step
