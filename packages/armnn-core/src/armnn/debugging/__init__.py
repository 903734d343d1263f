# SPDX-License-Identifier: MIT
"""Comparison of outputs, and other runtimes to compare with."""

from __future__ import annotations

from armnn.debugging.differences import Comparison, OutputDifference, Tolerance, compare_outputs

__all__ = ["Comparison", "OutputDifference", "Tolerance", "compare_outputs"]
