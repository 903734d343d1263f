# SPDX-License-Identifier: MIT
"""The passes as a load runs them.

So their tests notice a layer type that is missing beside a pass in ``PASSES``.
"""

from __future__ import annotations

from armnn.optimizer.passes import PASSES, Pass


def named_pass(name: str) -> Pass:
    """Return the pass of a name."""
    return next(each for each in PASSES if getattr(each, "__name__", "") == name)
