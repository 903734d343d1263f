# SPDX-License-Identifier: MIT
"""Memory of compilations, from several threads."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "cpp"


@pytest.mark.parametrize("checks", [["-fsanitize=address,undefined"], ["-fsanitize=undefined"]])
def test_objects_keep_their_content_and_memory_is_used_again(
    tmp_path: Path, checks: list[str]
) -> None:
    program = tmp_path / "bump_allocator"
    parts = [TESTS / "bump_allocator.cpp", SOURCES / "graph" / "bump_allocator.cpp"]
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", *checks]
    subprocess.run([*compiler, *options, f"-I{SOURCES}", *parts, "-o", program], check=True)
    # What runs all tests under ThreadSanitizer loads it first, and this has a sanitizer of its own.
    command = ["env", "--unset=LD_PRELOAD", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    count, _, rest = run.stdout.partition(" wrong, ")
    assert count == "0", run.stderr
    assert "address,undefined" in "".join(checks) or rest == "used again\n"
