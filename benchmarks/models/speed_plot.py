# SPDX-License-Identifier: MIT
"""The plot of docs/speed.md: models as dots, CPUs as panels.

It is the same file each time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.models.speed_records import Measured

LEFT, RIGHT, WIDTH = 190, 700, 860
ROW, HEAD, TOP, BOTTOM = 40, 34, 44, 44
LEAST, MOST = 0.125, 4.0
TICKS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
FASTER, SLOWER = "#1b7a43", "#c2410c"
DARK = f"""\
<style>@media (prefers-color-scheme: dark) {{
rect[fill="white"] {{ fill: #131416; }} rect[fill="#f5f6f8"] {{ fill: #1d2024; }}
text[fill="#222"], text[fill="#555"] {{ fill: #d8dade; }} line[stroke="#222"] {{ stroke: #d8dade; }}
line[stroke="#ddd"], line[stroke="#ccc"] {{ stroke: #3a3f47; }}
circle[fill-opacity] {{ fill-opacity: 0.9; }} circle[stroke] {{ stroke: #131416; }}
text[fill="{FASTER}"] {{ fill: #4ade80; }} circle[fill="{FASTER}"] {{ fill: #2f9e5f; }}
text[fill="{SLOWER}"] {{ fill: #fb923c; }}
}}</style>"""
"""Other colours for readers whose system is dark."""
SHIFTS = (0, -7, 7, -3.5, 3.5, -10.5, 10.5)
"""Neighbours in a row get different heights, so that dots do not hide each other."""


def draw(records: Sequence[Measured], groups: Mapping[str, Sequence[str]]) -> str:
    """Return the plot as SVG, for one thread.

    Dots right of the line are models that are slower.
    """
    panel = HEAD + ROW * len(groups)
    bottom = TOP + panel * len(records)
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="12"',
        f' viewBox="0 0 {WIDTH} {bottom + BOTTOM}">',
        "<title>Time of CpuAcc over that of the fastest peer, one thread</title>",
        DARK,
        f'<rect width="{WIDTH}" height="{bottom + BOTTOM}" fill="white"/>',
        text(_x(1.0) - 8, 24, "← CpuAcc is faster", anchor="end", colour=FASTER, bold=True),
        text(_x(1.0) + 8, 24, "CpuAcc is slower →", colour=SLOWER, bold=True),
        *_axis(bottom),
    ]
    for place, measured in enumerate(records):
        top = TOP + place * panel
        lines.append(text(12, top + 22, measured.cpu, bold=True, size=14))
        for row, (group, names) in enumerate(groups.items()):
            lines += _row(measured, group, names, top + HEAD + ROW * row + ROW / 2)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _axis(bottom: float) -> Iterator[str]:
    for tick in TICKS:
        colour, width = ("#222", 1.5) if tick == 1.0 else ("#ddd", 1)
        yield (
            f'<line x1="{_x(tick):.1f}" x2="{_x(tick):.1f}" y1="{TOP}" y2="{bottom}" '
            f'stroke="{colour}" stroke-width="{width}"/>'
        )
        beyond = "≤ " if tick == LEAST else "≥ " if tick == MOST else ""
        yield text(_x(tick), bottom + 16, f"{beyond}{tick:g}", anchor="middle")
    label = (
        "time of CpuAcc over that of the fastest peer, one thread; the bar is the geometric mean"
    )
    yield text((LEFT + RIGHT) / 2, bottom + 36, label, anchor="middle")


def _row(measured: Measured, group: str, names: Sequence[str], y: float) -> Iterator[str]:
    """Yield a row of dots, mean and slowest model's name."""
    ratios = sorted((ratio, name) for name, ratio in measured.ratios(names, 1).items())
    yield text(LEFT - 12, y + 4, f"{group} ({len(ratios)})", anchor="end")
    for place, (ratio, name) in enumerate(ratios):
        colour = FASTER if ratio <= 1 else SLOWER
        yield (
            f'<circle cx="{_x(ratio):.1f}" cy="{y + SHIFTS[place % len(SHIFTS)]:.1f}" r="3.5" '
            f'fill="{colour}" fill-opacity="0.6"><title>{escape(name)} {ratio:.2f}</title></circle>'
        )
    if ratios:
        mean = _x(statistics.geometric_mean(ratio for ratio, _ in ratios))
        yield (
            f'<line x1="{mean:.1f}" x2="{mean:.1f}" y1="{y - 15:.1f}" y2="{y + 15:.1f}" '
            'stroke="#222" stroke-width="3"/>'
        )
        worst, name = ratios[-1]
        if worst > 1:
            yield text(_x(worst) + 8, y + 4, f"{name} {worst:.2f}", colour="#555")


def _x(ratio: float) -> float:
    """Return a ratio's x, clamped to the axis."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + (RIGHT - LEFT) * share


def text(
    x: float,
    y: float,
    label: str,
    *,
    anchor: str = "start",
    colour: str = "#222",
    bold: bool = False,
    size: int = 12,
) -> str:
    """Return a line of text."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
        f'font-size="{size}"{weight}>{escape(label)}</text>'
    )
