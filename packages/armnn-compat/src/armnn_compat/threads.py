# SPDX-License-Identifier: MIT
"""The number of threads, as the option of backends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from armnn.backends import Backend, OptionValue

_OPTION = "NumberOfThreads"
"""Arm NN's name for it."""


def thread_options(backends: Iterable[Backend], threads: int) -> dict[str, dict[str, OptionValue]]:
    """Return the backends' thread options by id.

    There are none for less than one thread.
    """
    if threads < 1:
        return {}
    return {each.id: {_OPTION: threads} for each in backends if _takes_it(each)}


def _takes_it(backend: Backend) -> bool:
    try:
        backend.create_model_context({_OPTION: 1})
    except InvalidArgumentError:
        return False
    return True
