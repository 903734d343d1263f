# SPDX-License-Identifier: MIT
"""Probes files, each in its own process, several at once.

The process is a fresh interpreter, never a fork: threads and locks of this process must not be in
it. Whatever a file does to it, this process only reads its messages and exit status.
"""

from __future__ import annotations

import os
import selectors
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from armnn.processes import Ending, signal_name
from armnn_backend_api import BackendVersion
from armnn_backend_api.memory import printable
from armnn_dynamic_loader.child import LARGEST_MEMORY
from armnn_dynamic_loader.child_process import ChildProcess
from armnn_dynamic_loader.outcome import Outcome

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


def try_out(paths: Iterable[str], timeout: float, beside: Sequence[str] = ()) -> dict[str, Outcome]:
    """Try files out; return what came of each, by path.

    All of them together take twice the time of one at most: files that hang or wait for something
    do not keep others from being started.

    Args:
        paths: Canonical paths.
        timeout: Seconds that each may take.
        beside: Libraries that each process opens first.
    """
    waiting = deque(dict.fromkeys(paths))
    outcomes = dict.fromkeys(waiting, Outcome())
    running: dict[ChildProcess, float] = {}
    began = time.monotonic()
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and _may_start(running):
                    path = waiting.popleft()
                    if time.monotonic() - began > timeout:
                        outcomes[path] = _out_of_time(len(outcomes), timeout)
                        continue
                    try:
                        child = ChildProcess(path, timeout, beside)
                    except OSError as error:
                        outcomes[path] = _not_started(error)
                    else:
                        child.register(selector)
                        running[child] = time.monotonic()
                _wait(selector, running, is_waiting=bool(waiting))
                for child in tuple(running):
                    ending = child.poll()
                    if ending is not None:
                        del running[child]
                        outcomes[child.path] = _outcome(child, ending, timeout)
                        child.close(selector)
        finally:
            for child in running:
                child.close(selector)
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


def _may_start(running: dict[ChildProcess, float]) -> bool:
    """Return whether one more process leaves the others their time."""
    now = time.monotonic()
    young = sum(now - start < _YOUNG_SECONDS for start in running.values())
    return len(running) < _MOST_AT_ONCE and young < max(4, 2 * (os.cpu_count() or 1))


def _wait(
    selector: selectors.BaseSelector, running: dict[ChildProcess, float], *, is_waiting: bool
) -> None:
    """Wait until a child reports, ends or exceeds its time."""
    if running:
        waits = [child.patience for child in running]
        if is_waiting:
            waits.append(_YOUNG_SECONDS)
        for key, _ in selector.select(min(each for each in waits if each is not None)):
            key.data.hear(selector, key.fd)


def _outcome(child: ChildProcess, ending: Ending, timeout: float) -> Outcome:
    told = child.told()
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
    """Return the last line of stderr, which says most."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f" (stderr: {lines[-1][:_SHOWN]!r})" if lines else ""
