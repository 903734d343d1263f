# SPDX-License-Identifier: MIT
"""Check a core with a backend for nox: the cells of the pair, one for each door.

``check_pair.py CORE BACKEND``.
"""

from __future__ import annotations

import sys
from typing import Any

from matrix import CORES, REFUSED, Cell, Matrix, cells, outcome, tried

# What cell.py computes. Windows of 2 x 2 over a picture of 1 to 9 with a row and a column of zeros
# above and before it, by hand: 4*1, 3*1+4*2, ...; in the middle 1*1+2*2+3*4+4*5 = 37.
RIGHT: dict[str, Any] = {
    "Convolution2d": [[[[4, 11, 18], [18, 37, 47], [36, 67, 77]]]],
    "Addition": [11, 22, 33],
}
LAST_OF_EQUALS = 2


def problems(cell: Cell, found: dict[str, Any]) -> list[str]:
    """Return a cell's differences from compat.toml."""
    backend = tried(cell.backend)
    computed = {"result": RIGHT[backend.layer], "reason": ""}
    wanted: dict[str, Any] = {"what happens": cell.expected, "api": CORES[cell.core]["api"]}
    seen = {"what happens": outcome(found), "api": found.get("api")}
    if cell.outcome in REFUSED:
        wanted["instead"] = {**computed, "backend": "CpuRef"} if backend.id != "CpuRef" else None
    else:
        wanted["layer"] = {**computed, "backend": backend.id}
        if found.get("field"):
            by = backend.id if cell.outcome == "offered" else "CpuRef"
            wanted["field"] = {"result": LAST_OF_EQUALS, "backend": by}
            seen["field"] = {name: found["field"][name] for name in wanted["field"]}
    seen = {**found, **seen}
    return [
        f"{name}: got {seen.get(name)}, expected {value}"
        for name, value in wanted.items()
        if seen.get(name) != value
    ]


def main(core: str, backend: str) -> int:
    """Check a pair's cells; return 1 if one differs from compat.toml."""
    pair = [cell for cell in cells() if (cell.core, cell.backend) == (core, backend)]
    if not pair:
        print(f"compat.toml has no cell of core {core} and backend {backend}")
        return 1
    matrix = Matrix()
    matrix.prepare()
    found = {cell.door: problems(cell, matrix.observed(cell)) for cell in pair}
    for cell in pair:
        as_told = f"{cell.outcome}, as compat.toml says"
        print(f"{cell.door}:", "\n".join(found[cell.door]) or as_told)
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
