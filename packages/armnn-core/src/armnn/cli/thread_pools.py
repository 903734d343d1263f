# SPDX-License-Identifier: MIT
"""Libraries with thread pools in the process: OpenMP and BLAS."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ThreadPool:
    """One library.

    Attributes:
        kind: "openmp" or "blas".
        name: As its makers call it, such as "openblas".
        version: Empty if it does not say.
        threads: How many threads it uses.
        path: Its file.
    """

    kind: str
    name: str
    version: str
    threads: int
    path: str


def thread_pools() -> tuple[ThreadPool, ...]:
    """Return the libraries that are loaded now.

    There are none where the path of any library is not UTF-8: what lists them takes no other.
    """
    # Late: only the doctor needs it. It has no types.
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]  # has no annotations

    try:
        rows = threadpool_info()
    except UnicodeDecodeError as error:
        _log.warning("Libraries with threads of their own cannot be listed: %s.", error)
        return ()
    return tuple(
        ThreadPool(
            row["user_api"],
            row["internal_api"],
            row.get("version") or "",
            row["num_threads"],
            row["filepath"],
        )
        for row in rows
    )


def clashes(pools: Sequence[ThreadPool]) -> list[str]:
    """Return a sentence for each kind of library loaded repeatedly."""
    found = []
    for kind in dict.fromkeys(pool.kind for pool in pools):
        paths = [pool.path for pool in pools if pool.kind == kind]
        if len(paths) > 1:
            found.append(
                f"There are {len(paths)} copies of {_NAMES.get(kind, kind)} in the process: "
                f"{', '.join(paths)}; each starts threads of its own, so that they may wait for "
                "each other."
            )
    return found


_NAMES = {"openmp": "OpenMP", "blas": "BLAS"}
