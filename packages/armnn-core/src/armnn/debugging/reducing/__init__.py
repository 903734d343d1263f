# SPDX-License-Identifier: MIT
"""Reduction of failing models to small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand

if TYPE_CHECKING:
    from armnn.debugging.reducing.failure import Failure
    from armnn.debugging.reducing.reduction import CHECKS, ReduceOptions, reduce
    from armnn.debugging.reducing.result import Reduction
    from armnn.debugging.reducing.search import Progress
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "failure": "Failure",
            "reduction": "CHECKS ReduceOptions reduce",
            "result": "Reduction",
            "search": "Progress",
        },
    )

__all__ = ["CHECKS", "Failure", "Progress", "ReduceOptions", "Reduction", "reduce"]
