# SPDX-License-Identifier: MIT
"""Memory that backends use until they give it back."""

from __future__ import annotations

import itertools
from typing import Final

from armnn_backend_api import ctypes_mirror as abi

_lent: Final[dict[int, object]] = {}
_numbers: Final = itertools.count(1)


def lend(memory: object) -> int:
    """Keep an object until :data:`GIVE_BACK` is called with the number."""
    number = next(_numbers)
    _lent[number] = memory
    return number


def count_lent() -> int:
    """Return how many objects backends have."""
    return len(_lent)


def _give_back(number: int | None) -> None:
    _lent.pop(number or 0, None)


GIVE_BACK: Final = abi.ReleaseFn(_give_back)
"""Lets go what was lent; any thread may call it."""
