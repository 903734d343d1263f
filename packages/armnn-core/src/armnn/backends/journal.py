# SPDX-License-Identifier: MIT
"""Notes of loads, which outlive the processes they end.

The next start finds the notes of processes that are gone. A fault that Python wrote down with the
note counts, and so does a load that ends another process, too. SIGKILL, SIGINT and a reboot leave
notes as well, and never count.
"""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from armnn.backends.crashes import crash_file
from armnn_backend_api.files import FileState, who_else_may_write

__all__ = [
    "CrashRecord",
    "Downfall",
    "LostWorker",
    "crash_records",
    "downfalls",
    "forget_crash",
    "forget_downfall",
    "forget_lost_workers",
    "lost_workers",
    "noted_load",
    "remember_lost_worker",
]

_FAULTS: Final = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Floating point exception": "SIGFPE",
    "Illegal instruction": "SIGILL",
}
FATAL: Final = "Fatal Python error: "
_MOST: Final = 200
_LOST: Final = ".lost"
_numbers: Final = itertools.count()


@dataclass(frozen=True, slots=True)
class CrashRecord:
    """A file that took a process down.

    Attributes:
        path: The file.
        state: Its device, inode, size and modification time then.
        ending: How the process ended, "SIGABRT" for one.
        day: When, as YYYY-MM-DD.
    """

    path: str
    state: list[int]
    ending: str
    day: str

    @property
    def is_current(self) -> bool:
        """Whether the file is still the same."""
        return _state_of(self.path) == self.state


@dataclass(frozen=True, slots=True)
class LostWorker:
    """A backend's fault that ended a worker or a program.

    Attributes:
        backend: Its id.
        origin: Its module or file.
        text: What happened.
        day: When, as YYYY-MM-DD.
    """

    backend: str
    origin: str
    text: str
    day: str


def remember_lost_worker(backend: str, origin: str, text: str) -> None:
    """Store the last fault of an isolated backend, if possible."""
    folder = notes_folder()
    if folder is None:
        return
    row = LostWorker(backend, origin, text, time.strftime("%Y-%m-%d"))
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = _row_of(folder, f"{backend} {origin}").with_suffix(_LOST)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(asdict(row)), encoding="utf-8")
        unfinished.replace(path)


def lost_workers() -> list[LostWorker]:
    """Return the last fault of each backend that ended processes."""
    found = []
    for path in own_files(f"*{_LOST}"):
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
            row = json.loads(path.read_text(encoding="utf-8"))
            found.append(LostWorker(**{name: str(text) for name, text in row.items()}))
    return found


def forget_lost_workers() -> None:
    """Forget the faults of isolated backends."""
    for path in own_files(f"*{_LOST}"):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def own_files(pattern: str) -> list[Path]:
    """Return files of the journal, unless others may write it."""
    folder = notes_folder()
    try:
        if folder is None or not all(map(_is_ours_alone, (folder, folder.parent))):
            return []
        return sorted(folder.glob(pattern))[:_MOST]
    except OSError:
        return []


@contextlib.contextmanager
def noted_load(path: str) -> Iterator[None]:
    """Keep a note while a file is loaded, if possible.

    Args:
        path: The file.
    """
    with contextlib.ExitStack() as undo:
        with contextlib.suppress(OSError):
            _write_note(path, undo)
        yield


def _write_note(path: str, undo: contextlib.ExitStack) -> None:
    folder = notes_folder()
    if folder is None:
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    note = folder / f"{os.getpid()}-{next(_numbers)}.note"
    undo.callback(note.unlink, missing_ok=True)
    row = {"path": path, "state": _state_of(path), **this_process()}
    note.write_text(json.dumps(row) + "\n")
    if not faulthandler.is_enabled():
        file = undo.enter_context(note.open("a"))
        faulthandler.enable(file, all_threads=False)
        undo.callback(faulthandler.disable)


def crash_records(judge: Callable[[str], str]) -> dict[str, CrashRecord]:
    """Return the files that took a process down, by path.

    Args:
        judge: Loads a file in a process; returns how that ended, empty if nothing happened.
    """
    folder = notes_folder()
    try:
        if folder is None or not all(map(_is_ours_alone, (folder, folder.parent))):
            return {}
        notes = sorted(folder.glob("*.note"))[:_MOST]
        for note in notes:
            _judge_note(note, judge)
        rows = [_read(path) for path in sorted(folder.glob("*.down"))[:_MOST]]
    except OSError:
        return {}
    found = [row for row in rows if row is not None and row.is_current]
    return {each.path: each for each in found}


def forget_crash(path: str) -> None:
    """Let a file be loaded again."""
    folder = notes_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            _row_of(folder, path).unlink(missing_ok=True)


# The names that armnn-dynamic-loader 1.1 imports.
Downfall = CrashRecord
downfalls = crash_records
forget_downfall = forget_crash


def _judge_note(note: Path, judge: Callable[[str], str]) -> None:
    head, _, faults = note.read_text(encoding="utf-8", errors="replace").partition("\n")
    try:
        row: dict[str, Any] = json.loads(head)
        path, state = str(row["path"]), [int(each) for each in row["state"]]
        if is_alive(row):
            return  # it is being loaded
        is_judged = row["boot"] == _boot() and state == _state_of(path)
    except (ValueError, TypeError, KeyError, RecursionError):
        is_judged, path, state = False, "", []
    note.unlink(missing_ok=True)
    if is_judged:
        ending = _fault_in(faults) or judge(path)
        if ending:
            crash = CrashRecord(path, state, ending, time.strftime("%Y-%m-%d"))
            _row_of(note.parent, path).write_text(json.dumps(asdict(crash)), encoding="utf-8")


def _fault_in(text: str) -> str:
    if not text.startswith(FATAL):
        return ""
    return signal_of(text.removeprefix(FATAL).partition("\n")[0])


def signal_of(fault: str) -> str:
    """Return the signal that ``faulthandler`` calls so."""
    return _FAULTS.get(fault, fault)


def this_process() -> dict[str, Any]:
    """Return what a note says of its process."""
    return {"pid": os.getpid(), "began": _beginning_of(os.getpid()), "boot": _boot()}


def is_alive(row: dict[str, Any]) -> bool:
    """Return whether the process of a note still runs.

    Raises:
        ValueError: The note says nothing of it, as KeyError and TypeError.
    """
    return bool(row["boot"] == _boot() and row["began"] == _beginning_of(int(row["pid"])))


def _read(path: Path) -> CrashRecord | None:
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        state = [int(each) for each in row["state"]]
        return CrashRecord(str(row["path"]), state, str(row["ending"]), str(row["day"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def notes_folder() -> Path | None:
    """Return the folder of the notes, beside the kit's crashes."""
    crashes = crash_file()
    return None if crashes is None else crashes.with_name("loads")


def _row_of(folder: Path, path: str) -> Path:
    return folder / f"{sha256(os.fsencode(path)).hexdigest()[:32]}.down"


def _state_of(path: str) -> list[int]:
    try:
        return list(FileState.of(os.stat(path)).content)
    except OSError:
        return []


def _beginning_of(pid: int) -> str:
    """Return when a process began, in ticks since the boot."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _is_ours_alone(path: Path) -> bool:
    status = path.stat()
    return status.st_uid == os.geteuid() and not who_else_may_write(status)
