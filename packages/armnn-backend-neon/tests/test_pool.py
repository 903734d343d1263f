# SPDX-License-Identifier: MIT
"""The pool of threads, without kernels."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "cpp"


POOL = [SOURCES / "threads" / name for name in ("pool.cpp", "forks.cpp", "cpus.cpp")]


def build(program: Path, sources: list[Path]) -> None:
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    subprocess.run(
        [*compiler, "-std=c++17", "-O1", f"-I{SOURCES}", *sources, "-o", program, "-pthread"],
        check=True,
    )


def test_threads_compute_each_item_once_and_short_loops_wake_them(tmp_path: Path) -> None:
    program = tmp_path / "pool"
    threads = SOURCES / "threads"
    build(
        program,
        [TESTS / "pool.cpp", threads / "pool.cpp", threads / "forks.cpp", threads / "cpus.cpp"],
    )
    run = subprocess.run([program], capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout == "0 wrong, short loops wake: 1, alone on one CPU: 1\n", run.stderr


def test_runs_that_threads_slow_down_stay_alone(tmp_path: Path) -> None:
    program = tmp_path / "gain"
    build(program, [TESTS / "gain.cpp", SOURCES / "threads" / "gain.cpp"])
    run = subprocess.run([program], capture_output=True, text=True, check=True, timeout=120)
    rows = [line.split(": ") for line in run.stdout.splitlines()]
    shared = {what: float(percent) for what, percent in rows}
    for what in ("gains", "gains little", "loses in long runs", "interrupted"):
        assert shared[what] > 99.7, what
    assert shared["crowded"] > 99
    for what in ("loses", "becomes slow", "alone became faster", "loses on a crowded host"):
        assert shared[what] < 10, what
    assert shared["is fast again"] > 90
    assert shared["quick, timed"] == 0


def test_a_child_finds_no_mutex_locked_and_nothing_half_changed(tmp_path: Path) -> None:
    program = tmp_path / "forks"
    build(program, [TESTS / "forks.cpp", SOURCES / "threads" / "forks.cpp"])
    run = subprocess.run([program], capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout == "0 of 100 children wrong\n", run.stderr


def test_a_thread_that_gets_no_cpu_costs_no_more_than_the_chunk_it_took(tmp_path: Path) -> None:
    """Held asleep, it costs nothing; held in a chunk, that.

    The others are computed by the calling thread, and so is the next short loop.
    """
    program = tmp_path / "starved"
    threads = SOURCES / "threads"
    build(
        program,
        [TESTS / "starved.cpp", threads / "pool.cpp", threads / "forks.cpp", threads / "cpus.cpp"],
    )
    run = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    chunk = 1600 // 2 // 8
    assert run.stdout.splitlines() == [
        "never wakes: 0 wrong, 1600 by the caller in 16 parts",
        f"wakes: 0 wrong, {1600 - chunk} by the caller in 15 parts",
        "after it was late: 0 wrong, 1600 by the caller in 1 parts",
    ]
