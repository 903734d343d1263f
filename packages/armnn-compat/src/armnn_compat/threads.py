# SPDX-License-Identifier: MIT
"""The number of threads that callers of other run times give, for the backends that take one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from armnn.backends import Backend, OptionValue

_OPTION = "NumberOfThreads"
"""Arm NN's name for it."""


def thread_options(backends: Iterable[Backend], threads: int) -> dict[str, dict[str, OptionValue]]:
    """Return the option of each backend that has one, by id; none for less than one thread."""
    if threads < 1:
        return {}
    return {each.id: {_OPTION: threads} for each in backends if _takes_it(each)}


def _takes_it(backend: Backend) -> bool:
    try:
        backend.create_model_context({_OPTION: 1})
    except InvalidArgumentError:
        return False
    return True
