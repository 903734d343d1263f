# SPDX-License-Identifier: MIT
"""Ids that say where a backend runs: ``isolated:CpuAcc``."""

from __future__ import annotations

from typing import Final

__all__ = ["BOARD", "ISOLATED", "SSH", "is_placed", "own_id"]

ISOLATED: Final = "isolated:"
SSH: Final = "ssh://"
BOARD: Final = "board://"


def is_placed(name: str) -> bool:
    """Return whether an id says where its backend runs."""
    return name.startswith((ISOLATED, SSH, BOARD))


def own_id(name: str) -> str:
    """Return the id without the place."""
    if name.startswith(ISOLATED):
        return name.removeprefix(ISOLATED)
    return name.rpartition("/")[2] if is_placed(name) else name
