# SPDX-License-Identifier: MIT
"""Boxes, arrows and texts as SVG for light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple
from xml.sax.saxutils import escape

LINE = 17
"""Pixels from one line of text to the next."""
_LETTER = 7.5
_STYLE = """\
text { font: 13px sans-serif; fill: #1f2328; text-anchor: middle }
.small { font-size: 11px; fill: #59636e }
.left { text-anchor: start }
.head { font-weight: bold }
rect { fill: #f6f8fa; stroke: #59636e; rx: 5px }
rect.core { fill: #ddf4ff; stroke: #0969da }
rect.frame { fill: none; stroke: #59636e; stroke-dasharray: 4 3 }
path { fill: none; stroke: #59636e }
path.head { fill: #59636e }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.small { fill: #9198a1 }
rect { fill: #151b23; stroke: #9198a1 }
rect.core { fill: #0c2d6b; stroke: #4493f8 }
rect.frame { stroke: #9198a1 }
path { stroke: #9198a1 }
path.head { fill: #9198a1 }
}"""


class Point(NamedTuple):
    """A place in pixels, counted from the upper left corner."""

    x: float
    y: float


class Box(NamedTuple):
    """A rectangle by its centre, with its size."""

    x: float
    y: float
    width: float
    height: float

    def side(self, right: float, down: float) -> Point:
        """Return a border place; (1, 0) is the right middle."""
        return Point(self.x + right * self.width / 2, self.y + down * self.height / 2)


def size_of(lines: Sequence[str]) -> tuple[float, float]:
    """Return the size of a box that holds these lines."""
    return max(map(len, lines)) * _LETTER + 20, len(lines) * LINE + 11


class Drawing:
    """An SVG that grows part by part.

    Args:
        title: What the picture shows, for readers who do not see it.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        self._right = self._bottom = 0.0

    def box(self, box: Box, lines: Sequence[str], kind: str = "") -> None:
        """Draw a box; lines behind the first one are small."""
        corner = box.side(-1, -1)
        self._rectangle(box, kind)
        for number, line in enumerate(lines):
            self.text(Point(box.x, corner.y + 18 + LINE * number), line, "small" if number else "")

    def frame(self, box: Box, label: str) -> None:
        """Draw a dashed frame, labelled in its upper left corner."""
        self._rectangle(box, "frame")
        corner = box.side(-1, -1)
        self.text(Point(corner.x + 10, corner.y + 17), label, "left head")

    def text(self, place: Point, text: str, kind: str = "") -> None:
        """Write a line of text."""
        self._parts.append(
            f'<text x="{place.x:.0f}" y="{place.y:.0f}"{_class(kind)}>{escape(text)}</text>'
        )

    def arrow(self, points: Sequence[Point], *, sideways: bool = False) -> None:
        """Draw a smooth line through points, with a head.

        Args:
            points: Two or more places.
            sideways: Whether the line leaves each place horizontally, else vertically.
        """
        start = points[0]
        path = [f"M{start.x:.0f} {start.y:.0f}"]
        for before, after in pairwise(points):
            middle = Point((before.x + after.x) / 2, (before.y + after.y) / 2)
            one = Point(middle.x, before.y) if sideways else Point(before.x, middle.y)
            two = Point(middle.x, after.y) if sideways else Point(after.x, middle.y)
            path.append(
                f"C{one.x:.0f} {one.y:.0f} {two.x:.0f} {two.y:.0f} {after.x:.0f} {after.y:.0f}"
            )
        self._parts.append(f'<path d="{"".join(path)}"/>')
        self._parts.append(_head(points[-2], points[-1], sideways=sideways))

    def _rectangle(self, box: Box, kind: str) -> None:
        corner, end = box.side(-1, -1), box.side(1, 1)
        self._right, self._bottom = max(self._right, end.x), max(self._bottom, end.y)
        self._parts.append(
            f'<rect x="{corner.x:.0f}" y="{corner.y:.0f}" width="{box.width:.0f}" '
            f'height="{box.height:.0f}"{_class(kind)}/>'
        )

    def __str__(self) -> str:
        parts = "\n".join(self._parts)
        size = f"0 0 {self._right + 10:.0f} {self._bottom + 10:.0f}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}">\n'
            f"<title>{escape(self._title)}</title>\n<style>\n{_STYLE}\n</style>\n{parts}\n</svg>\n"
        )


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _head(before: Point, end: Point, *, sideways: bool) -> str:
    sign = 1 if (end.x > before.x if sideways else end.y > before.y) else -1
    x, y = f"{end.x:.0f}", f"{end.y:.0f}"
    if sideways:
        corners = f"M{x} {y}L{end.x - 8 * sign:.0f} {end.y - 4:.0f}V{end.y + 4:.0f}Z"
    else:
        corners = f"M{x} {y}L{end.x - 4:.0f} {end.y - 8 * sign:.0f}H{end.x + 4:.0f}Z"
    return f'<path d="{corners}" class="head"/>'
