# SPDX-License-Identifier: MIT
"""The cache of probe outcomes, which says how files behaved when they were tried in a process.

An outcome is valid for one path, for the bytes of the file and of the libraries that are mapped
with it, and for one version each of the Backend API, this loader and Python. Files count as
unchanged if their device, inode, size and times are, or else if the sha256 of each is. An outcome
that may differ although none of these has changed is not kept; one of a timeout is kept for a day.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from armnn.backends import BACKEND_API_VERSION, BackendVersion
from armnn.backends.sources import environment, is_elevated
from armnn_backend_api.files import who_else_may_write
from armnn_dynamic_loader.__about__ import __version__
from armnn_dynamic_loader.files import FileRecord
from armnn_dynamic_loader.probe import Outcome

TIMEOUT_LIFE_SECONDS: Final = 24 * 60 * 60.0
"""For how long a file whose probe took too long is not tried again."""

_FORMAT: Final = 3
_LARGEST: Final = 2000
_MADE_WITH: Final = [
    str(BACKEND_API_VERSION),
    __version__,
    f"{sys.implementation.name} {sys.version.split()[0]}",
]

_log = logging.getLogger(__name__)


def cache_file() -> Path | None:
    """Return the path of the cache, None if this process may trust no cache.

    ``$XDG_CACHE_HOME/armnn/probes.json``, by default in ``~/.cache``.
    """
    if is_elevated():
        return None
    folder = environment("XDG_CACHE_HOME")
    if folder is None or not os.path.isabs(folder):
        folder = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(folder, "armnn", "probes.json") if os.path.isabs(folder) else None


class ProbeCache:
    """The outcomes of one user's probes."""

    def __init__(self, path: Path | None, *, is_twice: bool = False) -> None:
        """Read the cache; an unreadable or untrusted one counts as empty.

        Args:
            path: The file; None to keep nothing.
            is_twice: Whether each file is tried twice, the second time beside the libraries of this
                process.
        """
        self._path = path
        self._kind = "twice" if is_twice else "once"
        self._rows: dict[str, Any] = self._read()

    def find(self, record: FileRecord, timeout: float) -> tuple[Outcome, str] | None:
        """Return the outcome and sha256 for a file's present bytes.

        Args:
            record: The file; without its sha256 only an unchanged state shows the same bytes.
            timeout: How many seconds it would be given now.
        """
        row = self._rows.get(self._key(record))
        if not isinstance(row, dict) or record.state is None:
            return None
        try:
            outcome = _outcome(row["outcome"])
            is_same = row["state"] == _state_of(record)
            if not is_same and (outcome.is_timeout or not _has_bytes(record, row["digests"])):
                return None
            sha256, given = row["sha256"], float(row["timeout"])
            age = time.time() - float(row["time"])
            is_stale = not 0 <= age < TIMEOUT_LIFE_SECONDS or timeout > given
            if not isinstance(sha256, str) or (outcome.is_timeout and is_stale):
                return None
            return outcome, sha256
        except (KeyError, TypeError, ValueError):
            return None

    def keep(self, found: Mapping[FileRecord, tuple[Outcome, str]], timeout: float) -> None:
        """Store probe outcomes; an unwritable cache is not an error.

        Args:
            found: The outcome and the sha256 of each.
            timeout: How many seconds each was given.
        """
        rows = {
            self._key(record): {
                "state": _state_of(record),
                "digests": _digests_of(record),
                "sha256": sha256,
                "time": time.time(),
                "timeout": timeout,
                "outcome": asdict(outcome),
            }
            for record, (outcome, sha256) in found.items()
            if not outcome.depends_on_machine
        }
        if rows and self._path is not None:
            self._rows = {**self._read(), **rows}  # another process may have written meanwhile
            self._rows = dict(list(self._rows.items())[-_LARGEST:])
            try:
                self._write(self._path)
            except OSError as error:
                _log.debug("outcomes of probes cannot be kept in %s: %s", self._path, error)

    def _key(self, record: FileRecord) -> str:
        return json.dumps([record.path, self._kind, *_MADE_WITH])

    def _read(self) -> dict[str, Any]:
        if self._path is None:
            return {}
        try:
            # Without O_NONBLOCK, a FIFO in its place would keep a runtime from starting.
            with open(os.open(self._path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                if not all(
                    map(_is_ours_alone, (os.fstat(file.fileno()), self._path.parent.stat()))
                ):
                    _log.warning("%s is ignored: others may write it.", self._path)
                    return {}
                document = json.load(file)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            _log.debug("%s cannot be read: %s", self._path, error)
            return {}
        is_known = isinstance(document, dict) and document.get("format") == _FORMAT
        rows = document.get("verdicts") if is_known else None
        return rows if isinstance(rows, dict) else {}

    def _write(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with open(descriptor, "w") as file:
                json.dump({"format": _FORMAT, "verdicts": self._rows}, file)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def _state_of(record: FileRecord) -> list[Any]:
    """Return the states of a file and its libraries."""
    return [list(record.state or ()), *([each.path, list(each.state)] for each in record.needed)]


def _digests_of(record: FileRecord) -> list[Any]:
    """Return the sha256 of a file and of its libraries."""
    return [record.sha256, *([each.path, each.sha256] for each in record.needed)]


def _has_bytes(record: FileRecord, digests: object) -> bool:
    """Return whether a file and its libraries have these sha256."""
    return record.sha256 is not None and _digests_of(record) == digests


def _outcome(row: dict[str, Any]) -> Outcome:
    """Return the outcome of a row.

    Raises:
        TypeError: A value has another type than the outcome's.
    """
    version = row["api_version"]
    needed = None if version is None else BackendVersion(**version)
    outcome = Outcome(**{**row, "api_version": needed})
    for name, value in asdict(Outcome()).items():
        if name != "api_version" and type(getattr(outcome, name)) is not type(value):
            raise TypeError(f"{name} is {getattr(outcome, name)!r}")
    return outcome


def _is_ours_alone(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not who_else_may_write(status)
