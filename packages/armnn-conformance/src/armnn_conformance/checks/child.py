# SPDX-License-Identifier: MIT
"""A child process for checks, which backends may crash.

A backend that crashes fails one case. One process serves many checks; after a crash, and after a
write to memory that is not the backend's, a fresh one goes on with the next case.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from typing import IO, Any, Final

from armnn.types import DataType
from armnn_backend_api.processes import Bounds, Channel, JsonChild, NoReplyError
from armnn_conformance.checks.by_name import Checks, NotSupportedError
from armnn_conformance.checks.correctness import CaseResult, Cell, Outcome
from armnn_conformance.running import MemoryDamageError, NonconformityError
from armnn_conformance.subject import Subject

CHILD_BOUNDS: Final = Bounds(seconds=900, output=None)
"""One in an emulated machine takes minutes where others compute, too."""

_TRACE_BEGINS: Final = "Fatal Python error: "
_TRACE_CHARACTERS: Final = 3000
_CLOSING_SECONDS: Final = 60
"""How long the backend may take to be closed."""


class CrashError(NonconformityError):
    """A backend ended the process that it ran in.

    Attributes:
        case: The case that was tried, "" while the backend was loaded.
        ending: How the process ended, "SIGSEGV" for one.
    """

    def __init__(self, case: str, ending: str, trace: str) -> None:
        super().__init__(
            f"{case or 'loading the backend'}: the process ended with {ending}\n{trace}".rstrip()
        )
        self.case = case
        self.ending = ending


class ChecksHere:
    """The checks of :class:`ChecksInChild` in this process, for debuggers."""

    def __init__(self, wish: str) -> None:
        self._checks = Checks(Subject(wish))

    def run(self, check: str, arguments: dict[str, Any]) -> Any:
        """Run a check; see :meth:`ChecksInChild.run`."""
        return self._checks.run(check, arguments)

    def check_cell(self, layer: str, data_type: DataType) -> Cell:
        """Run all cases of a layer type and data type."""
        return Cell(layer, data_type, dict(self._checks.cell(layer, data_type.arm_name)))

    def close(self) -> None:
        """Close the runtime."""
        self._checks.subject.close()


class ChecksInChild:
    """The checks of one backend, in a child process.

    Attributes:
        wish: The id of the backend, or the path of its file.
    """

    def __init__(self, wish: str) -> None:
        """Note the backend; the process is started later.

        Args:
            wish: Its id, or the path of its file.
        """
        self.wish = wish
        self._process: JsonChild | None = None
        self._written: IO[bytes] | None = None
        self._shown = 0

    def run(self, check: str, arguments: dict[str, Any]) -> Any:
        """Run a check of :class:`~armnn_conformance.checks.by_name.Checks` that gives one answer.

        Raises:
            CrashError: The backend ended the process.
            NonconformityError: The backend does not pass the check.
            NotSupportedError: There is nothing to check.
        """
        for kind, content in self._ask(check, arguments):
            if kind == "done":
                return content
        raise AssertionError("a check ended without an answer")

    def check_cell(self, layer: str, data_type: DataType) -> Cell:
        """Run a cell's cases; one that crashes has failed."""
        cell = Cell(layer, data_type)
        while True:
            arguments = {
                "layer": layer,
                "data_type": data_type.arm_name,
                "known": list(cell.outcomes),
            }
            try:
                for kind, content in self._ask("cell", arguments):
                    if kind == "outcome":
                        name, result, *rest = content
                        cell.outcomes[name] = Outcome(CaseResult(result), *rest)
                        if cell.outcomes[name].is_damaged:
                            self._forget()  # else another case would be blamed
                            break
                else:
                    return cell
            except CrashError as error:
                name = error.case.removeprefix(f"{layer}-{data_type.arm_name}-")
                if name in cell.outcomes or not name:
                    raise
                cell.outcomes[name] = Outcome(CaseResult.FAILED, str(error))
                cell.crashes[name] = error.ending

    def close(self) -> None:
        """End the process."""
        self._forget()

    def _ask(self, check: str, arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the process' replies to a check, as kind and content."""
        process = self._started()
        announced = ""
        process.send([check, arguments])
        while True:
            try:
                ((kind, content),) = process.reply().items()
            except NoReplyError as error:
                written = self._new_output()
                self._forget()
                raise CrashError(announced, str(error.ending), last_words(written)) from None
            if kind == "case":
                announced = content
                continue
            if kind != "outcome":  # between outcomes it goes on and may write its last words
                self._show_output()
            if kind == "failed":
                text, is_damaged = content
                if is_damaged:
                    self._forget()
                raise NonconformityError(text)
            if kind == "not supported":
                raise NotSupportedError(content)
            yield kind, content
            if kind == "done":
                return

    def _started(self) -> JsonChild:
        if self._process is None:
            self._written = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
            self._shown = 0
            self._process = JsonChild(
                f"{__name__}:serve", self.wish, Bounds(output=None), output=self._written.fileno()
            )
        return self._process

    def _show_output(self) -> None:
        """Print the backend's output: pytest shows it with failed tests."""
        text = self._new_output()
        if text:
            sys.stdout.write(text)

    def _new_output(self) -> str:
        assert self._written is not None  # it was started
        data = os.pread(self._written.fileno(), 1 << 20, self._shown)
        self._shown += len(data)
        return data.decode(errors="replace")

    def _forget(self) -> None:
        if self._process is not None:
            self._process.close(_CLOSING_SECONDS)
        if self._written is not None:
            self._written.close()
        self._process = self._written = None


def last_words(written: str) -> str:
    """Return the end of what a crashed process wrote.

    A long text begins with faulthandler's trace: from Python 3.14 on the frames in C follow those
    in Python.
    """
    begin = written.rfind(_TRACE_BEGINS)
    if 0 <= begin < len(written) - _TRACE_CHARACTERS:
        return written[begin : begin + _TRACE_CHARACTERS]
    return written[-_TRACE_CHARACTERS:]


def serve(wish: str, channel: Channel) -> None:
    """Run the checks that the process of :class:`ChecksInChild` requests."""
    faulthandler.enable()

    def say(kind: str, content: object) -> None:
        channel.send(**{kind: content})

    with Subject(wish) as subject:
        checks = Checks(subject, lambda case: say("case", case))
        for check, wanted in channel.requests():
            _answer(checks, check, wanted, say)


def _answer(checks: Checks, check: str, arguments: dict[str, Any], say: Any) -> None:
    try:
        answer = checks.run(check, arguments)
        if check == "cell":
            for name, outcome in answer:
                row = [name, str(outcome.result), outcome.detail, outcome.is_damaged]
                say("outcome", row)
            answer = None
        sys.stdout.flush()
        say("done", answer)
    except NotSupportedError as error:
        say("not supported", str(error))
    except NonconformityError as error:
        say("failed", [str(error), isinstance(error, MemoryDamageError)])
    except Exception:
        say("failed", [traceback.format_exc(), False])
