# SPDX-License-Identifier: MIT
"""What happened to a worker, for people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from armnn_backend_api.memory import printable

_FRAME: Final = re.compile(
    r'^  File "(?P<file>[^"]{1,500})", line (?P<line>\d{1,9}) in (?P<name>.+)$'
)

_LONGEST_NAME: Final = 500


@dataclass(frozen=True, slots=True)
class Fault:
    """The end of a worker.

    Attributes:
        backend: The id of the backend.
        file: Where the backend came from: a module, a library, or the command of a board.
        ending: How the process ended, or what it did: "SIGSEGV" for one.
        frame: The innermost Python frame of the worker, "" if it is not known.
        layer: What it was doing, "" if nothing.
        call: Which call of the layer it was, from 1; 0 if it was none.
    """

    backend: str
    file: str
    ending: str
    frame: str = ""
    layer: str = ""
    call: int = 0

    def __str__(self) -> str:
        doing = f" in call {self.call} of {self.layer!r}" if self.call else ""
        if self.layer and not self.call:
            doing = f" while it had to {self.layer}"
        frame = f", at {self.frame}" if self.frame else ""
        return f"the worker of backend {self.backend!r} ({self.file}) {self.ending}{doing}{frame}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "backend": self.backend,
            "file": self.file,
            "ending": self.ending,
            "frame": self.frame,
            "layer": self.layer,
            "call": self.call,
        }


def frame_in(errors: bytes) -> str:
    """Return the innermost frame that ``faulthandler`` wrote last."""
    _, found, trace = errors.decode(errors="replace").rpartition("Fatal Python error: ")
    if not found:
        return ""
    for line in trace.splitlines():
        match = _FRAME.match(line)
        if match is not None:
            return printable(f"{match['file']}:{match['line']} in {match['name'][:_LONGEST_NAME]}")
    return ""
