# SPDX-License-Identifier: MIT
"""CpuRef as the evaluator of shapes and constants."""

from __future__ import annotations

from armnn._installing import REFERENCE
from armnn.backends import CreationOptions
from armnn.backends.registry import BackendRegistry
from armnn.errors import BackendError
from armnn.optimizer import Candidate
from armnn.optimizer.assignment.candidates import Evaluator


def reference_evaluator() -> Evaluator:
    """Return CpuRef as evaluator of shapes, None without it."""
    try:
        backend = BackendRegistry(CreationOptions()).get(REFERENCE)
    except BackendError:
        return Evaluator(())
    return Evaluator((Candidate.of(backend, {}),))
