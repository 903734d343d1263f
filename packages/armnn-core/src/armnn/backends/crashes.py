# SPDX-License-Identifier: MIT
"""Crashes that backends caused, in files that outlive the processes that they ended.

Three writers share the folder. The conformance kit stores the cases that crashed a backend, for
``armnn doctor``. A load writes a note, which the next start finds if the process is gone: a fault
that Python wrote down with the note counts, and so does a load that ends another process, too.
While a runtime isolates "auto", its backends are called through frames with their name, and
``faulthandler`` writes the frames of a fatal signal to a note of the process. SIGKILL, SIGINT and
a reboot leave notes as well, and never count.
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
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

from armnn._files import write_whole
from armnn.backends.calling import Frames
from armnn.backends.loading import BackendEntry
from armnn.backends.selection import environment, is_elevated
from armnn.installing import CONFORMANCE
from armnn_backend_api.files import FileState, who_else_may_write

__all__ = [
    "Crash",
    "CrashRecord",
    "Downfall",
    "LostWorker",
    "UseNote",
    "blame",
    "crash_file",
    "crash_records",
    "downfalls",
    "forget",
    "forget_crash",
    "forget_downfall",
    "forget_lost_workers",
    "lost_workers",
    "noted_load",
    "remember",
    "remember_lost_worker",
    "remembered",
    "remembered_crashes",
]


_FORMAT: Final = 1
_MOST_CRASHES: Final = 100


@dataclass(frozen=True, slots=True)
class Crash:
    """A case that ended the process of a backend.

    Attributes:
        backend: The id.
        origin: The module or file that it came from.
        version: The version of its distribution, "" if it has none.
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
        f"{crash.case or 'loading it'} ended with {crash.ending}; once the backend is repaired, "
        f"{_command(crash)} forgets it."
        for entry in entries
        for crash in crashes
        if crash.is_of(entry)
    ]


def _command(crash: Crash) -> str:
    from armnn.layers import LAYERS  # late: a prepared load imports no layer table

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
    """Store a crash; an unwritable file is not an error."""
    day = time.strftime("%Y-%m-%d")
    crash = Crash(entry.id, entry.origin, entry.version, case, ending, day)
    others = [row for row in remembered() if not (row.is_of(entry) and row.case == case)]
    _write([*others, crash][-_MOST_CRASHES:])


def forget(entry: BackendEntry, cases: Iterable[str]) -> None:
    """Remove crashes whose cases were tried again."""
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
    """Return whether only this user may write a path and its folder."""
    statuses = (path.stat(), path.parent.stat())
    return all(s.st_uid == os.geteuid() and not who_else_may_write(s) for s in statuses)


_FAULTS: Final = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Floating point exception": "SIGFPE",
    "Illegal instruction": "SIGILL",
}
_FATAL: Final = "Fatal Python error: "
_MOST_NOTES: Final = 200
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
        text: The event, in words.
        day: When, as YYYY-MM-DD.
    """

    backend: str
    origin: str
    text: str
    day: str


def remember_lost_worker(backend: str, origin: str, text: str) -> None:
    """Store the last fault of an isolated backend, if possible."""
    folder = _notes_folder()
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
    for path in _own_files(f"*{_LOST}"):
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
            row = json.loads(path.read_text(encoding="utf-8"))
            found.append(LostWorker(**{name: str(text) for name, text in row.items()}))
    return found


def forget_lost_workers() -> None:
    """Forget the faults of isolated backends."""
    for path in _own_files(f"*{_LOST}"):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _own_files(pattern: str) -> list[Path]:
    """Return files of the journal, unless others may write it."""
    folder = _notes_folder()
    try:
        if folder is None or not is_ours_alone(folder):
            return []
        return sorted(folder.glob(pattern))[:_MOST_NOTES]
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
    folder = _notes_folder()
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
    folder = _notes_folder()
    try:
        if folder is None or not is_ours_alone(folder):
            return {}
        notes = sorted(folder.glob("*.note"))[:_MOST_NOTES]
        for note in notes:
            _judge_note(note, judge)
        rows = [_read(path) for path in sorted(folder.glob("*.down"))[:_MOST_NOTES]]
    except OSError:
        return {}
    found = [row for row in rows if row is not None and row.is_current]
    return {each.path: each for each in found}


def forget_crash(path: str) -> None:
    """Let a file be loaded again."""
    folder = _notes_folder()
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
        if _is_alive(row):
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
    if not text.startswith(_FATAL):
        return ""
    return _signal_of(text.removeprefix(_FATAL).partition("\n")[0])


def _signal_of(fault: str) -> str:
    """Return the signal that ``faulthandler`` calls so."""
    return _FAULTS.get(fault, fault)


def this_process() -> dict[str, Any]:
    """Return the facts about this process for a note."""
    return {"pid": os.getpid(), "began": _beginning_of(os.getpid()), "boot": _boot()}


def _is_alive(row: dict[str, Any]) -> bool:
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


def _notes_folder() -> Path | None:
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


_FRAME: Final = re.compile(r'  File "(?P<file>.+)", line (?P<line>\d+) in (?P<name>.+)')
_BACKEND: Final = re.compile(r"<backend (?P<id>[^>]+)>")
_SUFFIX: Final = ".use"
_LONGEST_NOTE: Final = 1 << 20
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
    folder = _notes_folder()
    for path in [] if folder is None else _own_files(f"*{_SUFFIX}"):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_LONGEST_NOTE)
            head, _, rest = text.partition("\n")
            if _is_alive(json.loads(head)):
                continue
            path.unlink(missing_ok=True)
            _judge(rest)


def _open() -> None:
    """Open the note of this process.

    Raises:
        OSError: It cannot be written.
    """
    folder = _notes_folder()
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
    _Note.file.write(json.dumps(this_process()) + "\n")
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
        ValueError: It is not a note, as KeyError and TypeError.
    """
    head, fatal, trace = text.partition(_FATAL)
    rows = [json.loads(line) for line in head.splitlines() if line]
    origins = {str(row["backend"]): str(row["origin"]) for row in rows}
    ending, _, frames = trace.partition("\n")
    threads = [each.strip("\n") for each in frames.split("\n\n")]
    current = next((each for each in threads if each.startswith("Current thread")), "")
    found = _first(current, origins) or _first("\n".join(threads), origins, only=True)
    if fatal and found is not None:
        backend, where = found
        fault = _signal_of(ending)
        remember_lost_worker(
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
