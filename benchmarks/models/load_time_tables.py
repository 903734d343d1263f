# SPDX-License-Identifier: MIT
"""Tables of load times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

COLD, CACHED = "CpuAcc", "CpuAcc cached"
OURS: Final = (COLD, CACHED)
OTHER: Final = "other"
"""The time of a process that is in none of our stages."""

Row: TypeAlias = "dict[str, Any]"
"""The figures of a runtime for a model: ``import_ms`` and ``load_ms`` (processor time, with the
first run), ``wall_ms`` of both, ``peak_mb``; ``import_free_ms`` is ``load_ms`` where another model
was loaded before. Of ours also ``stages``, in milliseconds, whose sum is ``wall_ms``."""

Results: TypeAlias = "Mapping[str, Mapping[str, Row]]"
"""The row of each runtime, by the name of the model."""


def tables(results: Results) -> str:
    """Return the results as Markdown tables."""
    makers: dict[str, Callable[[Results], list[str]]] = {
        "With imports": with_imports,
        "Stages": stages,
        "Without imports": without_imports,
    }
    parts = ((title, make(results)) for title, make in makers.items())
    return "\n\n".join("\n".join([f"{title}:", "", *lines]) for title, lines in parts if lines)


def with_imports(results: Results) -> list[str]:
    """Return the lines of the table of all runtimes."""
    lines = [
        "| model | runtime | import | load and first run | both | wall | peak memory |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for model, rows in results.items():
        for runtime, row in rows.items():
            both = row["import_ms"] + row["load_ms"]
            lines.append(
                f"| {model} | {runtime} | {row['import_ms']:.1f} ms | {row['load_ms']:.1f} ms "
                f"| {both:.1f} ms | {row['wall_ms']:.1f} ms | {row['peak_mb']:.0f} MB |"
            )
    return lines


def stages(results: Results) -> list[str]:
    """Return the lines of the table of our stages."""
    ours = [
        (model, runtime, row)
        for model, rows in results.items()
        for runtime, row in rows.items()
        if "stages" in row
    ]
    names = max((list(row["stages"]) for *_, row in ours), key=len)  # not all have a first run
    lines = [
        f"| model, ms | runtime | {' | '.join(names)} | wall |",
        f"|---|---|{'---:|' * (len(names) + 1)}",
    ]
    for model, runtime, row in ours:
        cells = (f"{row['stages'][name]:.1f}" if name in row["stages"] else "-" for name in names)
        lines.append(f"| {model} | {runtime} | {' | '.join(cells)} | {row['wall_ms']:.1f} |")
    return lines


def without_imports(results: Results) -> list[str]:
    """Return the lines of the table beside the fastest peer.

    It has the models that were measured behind others, and is empty without one.
    """
    rows = []
    for model, found in results.items():
        times = {
            name: row["import_free_ms"] for name, row in found.items() if "import_free_ms" in row
        }
        peers = times.keys() - set(OURS)
        if peers:
            peer = min(peers, key=times.__getitem__)
            rows.append(
                f"| {model} | {times[COLD]:.1f} ms | {times[CACHED]:.1f} ms "
                f"| {peer} | {times[peer]:.1f} ms | {times[COLD] / times[peer]:.2f} |"
            )
    if not rows:
        return []
    heading = "| model | CpuAcc | CpuAcc cached | peer | its time | CpuAcc / peer |"
    return [heading, "|---|---:|---:|---|---:|---:|", *rows]
