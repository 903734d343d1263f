# SPDX-License-Identifier: MIT
"""The worker's side of lanes: a thread per bound step."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

from armnn.backends.control import RunControl, controlled
from armnn.isolation import layout
from armnn.isolation.codec import encoded_error

_TEXT_LIMIT: Final = layout.ANSWER_BYTES - layout.TEXT_AT


class ServedLane:
    """Runs a step whenever the host asks for it."""

    def __init__(
        self,
        step: Callable[[], object],
        command: memoryview,
        answer: memoryview,
        wake: int,
        done: int,
    ) -> None:
        """Start the thread.

        Args:
            step: The step.
            command: The host's block.
            answer: The worker's block.
            wake: The eventfd by which the host wakes it; it is closed at the end.
            done: The eventfd by which it answers; it is closed at the end.
        """
        self._step = step
        self._command = layout.words_of(command, layout.COMMAND_BYTES)
        self._answer = layout.words_of(answer, layout.TEXT_AT)
        self._text = answer[layout.TEXT_AT : layout.ANSWER_BYTES]
        self._wake, self._done = wake, done
        self._has_ended = False
        threading.Thread(target=self._serve, daemon=True).start()

    def end(self) -> None:
        """Let the thread end."""
        self._has_ended = True
        os.eventfd_write(self._wake, 1)

    def _serve(self) -> None:
        number = 0
        while True:
            number = (number + 1) % layout.SEQUENCES
            layout.seen(self._command, layout.SEQUENCE, number)
            os.eventfd_read(self._wake)
            if self._has_ended:
                os.close(self._wake)
                os.close(self._done)
                return
            self._answer[layout.OUTCOME] = self._run()
            self._answer[layout.DONE] = number | layout.DONE_MARK  # last: now the rest is valid
            os.eventfd_write(self._done, 1)

    def _run(self) -> int:
        deadline = self._command[layout.DEADLINE]
        try:
            if not deadline:
                self._step()
                return layout.SUCCESS
            control = RunControl(deadline if deadline > 1 else None, _Token(self._command))
            with controlled(control):
                self._step()
        except BaseException as error:
            self._explain(error)
            return layout.FAILURE
        return layout.SUCCESS

    def _explain(self, error: BaseException) -> None:
        found = encoded_error(error)
        text = f"{found['error']}\0{found['text']}".encode(errors="replace")[:_TEXT_LIMIT]
        self._text[: len(text)] = text
        self._answer[layout.TEXT_SIZE] = len(text)


class _Token:
    """Asks the host's block whether to stop."""

    def __init__(self, command: memoryview) -> None:
        self._command = command

    def is_set(self) -> bool:
        """Return whether the host has given up the run."""
        return bool(self._command[layout.STOP])
