# SPDX-License-Identifier: MIT
"""Probes files, each in its own process, several at once.

The process is a fresh interpreter, never a fork: threads and locks of this process must not be in
it. Whatever a file does to it, this process only reads its messages and exit status.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import armnn_backend_api
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion
from armnn_backend_api.memory import printable
from armnn_backend_api.processes import (
    Bounds,
    Ending,
    JsonChild,
    NoReplyError,
    signal_name,
    wait_for_any,
)
from armnn_backend_api.refusal import Refusal
from armnn_dynamic_loader import questions
from armnn_dynamic_loader.child import LARGEST_MEMORY, LARGEST_OUTPUT


@dataclass(frozen=True, slots=True)
class Outcome(Refusal):
    """The outcome of trying a file out.

    The stage is the step that went wrong, the reason says why the file must not be loaded.

    Attributes:
        id: The id that GetBackendId returned; empty if it was not reached.
        api_version: The Backend API version that it needs; None if that was not reached.
        version: The backend's own version.
        is_timeout: Whether it took too long.
        depends_on_machine: Whether the same file may fare differently when something else is
            installed or plugged in.
    """

    id: str = ""
    api_version: BackendVersion | None = None
    version: str = ""
    is_timeout: bool = False
    depends_on_machine: bool = False


FUNCTION: Final = "armnn_dynamic_loader.child.probing:main"
"""The program of the child, with :func:`search_path` as its import path."""

_DOING: Final = {
    "dlopen": "while it was loaded",
    "exports": "while its exports were looked up",
    "id": "in GetBackendId",
    "version": "in GetVersion",
    "factory": "in BackendFactory",
    "table": "while its table was read",
    "create": "in create",
    "describe": "in devices, capabilities, get_extension or network_event",
    "query": "in query",
    "compile": "in compile or context_create{of_layer}",
    "execute": "in execute{of_layer}",
    "guarded": "in execute{of_layer}, where its tensors end with the memory or are read-only",
    "threads": "in execute{of_layer}, in two threads at once",
    "serialize": "in serialize, check_blob or deserialize{of_layer}",
    "end": "while it was shut down",
}
_SHOWN: Final = 200
_MOST_AT_ONCE: Final = 64
_YOUNG_SECONDS: Final = 0.25
"""A process that takes longer than this waits for something, and counts no more as busy."""


@dataclass(frozen=True, slots=True)
class _Probe:
    """A process that tries one file out.

    Attributes:
        path: The file.
        child: The process.
        began: When it was started, as ``time.monotonic`` counts.
        told: Its reports, the last of each kind.
    """

    path: str
    child: JsonChild
    began: float
    told: dict[str, Any] = field(default_factory=dict)

    def take_reports(self) -> None:
        """Record a report of the child."""
        try:
            for report in self.child.replies():
                self.told.update(report)
        except NoReplyError as error:  # only a file that has read the memory of Python can do it
            self.told["defect"] = f"writes to a descriptor that is not its own: {error}"


def try_out(paths: Iterable[str], timeout: float, beside: Sequence[str] = ()) -> dict[str, Outcome]:
    """Try files out; return the outcome of each, by path.

    All of them together take twice the time of one at most: files that hang or wait for something
    do not keep others from being started.

    Args:
        paths: Canonical paths.
        timeout: Seconds that each may take.
        beside: Libraries that each process opens first.
    """
    waiting = deque(dict.fromkeys(paths))
    outcomes = dict.fromkeys(waiting, Outcome())
    running: list[_Probe] = []
    began = time.monotonic()
    try:
        while waiting or running:
            while waiting and _may_start(running):
                path = waiting.popleft()
                if time.monotonic() - began > timeout:
                    outcomes[path] = _out_of_time(len(outcomes), timeout)
                    continue
                try:
                    child = _started(path, timeout, beside)
                except OSError as error:
                    outcomes[path] = _not_started(error)
                else:
                    running.append(_Probe(path, child, time.monotonic()))
            _wait(running, is_waiting=bool(waiting))
            for probe in tuple(running):
                ending = probe.child.poll()
                probe.take_reports()
                if ending is not None:
                    running.remove(probe)
                    outcomes[probe.path] = _outcome(probe.told, ending, timeout)
                    probe.child.close()
    finally:
        for probe in running:
            probe.child.close()
    return outcomes


def try_out_beside(paths: Iterable[str], timeout: float) -> dict[str, Outcome]:
    """Try files out where this process' libraries are loaded, too."""
    tried = try_out(paths, timeout, mapped_libraries())
    where = ", beside the libraries that this process has loaded"
    return {
        path: replace(outcome, reason=outcome.reason + where) if outcome.reason else outcome
        for path, outcome in tried.items()
    }


def mapped_libraries() -> list[str]:
    """Return the shared libraries of this process, as mapped."""
    with open("/proc/self/maps", errors="surrogateescape") as maps:
        paths = dict.fromkeys(line.rstrip("\n").partition("/")[2] for line in maps if "/" in line)
    return [f"/{path}" for path in paths if ".so" in os.path.basename(path)]


def search_path() -> list[str]:
    """Return the import path for the child and armnn-backend-api."""
    modules = (__file__, armnn_backend_api.__file__)
    return list(dict.fromkeys(str(Path(module).parents[1]) for module in modules))


def _started(path: str, timeout: float, beside: Sequence[str]) -> JsonChild:
    """Start a fresh interpreter that tries one file out.

    Raises:
        OSError: It cannot be started.
    """
    request = {
        "path": path,
        "beside": list(beside),
        "api_version": [BACKEND_API_VERSION.major, BACKEND_API_VERSION.minor],
        "layers": questions.layers(),
        "envelope": questions.ENVELOPE,
        "search_path": [folder for folder in sys.path if folder],
    }
    # A BLAS reserves memory for each processor.
    memory = None if beside else LARGEST_MEMORY
    bounds = Bounds(seconds=timeout, memory=memory, output=LARGEST_OUTPUT)
    return JsonChild(FUNCTION, request, bounds, path=search_path())


def _may_start(running: Sequence[_Probe]) -> bool:
    """Return whether one more process leaves the others their time."""
    now = time.monotonic()
    young = sum(now - probe.began < _YOUNG_SECONDS for probe in running)
    return len(running) < _MOST_AT_ONCE and young < max(4, 2 * (os.cpu_count() or 1))


def _wait(running: Sequence[_Probe], *, is_waiting: bool) -> None:
    """Wait until a child reports, ends or exceeds its time."""
    if running:
        waits = [probe.child.seconds_left for probe in running]
        if is_waiting:
            waits.append(_YOUNG_SECONDS)
        seconds = min(each for each in waits if each is not None)
        wait_for_any((probe.child for probe in running), seconds)


def _outcome(told: dict[str, Any], ending: Ending, timeout: float) -> Outcome:
    version = told.get("api_version")
    known = Outcome(
        id=told.get("id", ""),
        api_version=None if version is None else BackendVersion(*version),
        version=told.get("version", ""),
        stage=told.get("step", "probe"),
    )
    errors = ending.errors.decode(errors="replace")
    if "defect" in told:
        is_missing = known.stage == "dlopen" and "cannot be opened" in told["defect"]
        return replace(known, reason=told["defect"], depends_on_machine=is_missing)
    if ending.cause != "ended":
        reason = f"{_bounded(ending, timeout)} {_doing(known.stage, told)}"
        return replace(known, reason=reason, is_timeout=ending.cause == "deadline")
    status = ending.status or 0
    if status < 0:
        reason = f"crashed with {ending} {_doing(known.stage, told)}{_quoted(errors)}"
        return replace(known, reason=reason)
    if ending.output:
        text = ending.output.decode(errors="replace")[:_SHOWN]
        return replace(known, reason=f"prints to stdout: {text!r}")
    if status or not ({"passed", "unavailable"} & told.keys()):
        return replace(known, **_exited(known.stage, told, status, errors))
    if ending.left:
        names = ", ".join(map(repr, map(printable, ending.left)))
        return replace(known, reason=f"leaves processes behind: {names}")
    return replace(known, stage="", depends_on_machine="unavailable" in told)


def _bounded(ending: Ending, timeout: float) -> str:
    return {
        "deadline": f"did not come back within {timeout:g} s",
        "memory": f"took more than {LARGEST_MEMORY >> 20} MiB of memory",
        "signalled": f"sent {signal_name(ending.sent)} to its parent process",
        "guard": "killed its parent process",
    }.get(ending.cause, "was ended")


def _exited(stage: str, told: dict[str, Any], status: int, errors: str) -> dict[str, Any]:
    if stage not in _DOING:
        reason = f"cannot be tried out: the process ended with status {status}{_quoted(errors)}"
        return {"reason": reason, "depends_on_machine": True}
    doing = _doing(stage, told)
    return {"reason": f"ended the process with exit({status}) {doing}{_quoted(errors)}"}


def _out_of_time(count: int, timeout: float) -> Outcome:
    reason = f"was not tried out: {count} files took the {timeout:g} s that a start may wait"
    return Outcome(stage="probe", reason=reason, is_timeout=True, depends_on_machine=True)


def _not_started(error: OSError) -> Outcome:
    reason = f"cannot be tried out, as no process can be started: {error}"
    return Outcome(stage="probe", reason=reason, depends_on_machine=True)


def _doing(stage: str, told: dict[str, Any]) -> str:
    of_layer = f" of {told['layer']}" if "layer" in told else ""
    return _DOING.get(stage, "before it was loaded").format(of_layer=of_layer)


def _quoted(errors: str) -> str:
    """Return the last line of stderr, which has the error."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f" (stderr: {lines[-1][:_SHOWN]!r})" if lines else ""
