# SPDX-License-Identifier: MIT
"""Finds the backend that took a process down, for ``isolate="auto"``.

While a runtime isolates "auto", its backends are called through frames with their name, and
``faulthandler`` writes the frames of a fatal signal to a note of the process. The next process that
asks reads the notes of those that are gone. SIGKILL, SIGINT and reboots write no frames.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import itertools
import json
import logging
import os
import re
import threading
from pathlib import Path
from typing import IO, Final

from armnn.backends import journal
from armnn.backends.named_frames import Frames

_FRAME: Final = re.compile(r'  File "(?P<file>.+)", line (?P<line>\d+) in (?P<name>.+)')
_BACKEND: Final = re.compile(r"<backend (?P<id>[^>]+)>")
_SUFFIX: Final = ".use"
_LONGEST_NOTE: Final = 1 << 20
_numbers: Final = itertools.count()
_log: Final = logging.getLogger(__name__)


class _Note:
    """The note of this process, while a runtime needs it."""

    users = 0
    owner = 0
    file: IO[str] | None = None
    lock = threading.Lock()


class UseNote:
    """A runtime's part in the note of its process."""

    def __init__(self) -> None:
        """Open the note, if it can be written."""
        self._is_open = True
        self._added: set[tuple[str, str]] = set()
        with _Note.lock:
            _Note.users += 1
            if _Note.file is None:
                with contextlib.suppress(OSError):
                    _open()

    def add(self, backend_id: str, origin: str) -> None:
        """Note a backend before it is loaded."""
        with _Note.lock, contextlib.suppress(OSError):
            if _Note.file is not None and (backend_id, origin) not in self._added:
                self._added.add((backend_id, origin))
                row = {"backend": backend_id, "origin": origin}
                _Note.file.write(json.dumps(row) + "\n")
                _Note.file.flush()

    def close(self) -> None:
        """Remove the note, unless another runtime needs it."""
        with _Note.lock:
            _Note.users -= self._is_open
            self._is_open = False
            if not _Note.users:
                _remove()


def blame() -> None:
    """Remember the backends that took other processes down."""
    folder = journal.notes_folder()
    for path in [] if folder is None else journal.own_files(f"*{_SUFFIX}"):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_LONGEST_NOTE)
            head, _, rest = text.partition("\n")
            if journal.is_alive(json.loads(head)):
                continue
            path.unlink(missing_ok=True)
            _judge(rest)


def _open() -> None:
    """Open the note of this process.

    Raises:
        OSError: It cannot be written.
    """
    folder = journal.notes_folder()
    if folder is None:
        return
    if faulthandler.is_enabled():
        _log.warning(
            "isolate='auto' does not see which backend ends this process: faulthandler is in use "
            "already. Backends that ended others are isolated."
        )
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{os.getpid()}-{next(_numbers)}{_SUFFIX}"
    _Note.file = path.open("a", encoding="utf-8")
    _Note.owner = os.getpid()
    _Note.file.write(json.dumps(journal.this_process()) + "\n")
    _Note.file.flush()
    faulthandler.enable(_Note.file, all_threads=True)
    Frames.are_named = True
    atexit.register(_remove)


def _remove() -> None:
    file, _Note.file, Frames.are_named = _Note.file, None, False
    if file is None:
        return
    faulthandler.disable()
    atexit.unregister(_remove)
    with contextlib.suppress(OSError):
        file.close()
        if _Note.owner == os.getpid():
            Path(file.name).unlink(missing_ok=True)


def _judge(text: str) -> None:
    """Remember the backend that a note blames, if it does.

    Raises:
        ValueError: It is no note, as KeyError and TypeError.
    """
    head, fatal, trace = text.partition(journal.FATAL)
    rows = [json.loads(line) for line in head.splitlines() if line]
    origins = {str(row["backend"]): str(row["origin"]) for row in rows}
    ending, _, frames = trace.partition("\n")
    threads = [each.strip("\n") for each in frames.split("\n\n")]
    current = next((each for each in threads if each.startswith("Current thread")), "")
    found = _first(current, origins) or _first("\n".join(threads), origins, only=True)
    if fatal and found is not None:
        backend, where = found
        fault = journal.signal_of(ending)
        journal.remember_lost_worker(
            backend,
            origins[backend],
            f"backend {backend!r} ({origins[backend]}) ended its process with {fault}{where}",
        )


def _first(frames: str, origins: dict[str, str], *, only: bool = False) -> tuple[str, str] | None:
    """Return the innermost backend in frames, and where it was.

    Args:
        frames: As ``faulthandler`` writes them.
        origins: The backends.
        only: Whether there must be no other backend.
    """
    innermost, found = "", None
    for line in frames.splitlines():
        match = _FRAME.match(line)
        if match is None:
            innermost = ""
            continue
        backend = _BACKEND.fullmatch(match["file"])
        if backend is None:
            innermost = innermost or f", at {match['file']}:{match['line']} in {match['name']}"
        elif backend["id"] in origins:
            if found is None:
                found = backend["id"], f" in {match['name']}{innermost}"
            elif only and found[0] != backend["id"]:
                return None
    return found


__all__ = ["UseNote", "blame"]
