# SPDX-License-Identifier: MIT
"""Lays out tables in a given width, without breaking words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress

RULE = "─"
ELLIPSIS = "…"
_SEPARATOR = "   "
# The signs of scripts that put no space between words; each takes two columns of a terminal.
_WIDE = "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]"
# A line may end behind a space and behind punctuation in a name, not before a digit as in Conv.0.
_PIECE = (
    rf"{_WIDE}\s*|(?:(?!{_WIDE}).)+?(?:\s+|(?<=\w)[/._,:;=+|\-](?!(?<=[.,/])\d)\s*|(?={_WIDE})|$)"
)

Paint = Callable[[str, str], str]
"""Returns a cell's text in colours, given its column; the column of headings is ""."""


def _plain(_column: str, text: str) -> str:
    return text


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    paint: Paint = _plain,
) -> list[str]:
    """Return a table as lines: headings, a rule and rows.

    Where lines are too long, columns without any text are left out and cells are wrapped between
    words. Where that makes more lines than a paragraph per row, with a line for each cell that is
    not empty, the rows become paragraphs. A word that is longer than a whole line is shortened in
    its middle.

    Args:
        columns: The headings.
        rows: One cell per column.
        width: Of a line; None for as much as it takes, with one line per row.
        paint: Adds colours, which take no room.
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
    from rich.cells import cell_len  # late: few texts need it

    return cell_len(text)


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines that end between words.

    Args:
        text: Without line breaks.
        width: Of a line; a word that is longer is shortened in its middle.
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
    return f"{word[:head]}{ELLIPSIS}{word.rstrip()[head - kept :]}"


def _shared(available: int, least: Sequence[int], natural: Sequence[int]) -> list[int]:
    """Return column widths; the widest shrink until all fit."""

    def widths(limit: int) -> list[int]:
        return [max(low, min(high, limit)) for low, high in zip(least, natural, strict=True)]

    limit = max(natural)
    while sum(widths(limit)) > available:
        limit -= 1
    return widths(limit)


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], paint: Paint
) -> list[str]:
    body = [line for row in rows for line in _row_lines(row, widths, columns, paint)]
    rule = RULE * (sum(widths) + len(_SEPARATOR) * (len(widths) - 1))
    return [*_row_lines(columns, widths, [""] * len(columns), paint), f" {paint('', rule)}", *body]


def _row_lines(
    cells: Sequence[str], widths: Sequence[int], columns: Sequence[str], paint: Paint
) -> list[str]:
    wraps = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, wraps), default=0)
    padded = [
        [_painted(line, width, column, paint) for line in (*lines, *[""] * (height - len(lines)))]
        for lines, width, column in zip(wraps, widths, columns, strict=True)
    ]
    return [f" {_SEPARATOR.join(line)}".rstrip() for line in zip(*padded, strict=True)]


def _paragraphs(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, paint: Paint
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
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, paint: Paint
) -> list[str]:
    """Return each row with headings above its cells.

    It is for the narrowest of terminals.
    """
    fitted = partial(wrapped, width=max(width - 2, 1))
    lines: list[str] = []
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            if cell:
                lines += [f" {paint('', line)}" for line in fitted(column)]
                lines += [f"  {paint(column, line)}" for line in fitted(cell)]
        lines.append("")
    return lines[:-1]


def _painted(text: str, width: int, column: str, paint: Paint) -> str:
    """Return a cell's line, coloured, as wide as its column."""
    return (paint(column, text) if text else "") + " " * (width - cell_width(text))
