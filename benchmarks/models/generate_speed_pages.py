# SPDX-License-Identifier: MIT
"""Writes the speed pages and plot from docs/speed/.

    python -m benchmarks.models.generate_speed_pages           # writes them
    python -m benchmarks.models.generate_speed_pages --check   # names what is stale, and fails

The overview is docs/speed.md with docs/speed.svg and docs/speed-models.svg; docs/speed/<CPU>.md
has the tables of one CPU. The sentence in the README is written, too. A record is one JSON file; a
CPU whose record goes has no page any more.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.models import speed_tables
from benchmarks.models.speed_models_plot import draw_models
from benchmarks.models.speed_plot import draw
from benchmarks.models.speed_records import (
    DOCS,
    GROUPS,
    LARGE,
    OVERHEAD,
    SMALL,
    Measured,
    groups_of,
    multiply_adds_of,
    read_records,
)

GENERATOR = "benchmarks.models.generate_speed_pages"
README = DOCS.parent / "README.md"
BEGIN, END = "<!-- written by benchmarks/models/generate_speed_pages.py -->", "<!-- end -->"

INTRODUCTION = """\
# Speed of CpuAcc

Not affiliated with Arm. The speed on Arm is unmeasured until a board has run this.

After reading this page you can compare CpuAcc with the fastest of onnxruntime, OpenVINO and
LiteRT, by CPU and by model. Below 1 CpuAcc is faster. The CPU on which it does worst comes first.
"""

METHOD = """\
## How it was measured

Written by `python -m benchmarks.models.generate_speed_pages` from what `nox -s speed` measures on a
CPU, not by hand. Public models, run by all runtimes in turns; `benchmarks/models/speed.py` says in
its docstring how.

Latency is the median of a run, setting inputs and reading outputs included, float32 kept float32 in
all runtimes and int8 as int8. A **ratio** is the time of CpuAcc over that of the fastest peer. In
the row *bfloat16* CpuAcc has `FastMathEnabled`, and OpenVINO its defaults, which are bfloat16 where
the processor has it (AMX on Emerald Rapids); onnxruntime and LiteRT keep float32. Below 50 µs,
by the fastest peer, it is the call that counts; such models are in the row of that name alone. The
row *at the peak* is what would be left of the ratios if one thread did nothing but the models'
multiply-adds, at the peak that was measured: Winograd's convolutions alone can be faster.

In a column that ends with *AVX2* the processor has AVX-512, but all runtimes were told that it ends
with AVX2, as most processors on desks do: copies of the peers ask a library about the processor
(`benchmarks/models/limited_peers.py`), and CpuAcc was given the level `avx2`.
"""


def main() -> int:
    """Write the pages, or say which are stale."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    if not parser.parse_args().check:
        write_pages()
        return 0
    files = pages(read_records())
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    gone = [path for path in DOCS.glob("speed/*.md") if path not in files]
    for path in (*stale, *gone):
        print(f"{path.relative_to(DOCS.parent)} is stale: run python -m {GENERATOR}")
    return int(bool(stale or gone))


def write_pages() -> None:
    """Write changed pages; remove those without a record."""
    files = pages(read_records())
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    for path in DOCS.glob("speed/*.md"):
        if path not in files:
            path.unlink()


def pages(records: Sequence[Measured]) -> dict[Path, str]:
    """Return the text of every file that is written."""
    groups = groups_of(records)
    counts = multiply_adds_of(records, groups[LARGE] + groups[SMALL])
    files = {
        DOCS / "speed.md": overview(records, groups),
        DOCS / "speed.svg": draw(records, groups),
        DOCS / "speed-models.svg": draw_models(records),
        README: _with_sentence(README.read_text(encoding="utf-8"), sentence(records, groups)),
    }
    for measured in records:
        path = DOCS / "speed" / f"{measured.slug}.md"
        files[path] = speed_tables.page(measured, groups[OVERHEAD], counts)
    return files


def overview(records: Sequence[Measured], groups: Mapping[str, Sequence[str]]) -> str:
    """Return the page that is taken in at a glance."""
    lines = [INTRODUCTION, "![every model as a dot, by CPU](speed.svg)", ""]
    lines += [*_comparison(records, groups), "", METHOD, *_machines(records), ""]
    lines += [
        "## Every model",
        "",
        "![a row per model, a dot per thread count](speed-models.svg)",
        "",
    ]
    lines += ["All figures: " + ", ".join(_link(each) for each in records) + "."]
    return "\n".join(lines) + "\n"


def sentence(records: Sequence[Measured], groups: Mapping[str, Sequence[str]]) -> str:
    """Return what the README says of the speed."""
    clauses = []
    for measured in (each for each in records if not each.is_limited):
        exact = measured.ratios(groups[LARGE], 1)
        if not exact:
            continue
        clause = f"{_mean(exact)} on {_article(measured.cpu)} (worst {max(exact.values()):.2f})"
        if measured.has_bfloat16:
            fast = measured.ratios(groups[LARGE], 1, at_defaults=True, fast_math=True)
            clause += f", and {_mean(fast)} where both may compute in bfloat16"
        clauses.append(clause)
    return (
        "**Speed of CpuAcc.** Its time over that of the fastest of onnxruntime, OpenVINO and "
        "LiteRT, float32 models\nof 1 ms and more, one thread, geometric mean: "
        + ";\n".join(clauses)
        + ".\n[The picture](docs/speed.md) shows all models."
    )


def _with_sentence(readme: str, text: str) -> str:
    """Return the README with another sentence between its marks.

    Raises:
        ValueError: The marks are not there.
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md has no {BEGIN} with {END} behind it: put them back")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def _comparison(records: Sequence[Measured], groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the few lines of the overview."""
    yield "| geometric mean, worst, models at most 1 | " + _row(each.cpu for each in records)
    yield "|---|" + "---|" * len(records)
    for group in GROUPS:
        cells = (_spread(each.ratios(groups[group], 1)) for each in records)
        yield f"| {group} | " + _row(cells)
    timed = [name for group in GROUPS[:3] for name in groups[group]]
    yield "| all from 50 µs on, 2 threads | " + _row(
        _spread(each.ratios(timed, 2)) for each in records
    )
    counts = multiply_adds_of(records, groups[LARGE])
    at_peak = (_spread(each.ratios_at_peak(counts)) for each in records)
    yield f"| {LARGE}, were all multiply-adds at the peak | " + _row(at_peak)
    fast = (
        _spread(each.ratios(groups[LARGE], 1, at_defaults=True, fast_math=True))
        if each.has_bfloat16
        else "no bfloat16 there"
        for each in records
    )
    yield f"| {LARGE}, in bfloat16 | " + _row(fast)


def _machines(records: Sequence[Measured]) -> Iterator[str]:
    """Yield the table of machines, dates and versions."""
    yield "| | " + _row(each.cpu for each in records)
    yield "|---|" + "---|" * len(records)
    for field in ("date", "commit"):
        yield f"| {field} | " + _row(each.about[field] or "not recorded" for each in records)
    ages = (f"{len(each.outdated)} of {len(each.models)}" for each in records)
    yield "| models measured before CpuAcc's sources last changed | " + _row(ages)
    for name in dict.fromkeys(name for each in records for name in each.about["machine"]):
        yield f"| {name} | " + _row(str(each.about["machine"].get(name, "-")) for each in records)
    peaks = (each.about["kernels"] for each in records)
    yield "| multiply-add peak of one thread, memory | " + _row(
        f"{peak['peak_gflops']:.0f} GFLOP/s, {peak['gigabytes_per_second']:.0f} GB/s"
        for peak in peaks
    )
    yield "| cores that others kept busy, at most | " + _row(
        f"{max(model['other_cores'] for model in each.models.values()):.2f}" for each in records
    )


def _row(cells: Iterable[str]) -> str:
    return " | ".join(cells) + " |"


def _link(measured: Measured) -> str:
    return f"[{measured.cpu}](speed/{measured.slug}.md)"


def _article(cpu: str) -> str:
    return f"{'an' if cpu[0] in 'AEIOU' else 'a'} {cpu}"


def _mean(ratios: Mapping[str, float]) -> str:
    return f"{statistics.geometric_mean(ratios.values()):.2f}"


def _spread(ratios: Mapping[str, float]) -> str:
    if not ratios:
        return "not measured"
    worst = max(ratios, key=lambda name: ratios[name])
    good = sum(ratio <= 1 for ratio in ratios.values())
    return f"**{_mean(ratios)}**, {ratios[worst]:.2f} ({worst}), {good} of {len(ratios)}"


if __name__ == "__main__":
    sys.exit(main())
