# SPDX-License-Identifier: MIT
"""Which folder of cpp/ may include which, as import-linter's contracts say it of Python."""

from __future__ import annotations

import re
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

CPP = Path(__file__).resolve().parents[1] / "cpp"

ORDER = ["abi", "layers", "passes", "operations", "graph", "kernels", "threads", "costs"]
"""A folder includes those behind it, never one before it."""


def folder_of(source: str) -> str:
    """Return the folder of a path; kernels/ is one."""
    folder = str(Path(source).parent)
    return "kernels" if folder.startswith("kernels/") else folder


def test_arrows_between_folders_point_down_without_a_circle() -> None:
    arrows: dict[str, set[str]] = defaultdict(set)
    for path in (*CPP.rglob("*.h"), *CPP.rglob("*.cpp")):
        folder = folder_of(str(path.relative_to(CPP)))
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            if (CPP / name).exists() and folder_of(name) != folder:
                arrows[folder].add(folder_of(name))
    rank = {name: place for place, name in enumerate(ORDER)}
    upward = [
        f"{folder} includes {other}"
        for folder, others in arrows.items()
        for other in sorted(others)
        if rank[other.partition("/")[0]] < rank[folder.partition("/")[0]]
    ]
    assert upward == []
    order = [*TopologicalSorter(arrows).static_order()]  # raises CycleError
    assert order.index("operations/gemm") < order.index("layers/lowering") < order.index("layers")
