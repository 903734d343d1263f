# SPDX-License-Identifier: MIT
"""Comparison of outputs and layers; reduction of failing models."""

from __future__ import annotations

from armnn_tools.debugging.comparing import CompareOptions, compare
from armnn_tools.debugging.differences import (
    Comparison,
    OutputDifference,
    Tolerance,
    compare_outputs,
)
from armnn_tools.debugging.findings import (
    ErrorKind,
    FailureSignature,
    Figures,
    Findings,
    LayerFinding,
    Unexplained,
)
from armnn_tools.debugging.other_runtimes import compare_with_tool
from armnn_tools.debugging.passes import PassFinding, find_wrong_pass
from armnn_tools.debugging.reducing import Failure, Progress, ReduceOptions, Reduction, reduce

LayerVerdict, PassVerdict = LayerFinding, PassFinding  # the names in armnn-core 1.2, until 2.0

__all__ = [
    "CompareOptions",
    "Comparison",
    "ErrorKind",
    "Failure",
    "FailureSignature",
    "Figures",
    "Findings",
    "LayerFinding",
    "LayerVerdict",
    "OutputDifference",
    "PassFinding",
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
