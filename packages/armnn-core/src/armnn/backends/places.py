# SPDX-License-Identifier: MIT
"""Places of backends, in ids (``isolated:CpuAcc``) and in the process."""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["BOARD", "ISOLATED", "SSH", "any_placed", "is_placed", "own_id"]

ISOLATED: Final = "isolated:"
SSH: Final = "ssh://"
BOARD: Final = "board://"


def is_placed(name: str) -> bool:
    """Return whether an id says where its backend runs."""
    return name.startswith((ISOLATED, SSH, BOARD))


def any_placed() -> bool:
    """Return whether this process has isolated any backend."""
    return "armnn.backends.workers" in sys.modules


def own_id(name: str) -> str:
    """Return the id without the place."""
    if name.startswith(ISOLATED):
        return name.removeprefix(ISOLATED)
    return name.rpartition("/")[2] if is_placed(name) else name
