# SPDX-License-Identifier: MIT
"""The pool of threads, without kernels."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "cpp"


def test_threads_compute_each_item_once_and_short_loops_wake_them(tmp_path: Path) -> None:
    program = tmp_path / "pool"
    parts = [TESTS / "pool.cpp", SOURCES / "threads" / "pool.cpp", SOURCES / "threads" / "cpus.cpp"]
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    subprocess.run(
        [*compiler, "-std=c++17", "-O1", f"-I{SOURCES}", *parts, "-o", program, "-pthread"],
        check=True,
    )
    run = subprocess.run([program], capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout == "0 wrong, short loops wake: 1, alone on one CPU: 1\n", run.stderr
