# SPDX-License-Identifier: MIT
"""A process that probes a file: start, messages and end."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import armnn_backend_api
from armnn.processes import Bounds, Child, Ending, PythonCall
from armnn_backend_api import BACKEND_API_VERSION
from armnn_dynamic_loader import questions
from armnn_dynamic_loader.child import LARGEST_MEMORY, LARGEST_OUTPUT

FUNCTION: Final = "armnn_dynamic_loader.child.probing:main"
"""What the child runs, with :func:`search_path` as its import path."""

_LARGEST_REPORT: Final = 1 << 16
_LARGEST_TEXT: Final = 4096


class ChildProcess:
    """A fresh interpreter that tries one file out.

    Attributes:
        path: The file.
    """

    def __init__(self, path: str, timeout: float, beside: Sequence[str] = ()) -> None:
        """Start it.

        Args:
            path: The file.
            timeout: Seconds that it may take.
            beside: Libraries that it opens first.

        Raises:
            OSError: It cannot be started.
        """
        self.path = path
        self._nonce = secrets.token_hex(16)
        self._report = bytearray()
        with contextlib.ExitStack() as undo:
            self._pipe, write_end = os.pipe()
            undo.callback(os.close, self._pipe)
            os.set_blocking(self._pipe, False)
            request = {
                "path": path,
                "beside": list(beside),
                "descriptor": write_end,
                "nonce": self._nonce,
                "api_version": [BACKEND_API_VERSION.major, BACKEND_API_VERSION.minor],
                "layers": questions.layers(),
                "envelope": questions.ENVELOPE,
                "search_path": [folder for folder in sys.path if folder],
            }
            # A BLAS reserves memory for each processor.
            memory = None if beside else LARGEST_MEMORY
            bounds = Bounds(seconds=timeout, memory=memory, output=LARGEST_OUTPUT)
            try:
                self._child = Child(
                    PythonCall(FUNCTION, [request], search_path()), bounds, descriptors=[write_end]
                )
            finally:
                os.close(write_end)
            undo.enter_context(self._child)
            self._undo = undo.pop_all()

    def register(self, selector: selectors.BaseSelector) -> None:
        """Let the selector wake when it reports something or ends."""
        selector.register(self._pipe, selectors.EVENT_READ, self)
        selector.register(self._child.fileno(), selectors.EVENT_READ, self)

    @property
    def patience(self) -> float | None:
        """Seconds until it must be checked without a selector event."""
        return self._child.patience

    def hear(self, selector: selectors.BaseSelector, descriptor: int) -> None:
        """Read the child's messages after the selector woke for it."""
        if descriptor == self._pipe and not self._read_report():
            selector.unregister(descriptor)

    def poll(self) -> Ending | None:
        """Return how it ended, None while it runs."""
        return self._child.poll()

    def told(self) -> dict[str, Any]:
        """Return what it reported by kind, the last of each."""
        self._read_report()
        told: dict[str, Any] = {}
        for line in bytes(self._report).split(b"\n"):
            word, _, content = line.partition(b" ")
            if word == self._nonce.encode():  # anything else came from the file
                with contextlib.suppress(ValueError):
                    kind, value = json.loads(content)
                    told[kind] = value
        return told

    def close(self, selector: selectors.BaseSelector) -> None:
        """End it with all that it started; release its resources."""
        for descriptor in (self._pipe, self._child.fileno()):
            with contextlib.suppress(KeyError):  # it was heard to the end
                selector.unregister(descriptor)
        self._undo.close()

    def _read_report(self) -> bool:
        """Read what there is; return whether there may be more."""
        try:
            while piece := os.read(self._pipe, _LARGEST_TEXT):
                self._report += piece
                if len(self._report) > _LARGEST_REPORT:  # the file fills our pipe
                    return False
        except BlockingIOError:
            return True
        return False


def search_path() -> list[str]:
    """Return the import path for the child and armnn-backend-api."""
    modules = (__file__, armnn_backend_api.__file__)
    return list(dict.fromkeys(str(Path(module).parents[1]) for module in modules))
