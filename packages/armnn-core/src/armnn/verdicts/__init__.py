# SPDX-License-Identifier: MIT
"""Verdicts: which backends run a model fastest, by measurement.

A verdict holds for one model, one machine and the builds of the backends that it chooses.
"""

from __future__ import annotations

from armnn.verdicts.files import Trial, Verdict, read_verdicts, user_verdicts, write_verdict

__all__ = ["Trial", "Verdict", "read_verdicts", "user_verdicts", "write_verdict"]
