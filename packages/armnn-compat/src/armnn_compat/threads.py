# SPDX-License-Identifier: MIT
"""The number of threads and other options of backends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from armnn.backends import Backend, OptionValue
from armnn.errors import InvalidArgumentError

_OPTION = "NumberOfThreads"
"""Arm NN's name for it."""


def thread_options(backends: Iterable[Backend], threads: int) -> dict[str, dict[str, OptionValue]]:
    """Return the backends' thread options by id.

    There are none for less than one thread.
    """
    return taken_options(backends, {_OPTION: threads} if threads >= 1 else {})


def taken_options(
    backends: Iterable[Backend], wanted: Mapping[str, OptionValue]
) -> dict[str, dict[str, OptionValue]]:
    """Return the wanted options that backends have, by id."""
    found = {
        each.id: {name: value for name, value in wanted.items() if _takes(each, name, value)}
        for each in backends
    }
    return {backend: options for backend, options in found.items() if options}


def _takes(backend: Backend, name: str, value: OptionValue) -> bool:
    try:
        backend.create_model_context({name: value})
    except InvalidArgumentError:
        return False
    return True
