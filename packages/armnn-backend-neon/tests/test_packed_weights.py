# SPDX-License-Identifier: MIT
"""What programs of one backend know of packed weights."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from armnn_backend_api import get_include

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "cpp"


def test_what_is_known_of_weights_is_neither_found_out_nor_packed_again(tmp_path: Path) -> None:
    program = tmp_path / "packed"
    parts = [
        TESTS / "packed.cpp",
        SOURCES / "graph" / "packed.cpp",
        SOURCES / "threads" / "forks.cpp",
    ]
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    folders = [f"-I{SOURCES}", f"-I{get_include()}"]
    subprocess.run([*compiler, "-std=c++17", "-O1", *folders, *parts, "-o", program], check=True)
    run = subprocess.run([program], capture_output=True, text=True, check=True, timeout=120)
    questions = ["0 1, 1 2, 2 3, 5 6", "0 1, 1 1, 2 2, 5 5"]
    assert run.stdout.split("\n") == [*questions, "4 kept", "1 1 0 0 1 1", "2 64", ""]
