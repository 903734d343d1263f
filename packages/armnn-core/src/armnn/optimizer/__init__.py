# SPDX-License-Identifier: MIT
"""From a network to its backends; :mod:`armnn.optimizer.phases` has the order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand

if TYPE_CHECKING:
    from armnn.optimizer.assignment.assign import check_layer_names
    from armnn.optimizer.assignment.partition import Border, Part
    from armnn.optimizer.assignment.report import CompiledPart, Refusal, Report, ReportRow
    from armnn.optimizer.keywords import OptimizerKeywords
    from armnn.optimizer.optimized_network import OptimizedNetwork
    from armnn.optimizer.options import (
        DebugCallback,
        OptimizerOptions,
        ShapeInferenceMethod,
        checked_options,
    )
    from armnn.optimizer.participants import Candidate, Participants
    from armnn.optimizer.plan import Plan
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "assignment.assign": "check_layer_names",
            "keywords": "OptimizerKeywords",
            "optimized_network": "OptimizedNetwork",
            "options": "DebugCallback OptimizerOptions ShapeInferenceMethod checked_options",
            "participants": "Candidate Participants",
            "assignment.partition": "Border Part",
            "plan": "Plan",
            "assignment.report": "CompiledPart Refusal Report ReportRow",
        },
    )

__all__ = [
    "Border",
    "Candidate",
    "CompiledPart",
    "DebugCallback",
    "OptimizedNetwork",
    "OptimizerKeywords",
    "OptimizerOptions",
    "Part",
    "Participants",
    "Plan",
    "Refusal",
    "Report",
    "ReportRow",
    "ShapeInferenceMethod",
    "check_layer_names",
    "checked_options",
]
