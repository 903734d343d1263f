# SPDX-License-Identifier: MIT
"""The output of the commands: tables, JSON, progress and files."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress, cycle
from pathlib import Path
from typing import TYPE_CHECKING

from armnn.errors import InvalidArgumentError
from armnn.schemas import json_text

if TYPE_CHECKING:
    from rich.progress import Progress


PROGRESS_DELAY_SECONDS = 2.0
"""How long something takes before its progress is shown."""

_UNLIMITED = 1_000_000
"""The width of a table in a file or a pipe."""

_TONES = cycle(("cyan", "yellow", "magenta", "blue", "green"))
"""The colors of backends, in the order in which they appear: red is left to faults."""
_BACKEND_COLUMNS = frozenset({"backend", "id", "refused by"})
_STATE_COLUMNS = frozenset({"state", "verdict"})
_FAULTS = frozenset({"failed", "incompatible", "blocked", "wrong", "differs"})
_ID = re.compile(r"\w+")

_tone_of: dict[str, str] = {}


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table.

    On a terminal it is no wider than the terminal, and columns without any text are left out. In a
    file or a pipe each row is one line, however long, unless the environment has COLUMNS.

    Args:
        title: The line above the table, "" for none.
        columns: The headings.
        rows: The rows, with one cell per column.
    """
    from rich import box  # late: heavy, as is all of rich
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_terminal = sys.stdout.isatty()
    if is_terminal and any(map(any, rows)):
        filled = [any(cells) for cells in zip(*rows, strict=True)]
        columns, *rows = (list(compress(row, filled)) for row in (columns, *rows))
    shown = [[printable(cell) for cell in row] for row in rows]
    for column, *cells in zip(columns, *shown, strict=True):
        for name in _ID.findall(" ".join(cells)) if column in _BACKEND_COLUMNS else ():
            _tone_of.setdefault(name, next(_TONES))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim", border_style="dim")
    width, height = shutil.get_terminal_size()
    width = width if is_terminal or os.environ.get("COLUMNS") else _UNLIMITED
    # rich takes 80 columns for what it calls a dumb terminal, unless it is told both.
    console = Console(width=width, height=height, highlight=False)
    for column, *cells in zip(columns, *shown, strict=True):
        # The first is the name of the row, which is whole where that leaves the others room.
        is_name = column is columns[0] and max(map(len, cells), default=0) <= width // 3
        table.add_column(Text(column), overflow="fold", no_wrap=is_name)
    for row in shown:
        # In a str, rich would look for markup such as [1, 3].
        texts = [Text(cell) for cell in row]
        for column, text in zip(columns, texts, strict=True):
            if column in _STATE_COLUMNS and _FAULTS.intersection(text.plain.split()):
                text.stylize("red")
            else:
                for found in _ID.finditer(text.plain):
                    text.stylize(_tone_of.get(found[0], ""), *found.span())
        table.add_row(*texts)
    with console.capture() as captured:
        if title:
            console.print(Text(printable(title), style="bold", overflow="fold"))
        console.print(table)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    print(_encodable("\n".join(lines)))


def _encodable(text: str) -> str:
    """Return a text that the encoding of stdout can represent; it is UTF-8 as a rule."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def told_apart(first: float | None, second: float | None) -> tuple[str, str]:
    """Return two numbers with six digits, or enough to differ; "" for None."""
    if first is None or second is None:
        return ("" if first is None else f"{first:g}", "" if second is None else f"{second:g}")
    for digits in range(6, 18):
        shown = f"{first:.{digits}g}", f"{second:.{digits}g}"
        if shown[0] != shown[1]:
            return shown
    return f"{first:g}", f"{second:g}"


def printable(text: str) -> str:
    """Return a text with control characters spelled out.

    A model's names and metadata come from strangers, and a terminal obeys escape sequences.
    """
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def print_json(document: object) -> None:
    """Print a document as JSON."""
    print(json_text(document))


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show progress on stderr where that is a terminal and the activity takes a while.

    Args:
        description: The activity.
        total: The number of steps; None if it is not known.

    Yields:
        A function to be called after each step.
    """
    with _shown(description, total) as display:
        yield display.advance


@contextmanager
def stages(description: str) -> Iterator[Callable[[str], None]]:
    """Show stages on stderr, as :func:`progress` does.

    Args:
        description: The first stage.

    Yields:
        A function to be called with the description of each further stage.
    """
    with _shown(description, None) as display:
        yield display.describe


@contextmanager
def _shown(description: str, total: int | None) -> Iterator[_Display]:
    display = _Display(printable(description), total)
    if not sys.stderr.isatty():
        yield display
        return
    timer = threading.Timer(PROGRESS_DELAY_SECONDS, display.show)
    timer.daemon = True
    timer.start()
    try:
        yield display
    finally:
        timer.cancel()
        display.close()


class _Display:
    """A progress bar that another thread shows after a delay."""

    def __init__(self, description: str, total: int | None) -> None:
        self._description = description
        self._total = total
        self._steps_done = 0
        self._is_closed = False
        self._bar: Progress | None = None
        self._lock = threading.Lock()

    def show(self) -> None:
        from rich.console import Console  # late: heavy, and most activities end before
        from rich.markup import escape
        from rich.progress import Progress

        with self._lock:
            if not self._is_closed:
                # Drawn seldom, as it may be beside what is measured.
                bar = Progress(console=Console(stderr=True), transient=True, refresh_per_second=4)
                task = bar.add_task(escape(self._description), total=self._total)
                self._bar = bar
                # Read after the bar was published: no step falls between the two threads.
                bar.update(task, completed=self._steps_done)
                bar.start()

    def advance(self) -> None:
        self._steps_done += 1
        bar = self._bar
        if bar is not None:
            bar.update(bar.task_ids[0], completed=self._steps_done)

    def describe(self, description: str) -> None:
        from rich.markup import escape  # late: as above

        with self._lock:
            self._description = printable(description)
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], description=escape(self._description))

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._bar is not None:
                self._bar.stop()


def check_writable(option: str, path: Path) -> None:
    """Raise InvalidArgumentError for a file that cannot be written, before there is work to lose.

    Args:
        option: The option that names the file, for the message.
        path: The file.
    """
    try:  # access rights alone do not tell: /proc has them for root
        if path.exists():
            path.open("ab").close()
        else:
            tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise InvalidArgumentError(
            f"{option} got {str(path)!r}, which cannot be written ({error.strerror}); expected a "
            "file in a folder that exists and is yours to write"
        ) from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into an InvalidArgumentError that names the file."""
    try:
        yield
    except OSError as error:
        raise InvalidArgumentError(
            f"cannot write {str(path)!r}: {error.strerror or error}"
        ) from error
