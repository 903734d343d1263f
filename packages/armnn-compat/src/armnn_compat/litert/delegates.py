# SPDX-License-Identifier: MIT
"""Delegates: Arm NN's names backends, others are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

_ARMNN = "armnnDelegate"


@dataclass(frozen=True, slots=True)
class Delegate:
    """What ``load_delegate`` returns.

    Attributes:
        library: The name that was asked for.
        backends: The ids of the backends, the preferred one first.
        threads: How many threads a layer may use; None if it was not said.
    """

    library: str
    backends: tuple[str, ...] = field(default=())
    threads: int | None = None


def load_delegate(library: str, options: Mapping[str, object] | None = None) -> Delegate:
    """Return Arm NN's delegate, as its options describe it.

    Args:
        library: The name of a library that would be ``libarmnnDelegate.so``; it is not opened.
        options: Of the options of Arm NN's delegate, ``backends`` and ``number-of-threads`` count.

    Raises:
        ValueError: It is another library, or an option is wrong.
    """
    if _ARMNN not in PurePath(library).name:
        raise ValueError(
            f"Failed to load delegate from {library}\nit is made for another run time: backends "
            'take its place; load_delegate("libarmnnDelegate.so", {"backends": "CpuAcc,CpuRef"}) '
            "names them"
        )
    said = {str(key): str(value) for key, value in (options or {}).items()}
    threads = said.get("number-of-threads")
    if threads is not None and not threads.isdecimal():
        raise ValueError(
            f"Failed to load delegate from {library}\nnumber-of-threads is {threads!r}: expected a "
            "number"
        )
    names = (name.strip() for name in said.get("backends", "").split(","))
    return Delegate(
        library,
        tuple(name for name in names if name),
        None if threads is None else int(threads),
    )
