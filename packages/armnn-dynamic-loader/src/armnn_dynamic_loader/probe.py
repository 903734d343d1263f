# SPDX-License-Identifier: MIT
"""Probes files, each in its own process, several at once.

The process is a fresh interpreter, never a fork: threads and locks of this process must not be in
it. Whatever a file does to it, this process only reads its messages and exit status.
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from armnn_backend_api import BackendVersion
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
    "query": "in query",
    "compile": "in compile or context_create",
    "execute": "in execute",
    "end": "while it was shut down",
}
_SHOWN: Final = 200


def try_out(paths: Iterable[str], timeout: float) -> dict[str, Outcome]:
    """Try files out; return what came of each, by path.

    Args:
        paths: Canonical paths.
        timeout: Seconds that each may take.
    """
    waiting = deque(dict.fromkeys(paths))
    outcomes = dict.fromkeys(waiting, Outcome())
    running: list[ChildProcess] = []
    at_once = max(4, 2 * (os.cpu_count() or 1))
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    path = waiting.popleft()
                    try:
                        child = ChildProcess(path, timeout)
                    except OSError as error:
                        outcomes[path] = _not_started(error)
                    else:
                        child.register(selector)
                        running.append(child)
                _wait(selector, running)
                for child in tuple(running):
                    is_late = time.monotonic() >= child.deadline
                    if child.has_ended() or is_late:
                        running.remove(child)
                        status = child.close(selector)
                        outcomes[child.path] = _outcome(child, status, timeout)
        finally:
            for child in running:
                child.close(selector)
                child.dispose()
    return outcomes


def _wait(selector: selectors.BaseSelector, running: list[ChildProcess]) -> None:
    """Wait until a child reports, ends or exceeds its time."""
    if running:
        for key, _ in selector.select(min(child.patience for child in running)):
            key.data.hear(selector, key.fd)


def _outcome(child: ChildProcess, status: int | None, timeout: float) -> Outcome:
    told = child.told()
    output, errors = child.dispose()
    version = told.get("api_version")
    known = Outcome(
        id=told.get("id", ""),
        api_version=None if version is None else BackendVersion(*version),
        version=told.get("version", ""),
        stage=told.get("step", "probe"),
    )
    if "defect" in told:
        is_missing = known.stage == "dlopen" and "cannot be opened" in told["defect"]
        return replace(known, reason=told["defect"], depends_on_machine=is_missing)
    if status is None:
        reason = f"did not come back within {timeout:g} s {_doing(known.stage)}"
        return replace(known, reason=reason, is_timeout=True)
    if status < 0:
        reason = f"crashed with {_signal_name(-status)} {_doing(known.stage)}{_quoted(errors)}"
        return replace(known, reason=reason)
    if output:
        return replace(known, reason=f"prints to stdout: {output[:_SHOWN]!r}")
    if status or not ({"passed", "unavailable"} & told.keys()):
        return replace(known, **_exited(known.stage, status, errors))
    return replace(known, stage="", depends_on_machine="unavailable" in told)


def _exited(stage: str, status: int, errors: str) -> dict[str, Any]:
    if stage not in _DOING:
        reason = f"cannot be tried out: the process ended with status {status}{_quoted(errors)}"
        return {"reason": reason, "depends_on_machine": True}
    return {"reason": f"ended the process with exit({status}) {_doing(stage)}{_quoted(errors)}"}


def _not_started(error: OSError) -> Outcome:
    reason = f"cannot be tried out, as no process can be started: {error}"
    return Outcome(stage="probe", reason=reason, depends_on_machine=True)


def _doing(stage: str) -> str:
    return _DOING.get(stage, "before it was loaded")


def _quoted(errors: str) -> str:
    """Return the last line of stderr, which says most."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f" (stderr: {lines[-1][:_SHOWN]!r})" if lines else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
