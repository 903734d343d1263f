# SPDX-License-Identifier: MIT
"""Comparison of outputs and layers; reduction of failing models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand

if TYPE_CHECKING:
    from armnn.debugging.comparing import CompareOptions, compare
    from armnn.debugging.differences import (
        Comparison,
        OutputDifference,
        Tolerance,
        compare_outputs,
    )
    from armnn.debugging.findings import (
        ErrorKind,
        FailureSignature,
        Figures,
        Findings,
        LayerVerdict,
        Unexplained,
    )
    from armnn.debugging.other_runtimes import compare_with_tool
    from armnn.debugging.passes import PassVerdict, find_wrong_pass
    from armnn.debugging.reducing import Failure, Progress, ReduceOptions, Reduction, reduce
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "comparing": "CompareOptions compare",
            "differences": "Comparison OutputDifference Tolerance compare_outputs",
            "findings": "ErrorKind FailureSignature Figures Findings LayerVerdict Unexplained",
            "other_runtimes": "compare_with_tool",
            "passes": "PassVerdict find_wrong_pass",
            "reducing": "Failure Progress ReduceOptions Reduction reduce",
        },
    )

__all__ = [
    "CompareOptions",
    "Comparison",
    "ErrorKind",
    "Failure",
    "FailureSignature",
    "Figures",
    "Findings",
    "LayerVerdict",
    "OutputDifference",
    "PassVerdict",
    "Progress",
    "ReduceOptions",
    "Reduction",
    "Tolerance",
    "Unexplained",
    "compare",
    "compare_outputs",
    "compare_with_tool",
    "find_wrong_pass",
    "reduce",
]
