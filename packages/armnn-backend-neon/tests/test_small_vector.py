# SPDX-License-Identifier: MIT
"""The vector of few numbers, beside std::vector."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "cpp"


def test_random_changes_leave_the_numbers_of_a_vector(tmp_path: Path) -> None:
    program = tmp_path / "small_vector"
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]
    options += ["-fsanitize=address,undefined", f"-I{SOURCES}"]
    subprocess.run([*compiler, *options, TESTS / "small_vector.cpp", "-o", program], check=True)
    # What runs all tests under ThreadSanitizer loads it first, and this has a sanitizer of its own.
    command = ["env", "--unset=LD_PRELOAD", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout == "0 wrong\n", run.stderr
