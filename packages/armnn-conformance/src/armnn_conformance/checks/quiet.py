# SPDX-License-Identifier: MIT
"""The check of the level *quiet*, in a fresh interpreter.

The backend is loaded, run and unloaded. It leaves no trace there: nothing on stdout and stderr, no
thread, no file descriptor, and the state that the process shares as it was.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from armnn_backend_api.process_state import ProcessState, kind_of
from armnn_backend_api.processes import Ending, PythonCall, run
from armnn_conformance.cases import covered_layers
from armnn_conformance.checks.child import CHILD_BOUNDS, CrashError
from armnn_conformance.checks.correctness import check_case, claimed_case
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject

GRACE_SECONDS = 2.0
"""How long threads may take to end after their runtime was closed."""

_MOST_OUTPUT = 3000
"""How many characters of the interpreter's output are shown: the stack of a crash fits."""
_TOLERATED = "changes the alternate signal stack"
"""OpenVINO's runtime sets one where there was none, as the registers of AMX need more room."""
_OWN_TASKS = Path("/proc/self/task")
_OWN_DESCRIPTORS = Path("/proc/self/fd")


def check_quiet(
    wish: str, layers: Iterable[str] | None = None, disturbed: Collection[str] = ()
) -> None:
    """Load, run and unload a backend in a fresh interpreter.

    Args:
        wish: The id of the backend, or the path of its file.
        layers: The layer types of which one claimed case each is run; all if left out.
        disturbed: The kinds of ``process_state.KINDS`` that the backend says its driver disturbs.

    Raises:
        CrashError: The interpreter died.
        NonconformityError: The backend left a trace.
    """
    named = list(covered_layers() if layers is None else layers)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        child = run(PythonCall(f"{__name__}:observe", [wish, str(report), named]), CHILD_BOUNDS)
        if not child.is_success:
            now = report.read_text(encoding="utf-8") if report.exists() else ""
            raise CrashError(now, str(child), _text(child))
        if child.output or child.errors:
            raise NonconformityError(f"the backend wrote to stdout or stderr: {_text(child)}")
        left = json.loads(report.read_text(encoding="utf-8"))
    changes = [
        each
        for each in left.pop("process")
        if each != _TOLERATED and kind_of(each) not in disturbed
    ]
    if changes:
        raise NonconformityError(f"the backend {', '.join(changes)}")
    for what, names in left.items():
        if names and what.rpartition(" ")[2] not in disturbed:
            raise NonconformityError(f"the backend left {what} after unload: {', '.join(names)}")


def observe(wish: str, report: str, layers: Iterable[str]) -> None:
    """Load, run and unload a backend; write the traces that it leaves.

    Args:
        wish: The id of the backend, or the path of its file.
        report: The path of the JSON file.
        layers: The layer types of which one claimed case each is run.
    """
    faulthandler.enable()
    threads_before, descriptors_before, before = _threads(), _descriptors(), ProcessState()
    with Subject(wish) as subject:
        for layer in layers:
            case = claimed_case(subject, layer)
            if case is not None:
                Path(report).write_text(case.id, encoding="utf-8")  # what crashes it, if it does
                check_case(subject, case)
    left = {
        "process": before.changes_to(ProcessState()),
        "threads": _stays(_threads, threads_before),
        "file descriptors": _stays(_descriptors, descriptors_before),
    }
    Path(report).write_text(json.dumps(left), encoding="utf-8")


def _stays(look: Callable[[], dict[str, str]], before: dict[str, str]) -> list[str]:
    """Return the names of new objects after a grace period."""
    deadline = time.monotonic() + GRACE_SECONDS
    gc.collect()  # what only cycles keep alive has been let go
    while True:
        new = [name for key, name in look().items() if key not in before]
        if not new or time.monotonic() > deadline:
            return new
        time.sleep(0.02)


def _threads() -> dict[str, str]:
    """Return the threads' names by number."""
    python = {str(thread.native_id): thread.name for thread in threading.enumerate()}
    if not _OWN_TASKS.is_dir():
        return python
    native = {task.name: _read(task / "comm") for task in _OWN_TASKS.iterdir()}
    return {number: python.get(number, name) for number, name in sorted(native.items())}


def _descriptors() -> dict[str, str]:
    """Return the targets of open file descriptors, where known."""
    if not _OWN_DESCRIPTORS.is_dir():
        return {}
    found = {}
    for name in sorted(os.listdir(_OWN_DESCRIPTORS), key=int):
        try:
            found[name] = os.readlink(_OWN_DESCRIPTORS / name)
        except FileNotFoundError:
            continue  # it was the one by which the folder was read
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return "a thread that has just ended"


def _text(child: Ending) -> str:
    output = (child.output + child.errors).decode(errors="replace").strip()
    return output[-_MOST_OUTPUT:]
