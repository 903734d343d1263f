# SPDX-License-Identifier: MIT
"""Child processes that answer by lines of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import select
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Self

from armnn.processes.bounds import Bounds, PythonCall
from armnn.processes.child import Child

if TYPE_CHECKING:
    from armnn.processes.bounds import Ending

_LONGEST_LINE: Final = 1 << 20
_LONGEST_FAULT: Final = 500


class SilenceError(Exception):
    """A child gave no answer; the text says why."""


class AnsweringChild:
    """A child process that answers by lines of JSON."""

    def __init__(
        self, function: str, request: Mapping[str, Any], seconds: float, *, is_asked: bool = False
    ) -> None:
        """Start it.

        Args:
            function: What it runs, as ``module:function``. It gets the request, the descriptor of
                the questions if it is asked, and that of its answers.
            request: Its first argument.
            seconds: How long it may live.
            is_asked: Whether it reads questions.
        """
        with contextlib.ExitStack() as undo, contextlib.ExitStack() as theirs:
            # Each end is closed once: its number may be another child's a moment later.
            self._answers, writes = os.pipe()
            undo.callback(os.close, self._answers)
            theirs.callback(os.close, writes)
            inherited = [writes]
            if is_asked:
                reads, self._questions = os.pipe()
                undo.callback(os.close, self._questions)
                theirs.callback(os.close, reads)
                inherited = [reads, writes]
            call = PythonCall(function, [dict(request), *inherited])
            self._child = undo.enter_context(
                Child(call, Bounds(seconds=max(seconds, 0.1)), descriptors=inherited)
            )
            self._read = bytearray()
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it."""
        self._undo.close()

    def ask(self, question: float) -> dict[str, Any]:
        """Return the answer to a number.

        Raises:
            SilenceError: It has ended, or what it says is not an answer.
        """
        with contextlib.suppress(BrokenPipeError):
            os.write(self._questions, f"{question}\n".encode())
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Return the next line.

        Raises:
            SilenceError: It has ended, or says something else.
        """
        while b"\n" not in self._read:
            poll = select.poll()
            poll.register(self._answers, select.POLLIN)
            patience = self._child.patience
            ready = poll.poll(None if patience is None else patience * 1000)
            piece = os.read(self._answers, 1 << 16) if ready else b""
            self._read += piece
            if not piece or len(self._read) > _LONGEST_LINE:
                raise SilenceError(
                    _ending_text(self._child.wait() if ready else self._child.kill())
                )
        line, _, rest = bytes(self._read).partition(b"\n")
        self._read[:] = rest
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SilenceError("answered what is no answer") from error
        if not isinstance(row, dict):
            raise SilenceError("answered what is no answer")
        return row


def _ending_text(ending: Ending | None) -> str:
    """Return how a silent child ended, with its last words."""
    if ending is None or ending.is_success:
        return "ended without an answer"
    words = ending.errors.decode(errors="replace").strip().splitlines()[-1:]
    last = "".join(each if each.isprintable() else "?" for each in "".join(words))[:200]
    return f"its process ended with {ending}{f': {last}' if last else ''}"


def questions_of(descriptor: int) -> Iterator[float]:
    """Yield the numbers that a child is asked."""
    with open(descriptor) as lines:
        for line in lines:
            yield float(line)


def speaker(descriptor: int) -> Callable[..., None]:
    """Return a function that sends an answer, its keywords."""

    def say(**row: object) -> None:
        os.write(descriptor, json.dumps(row).encode() + b"\n")

    return say


def line_of(error: BaseException) -> str:
    """Return an error as one printable line."""
    words = " ".join(str(error).split())
    return "".join(each if each.isprintable() else "?" for each in words)[:_LONGEST_FAULT]
