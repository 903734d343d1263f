# SPDX-License-Identifier: MIT
"""An addition that Custom compiled (Arm NN's tutorial: ``CustomPreCompiledObject``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ExecutionError


class CustomPreCompiledObject:
    """The program of a pretended accelerator, which can only add."""

    def add(
        self,
        first: NDArray[np.float32] | None,
        second: NDArray[np.float32] | None,
        total: NDArray[np.float32] | None,
    ) -> None:
        """Write the broadcast sum of two tensors to a third.

        Raises:
            ExecutionError: One of the three is missing.
        """
        if first is None or second is None or total is None:
            raise ExecutionError("Invalid input/output data: Custom adds two tensors into a third.")
        np.add(first, second, out=total)
