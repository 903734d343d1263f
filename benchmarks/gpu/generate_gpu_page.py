# SPDX-License-Identifier: MIT
"""Write the tables of docs/gpu.md from the records in docs/gpu/; ``--check`` fails if stale.

    python -m benchmarks.gpu.generate_gpu_page [--check]

``benchmarks.gpu.measure`` writes a record for each device.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tools import ROOT

Record: TypeAlias = "Mapping[str, Any]"

RECORDS = ROOT / "docs" / "gpu"
PAGE = ROOT / "docs" / "gpu.md"

BEGIN = "<!-- benchmarks/gpu/generate_gpu_page.py writes the tables from docs/gpu/. -->\n"
END = "<!-- End of the tables. -->\n"


def page(text: str, records: Sequence[Record]) -> str:
    """Return the text of the page with the tables of these records."""
    before, _, rest = text.partition(BEGIN)
    _, _, behind = rest.partition(END)
    return f"{before}{BEGIN}\n{chr(10).join(_tables(records))}\n{END}{behind}"


def _tables(records: Sequence[Record]) -> Iterator[str]:
    for record in records:
        about = record["about"]
        yield (
            f"### {about['device']}\n\n"
            f"Device: {about['kind']}, {about['units']} compute units, driver {about['driver']}. "
            f"Processor: {about['processor']}, {about['cores']} cores, {about['other_cores']} of "
            f"them busy with other programs. Measured {about['date']}, commit {about['commit']}.\n"
        )
        yield "| | GpuAcc | layers | other programs |\n|---|---|---|---|"
        yield _row("product of 1024 x 1024 matrices", record["product"])
        for name, found in record["models"].items():
            yield _row(name, found)
        yield ""


def _row(name: str, found: Mapping[str, Any]) -> str:
    own = found.get("GpuAcc")
    others = [
        f"{other} {time:.4g}, ratio {own / time:.3g}" if own else f"{other} {time:.4g}"
        for other, time in found.items()
        if other not in ("GpuAcc", "layers")
    ]
    shown = "-" if own is None else f"{own:.4g}"
    return f"| {name} | {shown} | {found.get('layers', '')} | {'; '.join(others)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables, or say that they are stale; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    check, old = parser.parse_args(arguments).check, PAGE.read_text(encoding="utf-8")
    text = page(old, [json.loads(path.read_text("utf-8")) for path in sorted(RECORDS.glob("*"))])
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    elif text != old:
        print(f"{PAGE} is stale: run python -m benchmarks.gpu.generate_gpu_page")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
