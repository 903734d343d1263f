# SPDX-License-Identifier: MIT
"""The second plot of docs/speed.md: a row per model.

It is the same file each time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from benchmarks.models.speed_plot import DARK, FASTER, LEAST, MOST, SLOWER, TICKS, text

if TYPE_CHECKING:
    from benchmarks.models.speed_records import Measured

LEFT, PANEL, GAP = 190, 300, 36
ROW, TOP, BOTTOM = 17, 62, 50
THREADS = (1, 2)
RADIUS, SHIFT = 5, 3.5


def draw_models(records: Sequence[Measured]) -> str:
    """Return the plot as SVG, worst model on top."""
    found = _ratios(records)
    names = sorted(found, key=lambda name: (-max(found[name].values()), name))
    width = LEFT + (PANEL + GAP) * len(records)
    bottom = TOP + ROW * len(names)
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="11"',
        f' viewBox="0 0 {width} {bottom + BOTTOM}">',
        "<title>Time of CpuAcc over that of the fastest peer, by model</title>",
        DARK,
        f'<rect width="{width}" height="{bottom + BOTTOM}" fill="white"/>',
    ]
    lines += [
        f'<rect x="0" y="{TOP + ROW * row}" width="{width}" height="{ROW}" fill="#f5f6f8"/>'
        for row in range(0, len(names), 2)
    ]
    for place, measured in enumerate(records):
        lines += _panel(measured.cpu, LEFT + place * (PANEL + GAP), bottom)
    for row, name in enumerate(names):
        y = TOP + ROW * (row + 0.5)
        lines.append(text(LEFT - 16, y + 4, name, anchor="end", size=11))
        for place in range(len(records)):
            own = {count: ratio for (at, count), ratio in found[name].items() if at == place}
            lines += _dots(name, own, LEFT + place * (PANEL + GAP), y)
    label = (
        "time of CpuAcc over that of the fastest peer; the number in a dot is that of the threads"
    )
    lines.append(text(width / 2, bottom + 38, label, anchor="middle"))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _ratios(records: Sequence[Measured]) -> dict[str, dict[tuple[int, int], float]]:
    """Return each model's ratios by record and number of threads."""
    found: dict[str, dict[tuple[int, int], float]] = {}
    for place, measured in enumerate(records):
        for count in THREADS:
            for name, ratio in measured.ratios(measured.models, count).items():
                found.setdefault(name, {})[place, count] = ratio
    return found


def _panel(cpu: str, left: float, bottom: float) -> Iterator[str]:
    """Yield a CPU's name, axis and directions."""
    yield text(left + PANEL / 2, 18, cpu, anchor="middle", bold=True, size=13)
    middle = left + _share(1.0) * PANEL
    yield text(middle - 8, 36, "← CpuAcc is faster", anchor="end", colour=FASTER, bold=True)
    yield text(middle + 8, 36, "slower →", colour=SLOWER, bold=True)
    for tick in TICKS:
        colour, width = ("#222", 1.5) if tick == 1.0 else ("#ccc", 1)
        x = left + _share(tick) * PANEL
        yield (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}" '
            f'stroke="{colour}" stroke-width="{width}"/>'
        )
        beyond = "≤ " if tick == LEAST else "≥ " if tick == MOST else ""
        for y in (TOP - 6, bottom + 15):
            yield text(x, y, f"{beyond}{tick:g}", anchor="middle", size=10)


def _dots(name: str, ratios: Mapping[int, float], left: float, y: float) -> Iterator[str]:
    """Yield a model's dots, close ones above each other."""
    places = {count: left + _share(ratio) * PANEL for count, ratio in ratios.items()}
    is_close = max(places.values(), default=0) - min(places.values(), default=0) < 2 * RADIUS
    for (count, x), shift in zip(places.items(), (-SHIFT, SHIFT), strict=False):
        height = y + shift if is_close and len(places) > 1 else y
        colour = FASTER if ratios[count] <= 1 else SLOWER
        yield (
            f'<circle cx="{x:.1f}" cy="{height:.1f}" r="{RADIUS}" fill="{colour}" stroke="white">'
            f"<title>{escape(name)} {ratios[count]:.2f} threads {count}</title></circle>"
        )
        yield text(x, height + 2.5, str(count), anchor="middle", colour="white", bold=True, size=7)


def _share(ratio: float) -> float:
    """Return a ratio's place on the axis, 0 to 1."""
    return math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
