# SPDX-License-Identifier: MIT
"""The number of threads of a run, for backends that can be told it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from armnn.backends import Backend, OptionValue
from armnn.errors import ArmnnError

THREADS: Final = "NumberOfThreads"
"""The option of a backend that bounds the threads of a run; Arm NN's name for it."""


def with_threads(
    backends: Iterable[Backend], threads: int, given: Mapping[str, Mapping[str, OptionValue]]
) -> dict[str, dict[str, OptionValue]]:
    """Return options with the number of threads for each backend that has such an option.

    Args:
        backends: The backends.
        threads: The number.
        given: The options of backends by id; a number of threads among them stays.
    """
    found = {backend: dict(options) for backend, options in given.items()}
    for backend in backends:
        options = {THREADS: threads, **found.get(backend.id, {})}
        try:
            backend.create_model_context(options)
        except ArmnnError:
            continue  # it has no such option
        found[backend.id] = options
    return found
