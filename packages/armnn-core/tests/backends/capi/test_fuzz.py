# SPDX-License-Identifier: MIT
"""The fuzzer of backend tables runs a few mutants.

Its session runs 10,000.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUZZER = Path(__file__).parents[3] / "tools" / "fuzz_native.py"


def test_mutants_are_refused_or_survived() -> None:
    command = [sys.executable, str(FUZZER), "--tables", "300", "--seed", "20000"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    counts = [int(line.split(maxsplit=1)[0]) for line in ran.stdout.splitlines()]
    assert sum(counts) == 300
    assert {"refused", "ran"} <= {line.split(maxsplit=1)[1] for line in ran.stdout.splitlines()}
