# SPDX-License-Identifier: MIT
"""Crashes of backends in the kit, kept for ``armnn doctor``."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from armnn._files import write_whole
from armnn._installing import CONFORMANCE
from armnn.backends.entries import BackendEntry
from armnn.backends.selection import environment, is_elevated
from armnn.layers import LAYERS
from armnn_backend_api.files import who_else_may_write

__all__ = ["Crash", "crash_file", "forget", "remember", "remembered", "remembered_crashes"]

_FORMAT: Final = 1
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Crash:
    """A case that ended the process of a backend.

    Attributes:
        backend: The id.
        origin: The module or file that it came from.
        version: Of its distribution, "" if it has none.
        case: The id of the case, "" if the backend was being loaded.
        ending: How the process ended, "SIGSEGV" for one.
        day: When, as YYYY-MM-DD.
    """

    backend: str
    origin: str
    version: str
    case: str
    ending: str
    day: str

    @property
    def layer(self) -> str:
        """The layer type that was tried."""
        return self.case.split("-")[0]

    def is_of(self, entry: BackendEntry) -> bool:
        """Return whether a backend crashed, in the same version."""
        mine = (self.backend, self.origin, self.version)
        return mine == (entry.id, entry.origin, entry.version)


def remembered_crashes(entries: Iterable[BackendEntry]) -> list[str]:
    """Return messages about backends' crashes, and how to forget them."""
    crashes = remembered()
    return [
        f"The conformance kit saw backend {entry.id!r} ({entry.owner}) crash on {crash.day}: "
        f"{crash.case or 'loading it'} ended with {crash.ending}; once that is mended, "
        f"{_command(crash)} forgets it."
        for entry in entries
        for crash in crashes
        if crash.is_of(entry)
    ]


def _command(crash: Crash) -> str:
    layers = f" --armnn-layers {crash.layer}" if crash.layer in LAYERS else ""
    wish = crash.origin if crash.origin.endswith(".so") else crash.backend
    return f"pytest --pyargs {CONFORMANCE} --armnn-backend {wish}{layers}"


def crash_file() -> Path | None:
    """Return the file of crashes, None if it is untrusted.

    ``$XDG_CACHE_HOME/armnn/crashes.json``, by default in ``~/.cache``.
    """
    if is_elevated():
        return None
    folder = environment("XDG_CACHE_HOME")
    if folder is None or not os.path.isabs(folder):
        folder = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(folder, "armnn", "crashes.json") if os.path.isabs(folder) else None


def remembered() -> tuple[Crash, ...]:
    """Return the crashes kept; unreadable or untrusted ones are none."""
    path = crash_file()
    try:
        if path is None or not is_ours_alone(path):
            return ()
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != _FORMAT:
            return ()
        rows = [Crash(**{name: str(text) for name, text in r.items()}) for r in document["crashes"]]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ()
    return tuple(rows)


def remember(entry: BackendEntry, case: str, ending: str) -> None:
    """Store a crash; an unwritable file is no error."""
    day = time.strftime("%Y-%m-%d")
    crash = Crash(entry.id, entry.origin, entry.version, case, ending, day)
    others = [row for row in remembered() if not (row.is_of(entry) and row.case == case)]
    _write([*others, crash][-_MOST:])


def forget(entry: BackendEntry, cases: Iterable[str]) -> None:
    """Let go of crashes whose cases were tried again."""
    kept = remembered()
    if not kept:
        return
    tried = dict.fromkeys((*cases, ""))  # a backend that was tried was also loaded
    left = [row for row in kept if not (row.is_of(entry) and row.case in tried)]
    if len(left) < len(kept):
        _write(left)


def _write(crashes: Sequence[Crash]) -> None:
    path = crash_file()
    if path is None:
        return
    document: dict[str, Any] = {"format": _FORMAT, "crashes": [asdict(row) for row in crashes]}
    with contextlib.suppress(OSError):
        write_whole(path, json.dumps(document))


def is_ours_alone(path: Path) -> bool:
    """Return whether only this user may write a file."""
    statuses = (path.stat(), path.parent.stat())
    return all(s.st_uid == os.geteuid() and not who_else_may_write(s) for s in statuses)
