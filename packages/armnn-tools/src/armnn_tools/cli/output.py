# SPDX-License-Identifier: MIT
"""The output of the commands: tables, JSON, progress and files.

rich is imported where it is needed: output into a file or a pipe needs none of it.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import compress, cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from rich.progress import Progress


PROGRESS_DELAY_SECONDS = 2.0
"""How long something takes before its progress is shown."""

_RULE = "─"
_ELLIPSIS = "…"
_SEPARATOR = "   "
# The signs of scripts that put no space between words; each takes two columns of a terminal.
_WIDE = "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]"
# A line may end behind a space and behind punctuation in a name, not before a digit as in Conv.0.
_PIECE = (
    rf"{_WIDE}\s*|(?:(?!{_WIDE}).)+?(?:\s+|(?<=\w)[/._,:;=+|\-](?!(?<=[.,/])\d)\s*|(?={_WIDE})|$)"
)

_Paint = Callable[[str, str], str]
"""Returns a cell's text in colors, given its column; the column of headings is ""."""

_RESET, _DIM, _RED = "\x1b[0m", "\x1b[2m", "\x1b[31m"
_TONES = cycle(f"\x1b[{code}m" for code in (36, 33, 35, 34, 32))
"""Of backends, in the order in which they appear: red is left to faults."""
_BACKEND_COLUMNS = frozenset({"backend", "id", "refused by"})
_STATE_COLUMNS = frozenset({"state", "verdict"})
_FAULTS = frozenset({"failed", "incompatible", "blocked", "wrong", "differs"})
_ID = re.compile(r"\w+")

_tone_of: dict[str, str] = {}


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table without breaking a word.

    On a terminal it is no wider than the terminal. In a file or a pipe each row is one line,
    however long.

    Args:
        title: The line above the table, "" for none.
        columns: The headings.
        rows: The rows, with one cell per column.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if title:
        _print_title(printable(title), width)
    shown = [[printable(cell) for cell in row] for row in rows]
    paint = (_paint_for(columns, shown),) if _has_colors() else ()
    lines = ["", *table_lines(columns, shown, width, *paint), ""]
    print(_encodable("\n".join(lines)))


def _encodable(text: str) -> str:
    """Return a text that the encoding of stdout can represent; it is UTF-8 as a rule."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.replace(_RULE, "-").replace(_ELLIPSIS, "~")
        return plain.encode(encoding, "backslashreplace").decode(encoding)
    return text


def _print_title(title: str, width: int | None) -> None:
    if width is None:
        print(_encodable(title))
        return
    from rich.console import Console  # late: heavy
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
    place = path if path.exists() else path.parent
    is_kind = not path.is_dir() if path.exists() else place.is_dir()
    if not is_kind or not os.access(place, os.W_OK):
        raise InvalidArgumentError(
            f"{option} got {str(path)!r}, which cannot be written; expected a file in a folder "
            "that exists and is yours to write"
        )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into an InvalidArgumentError that names the file."""
    try:
        yield
    except OSError as error:
        raise InvalidArgumentError(
            f"cannot write {str(path)!r}: {error.strerror or error}"
        ) from error


def _unpainted(_column: str, text: str) -> str:
    return text


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    paint: _Paint = _unpainted,
) -> list[str]:
    """Return a table as lines: headings, a rule and rows.

    Where lines are too long, columns without any text are left out and cells are wrapped between
    words. Where that makes more lines than a paragraph per row, with a line for each cell that is
    not empty, the rows become paragraphs. A word that is longer than a whole line is shortened in
    its middle.

    Args:
        columns: The headings.
        rows: The rows, with one cell per column.
        width: The width of a line; None for as much as it takes, with one line per row.
        paint: A function that adds colors, which take no room.
    """
    natural = [max(map(cell_width, cells)) for cells in zip(columns, *rows, strict=True)]
    available = None if width is None else width - 1 - len(_SEPARATOR) * (len(columns) - 1)
    if available is None or sum(natural) <= available:
        return _table(columns, rows, natural, paint)
    filled = [any(cells) for cells in zip(*rows, strict=True)]
    if any(filled) and not all(filled):
        headings, *others = (list(compress(row, filled)) for row in (columns, *rows))
        return table_lines(headings, others, width, paint)
    least = [max(map(_longest_piece, cells)) for cells in zip(columns, *rows, strict=True)]
    if not rows:
        return _table(columns, rows, least, paint)
    paragraphs = _paragraphs(columns, rows, width or 0, paint)
    if sum(least) > available:
        return paragraphs
    table = _table(columns, rows, _shared(available, least, natural), paint)
    return table if len(table) <= len(paragraphs) else paragraphs


def cell_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # late: heavy, and few texts need it

    return cell_len(text)


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines that end between words.

    Args:
        text: Without line breaks.
        width: The width of a line; a word that is longer is shortened in its middle.
    """
    if cell_width(text) <= width:
        return [text]
    lines, line = [], ""
    for piece in _pieces(text):
        if line and cell_width(line) + cell_width(piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece if cell_width(piece.rstrip()) <= width else _shortened(piece, width)
    return [*lines, line.rstrip()]


def _pieces(text: str) -> list[str]:
    return re.findall(_PIECE, text, re.DOTALL)  # compiled once, where a terminal is narrow


def _longest_piece(text: str) -> int:
    return max((cell_width(piece.rstrip()) for piece in _pieces(text)), default=0)


def _shortened(word: str, width: int) -> str:
    """Return both ends of a word that is too long."""
    kept = max(width - 1, 2)
    head = (kept + 1) // 2
    return f"{word[:head]}{_ELLIPSIS}{word.rstrip()[head - kept :]}"


def _shared(available: int, least: Sequence[int], natural: Sequence[int]) -> list[int]:
    """Return the widths of columns, the widest of which shrink until all fit."""

    def widths(limit: int) -> list[int]:
        return [max(low, min(high, limit)) for low, high in zip(least, natural, strict=True)]

    limit = max(natural)
    while sum(widths(limit)) > available:
        limit -= 1
    return widths(limit)


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], paint: _Paint
) -> list[str]:
    body = [line for row in rows for line in _row_lines(row, widths, columns, paint)]
    rule = _RULE * (sum(widths) + len(_SEPARATOR) * (len(widths) - 1))
    return [*_row_lines(columns, widths, [""] * len(columns), paint), f" {paint('', rule)}", *body]


def _row_lines(
    cells: Sequence[str], widths: Sequence[int], columns: Sequence[str], paint: _Paint
) -> list[str]:
    wraps = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, wraps), default=0)
    padded = [
        [_painted(line, width, column, paint) for line in (*lines, *[""] * (height - len(lines)))]
        for lines, width, column in zip(wraps, widths, columns, strict=True)
    ]
    return [f" {_SEPARATOR.join(line)}".rstrip() for line in zip(*padded, strict=True)]


def _paragraphs(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, paint: _Paint
) -> list[str]:
    """Return each row as a paragraph, one line per cell."""
    label = max(map(cell_width, columns))
    room = width - 1 - len(_SEPARATOR) - label
    if room < max(_longest_piece(cell) for row in rows for cell in row):
        return _stacked(columns, rows, width, paint)
    lines: list[str] = []
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            if cell:
                lines += _row_lines((column, cell), (label, room), ("", column), paint)
        lines.append("")
    return lines[:-1]


def _stacked(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, paint: _Paint
) -> list[str]:
    """Return each row with headings above its cells, for the narrowest of terminals."""
    fitted = partial(wrapped, width=max(width - 2, 1))
    lines: list[str] = []
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            if cell:
                lines += [f" {paint('', line)}" for line in fitted(column)]
                lines += [f"  {paint(column, line)}" for line in fitted(cell)]
        lines.append("")
    return lines[:-1]


def _painted(text: str, width: int, column: str, paint: _Paint) -> str:
    """Return a cell's line, colored, as wide as its column."""
    return (paint(column, text) if text else "") + " " * (width - cell_width(text))


def _has_colors() -> bool:
    """Return whether stdout is a terminal that shows colors and NO_COLOR is not set.

    See no-color.org.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return sys.stdout.isatty() and not is_plain


def _paint_for(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> _Paint:
    """Return a function that colors the cells of a table.

    Backends keep their colors from table to table, and have them in other cells too.

    Args:
        columns: The headings.
        rows: The rows; backends that are new in them get the next colors.
    """
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            if column in _BACKEND_COLUMNS:
                for name in _ID.findall(cell):
                    _tone_of.setdefault(name, next(_TONES))

    def paint(column: str, text: str) -> str:
        if not column:
            return f"{_DIM}{text}{_RESET}"
        if column in _STATE_COLUMNS and _FAULTS.intersection(text.split()):
            return f"{_RED}{text}{_RESET}"
        return _ID.sub(_named, text)

    return paint


def _named(match: re.Match[str]) -> str:
    name = match[0]
    return f"{_tone_of[name]}{name}{_RESET}" if name in _tone_of else name
