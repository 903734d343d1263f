# SPDX-License-Identifier: MIT
"""The start-up time of a runtime with many bad libraries.

One good library is among them.

::

    python -m benchmarks.overhead.dynamic_loading [--rounds 5] [--json]

The folder is that of the loader's tests: files that crash, hang, exit, print and misreport are in
it. The constructor of Runtime is timed in fresh processes: cold, with nothing known of any file and
a probe time-out of 1 s, and warm, with the verdicts of before. gcc builds the files.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from armnn_backend_api import get_include
from benchmarks.overhead import command
from tools import ROOT

TESTS = ROOT / "packages" / "armnn-dynamic-loader" / "tests"

_TIMED = """\
import logging, sys, time
import armnn
logging.disable()
options = armnn.CreationOptions(dynamic_backends_path=sys.argv[1], probe_timeout=1.0)
begin = time.perf_counter()
runtime = armnn.Runtime(options)
print(time.perf_counter() - begin)
assert runtime.registry.get("Good").id == "Good"
"""


def fill(folder: Path) -> int:
    """Build the files into a folder; return their number."""
    files = runpy.run_path(str(TESTS / "bad_files.py"))
    built = folder.parent / "built"
    built.mkdir()

    def compiled(*switches: str) -> Path:
        output = built / hashlib.sha256("\n".join(switches).encode()).hexdigest()
        source = TESTS / "mock_backend.c"
        command = ["gcc", "-std=gnu11", "-O1", "-fPIC", "-shared", f"-I{get_include()}"]
        subprocess.run([*command, *switches, "-o", output, source], check=True)
        return output

    files["fill"](folder, compiled)
    return len(files["FILES"])


def seconds(folder: Path, cache: Path) -> float:
    """Return what the constructor takes in a fresh process."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", _TIMED, str(folder)]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return float(run.stdout)


def measure(rounds: int) -> dict[str, Any]:
    """Return the medians, cold and warm, in seconds."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "backends")
        folder.mkdir()
        count = fill(folder)
        caches = [Path(temporary, f"cache{number}") for number in range(rounds)]
        return {
            "files": count,
            "cold_seconds": statistics.median(seconds(folder, cache) for cache in caches),
            "warm_seconds": statistics.median(seconds(folder, cache) for cache in caches),
        }


def line(row: dict[str, Any]) -> str:
    """Return the results as a sentence."""
    return (
        f"Runtime() on {row['files']} shared libraries, one of them good: "
        f"{row['cold_seconds']:.2f} s cold, {row['warm_seconds']:.3f} s warm"
    )


if __name__ == "__main__":
    sys.exit(command.run(__doc__, measure, line, "--rounds", 5))
