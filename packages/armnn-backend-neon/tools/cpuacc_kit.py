# SPDX-License-Identifier: MIT
"""Run the kit at each level and thread count.

    python packages/armnn-backend-neon/tools/cpuacc_kit.py [pytest arguments]

The levels are those that this machine has; ``ARMNN_CPUACC_ISA`` selects one. Of one that computes
in bfloat16 the kit runs what networks get without ``FastMathEnabled``.
"""

from __future__ import annotations

import os
import platform
import runpy
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

NEON = Path(__file__).resolve().parents[1]
BUILD = runpy.run_path(str(NEON / "native_build/levels.py"))
ONE_LEVEL = os.environ.get("ARMNN_CPUACC_ISA")
LEVELS = [
    level.name
    for level in BUILD["levels_of_processor"](BUILD["levels_of"](platform.machine()))
    if ONE_LEVEL in (None, level.name)
]
THREADS = (1, 2, 3)
PARALLEL = 2
"""Runs at a time: CI has two cores."""


def pytest(python: str, title: str, arguments: Sequence[str], **environment: str) -> bool:
    """Run pytest and print its output; return whether all passed."""
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    run = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(f"== {title}\n{run.stdout}", flush=True)
    return run.returncode == 0


def kit(
    python: str,
    levels: Iterable[str],
    arguments: Sequence[str],
    done: Path | None = None,
    **environment: str,
) -> bool:
    """Run the kit at each level and thread count.

    Args:
        python: The Python that has it.
        levels: Those that this Python's machine has.
        arguments: More of them, for pytest.
        done: A folder where each run that passed leaves a mark; with a mark it is not run again.
        environment: More variables.
    """

    def run(level: str, threads: int) -> bool:
        mark = None if done is None else done / f"{level}-{threads}"
        if mark is not None and mark.exists():
            print(f"== {level}, {threads} threads: passed before", flush=True)
            return True
        passed = pytest(
            python,
            f"{level}, {threads} threads",
            ["--pyargs", "armnn_conformance", "--armnn-backend", "CpuAcc", *arguments],
            ARMNN_CPUACC_ISA=level,
            ARMNN_CPUACC_THREADS=str(threads),
            **environment,
        )
        if passed and mark is not None:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
        return passed

    with ThreadPoolExecutor(PARALLEL) as pool:
        return all(list(pool.map(lambda each: run(*each), product(levels, THREADS))))


def main() -> int:
    """Run the kit; return 1 if a test failed."""
    if not LEVELS:
        print(f"ARMNN_CPUACC_ISA is {ONE_LEVEL!r}, expected a level of this processor")
        return 1
    return int(not kit(sys.executable, LEVELS, sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
