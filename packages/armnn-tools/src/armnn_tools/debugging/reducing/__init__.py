# SPDX-License-Identifier: MIT
"""Reduction of failing models to small ones."""

from __future__ import annotations

from armnn_tools.debugging.reducing.failure import Failure
from armnn_tools.debugging.reducing.reduction import CHECKS, ReduceOptions, reduce
from armnn_tools.debugging.reducing.result import Reduction
from armnn_tools.debugging.reducing.search import Progress

__all__ = ["CHECKS", "Failure", "Progress", "ReduceOptions", "Reduction", "reduce"]
