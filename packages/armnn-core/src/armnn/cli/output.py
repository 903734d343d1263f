# SPDX-License-Identifier: MIT
"""Output of the commands: tables, JSON and progress.

rich and json are imported when needed.
"""

from __future__ import annotations

import math
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from armnn.cli.tables import ELLIPSIS, RULE, table_lines, wrapped

if TYPE_CHECKING:
    from rich.progress import Progress

PROGRESS_DELAY_SECONDS = 2.0
"""How long something takes before its progress is shown."""


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; no word of it is broken.

    On a terminal it is as wide as that allows. In a file or a pipe each row is one line, however
    long.

    Args:
        title: What stands above it; empty for nothing.
        columns: The headings.
        rows: One cell per column.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if title:
        _print_title(printable(title), width)
    shown = [[printable(cell) for cell in row] for row in rows]
    # Imported late: most output is no table on a terminal.
    from armnn.cli.colours import has_colours, paint_for

    paint = (paint_for(columns, shown),) if has_colours() else ()
    lines = ["", *table_lines(columns, shown, width, *paint), ""]
    print(_encodable("\n".join(lines)))


def _encodable(text: str) -> str:
    """Return a text in the terminal's encoding.

    Few terminals have another than UTF-8.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.replace(RULE, "-").replace(ELLIPSIS, "~")
        return plain.encode(encoding, "backslashreplace").decode(encoding)
    return text


def _print_title(title: str, width: int | None) -> None:
    if width is None:
        print(_encodable(title))
        return
    from rich.console import Console
    from rich.text import Text

    # rich would break a name that is longer than a line anywhere. In a str, it would look for
    # markup such as [1, 3].
    lines = _encodable("\n".join(wrapped(title, width)))
    Console(highlight=False).print(Text(lines, style="bold"), soft_wrap=True)


def printable(text: str) -> str:
    """Return a text with control characters spelled out.

    A model's names and metadata come from strangers, and a terminal obeys escape sequences.
    """
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def print_json(document: object) -> None:
    r"""Print a document as JSON.

    NaN and Infinity become texts, and bytes of a path that are no UTF-8 become escapes such as
    ``\xff``, as other readers of JSON take nothing else.
    """
    import json  # late: most output is none

    print(json.dumps(_strict(document), indent=2, allow_nan=False))


def _strict(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else _with_escapes(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {_strict(str(key)): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value


def _with_escapes(text: str) -> str:
    """Return a text with escapes in place of surrogates, which no UTF-8 has."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return text.encode("utf-8", "backslashreplace").decode()


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show progress on stderr, if it takes a while.

    stderr must be a terminal.

    Args:
        description: The activity that is measured.
        total: How many steps there are; None if that is not known.

    Yields:
        What is to be called after each step.
    """
    with _shown(description, total) as display:
        yield display.advance


@contextmanager
def stages(description: str) -> Iterator[Callable[[str], None]]:
    """Show stages on stderr, as :func:`progress` does.

    Args:
        description: The first stage.

    Yields:
        What is to be called with the description of each further stage.
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
        from rich.console import Console
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
        from rich.markup import escape

        with self._lock:
            self._description = printable(description)
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], description=escape(self._description))

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._bar is not None:
                self._bar.stop()
