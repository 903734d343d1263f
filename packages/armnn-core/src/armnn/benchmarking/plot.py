# SPDX-License-Identifier: MIT
"""A picture of measurements."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Final

from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.benchmarking.measuring import Measurement

_SUFFIXES: Final = (".svg", ".png", ".pdf")


def write_plot(path: str | PathLike[str], title: str, measured: Sequence[Measurement]) -> None:
    """Write a picture of latencies.

    A dot is the median, a line goes from 10 to 99 percent of the runs.

    Args:
        path: Its suffix says the format.
        title: What stands above it.
        measured: From top to bottom; those with a fault are left out.

    Raises:
        InvalidArgumentError: The suffix is another one, or matplotlib is not installed.
    """
    name = str(path)
    if not name.endswith(_SUFFIXES):
        raise InvalidArgumentError(
            f"--plot got {name!r}, expected a name that ends with one of {', '.join(_SUFFIXES)}"
        )
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidArgumentError(
            f"a plot needs matplotlib ({error}): pip install matplotlib"
        ) from error
    shown = [each for each in reversed(measured) if not each.fault]
    figure = Figure(figsize=(8, 1.2 + 0.45 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    for row, each in enumerate(shown):
        low, middle, high = (each.percentile(percent) for percent in (10, 50, 99))
        axes.plot([low, high], [row, row], color="#7a8794", linewidth=2)
        axes.plot(middle, row, "o", color="#0b6bcb")
        label = f"{middle:.3g} ms"
        axes.annotate(label, (middle, row), (0, 6), textcoords="offset points", ha="center")
    axes.set_yticks(range(len(shown)), [each.name for each in shown])
    axes.set_ylim(-0.6, len(shown) - 0.2)
    axes.set_xscale("log")
    for ticks in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        ticks("{x:g}")
    axes.set_xlabel("milliseconds a run; dot: median, line: 10 to 99 percent of the runs")
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(name)
