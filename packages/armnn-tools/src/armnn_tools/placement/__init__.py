# SPDX-License-Identifier: MIT
"""The choice of backends by measurement.

``backends="auto"`` follows its verdicts. Nothing is measured unless it is asked for.
"""

from __future__ import annotations

from armnn.runtime.verdicts import Trial, Verdict, read_verdicts, user_verdicts, write_verdict
from armnn_tools.placement.tuning import tune

__all__ = [
    "Trial",
    "Verdict",
    "read_verdicts",
    "tune",
    "user_verdicts",
    "write_verdict",
]
