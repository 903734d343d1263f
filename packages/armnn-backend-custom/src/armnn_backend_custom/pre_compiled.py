# SPDX-License-Identifier: MIT
"""What Custom compiles an addition into (Arm NN's tutorial: ``CustomPreCompiledObject``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armnn.errors import ExecutionError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CustomPreCompiledObject:
    """Stands for the program of an accelerator, which knows how to add and nothing else."""

    def add(
        self,
        first: NDArray[np.float32] | None,
        second: NDArray[np.float32] | None,
        total: NDArray[np.float32] | None,
    ) -> None:
        """Write the sum of two tensors, which broadcast, to a third.

        Raises:
            ExecutionError: One of the three is missing.
        """
        if first is None or second is None or total is None:
            raise ExecutionError("Invalid input/output data: Custom adds two tensors into a third.")
        np.add(first, second, out=total)
