# SPDX-License-Identifier: MIT
"""Damaged files end in a network or a clear error.

A few hundred run here, many in nox.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import ROOT

MISBEHAVING = """
import os
import armnn

def parse(path):
    call = len(os.listdir(os.environ["CALLS"]))
    os.mkdir(os.path.join(os.environ["CALLS"], str(call)))
    if call == 1:
        raise ValueError("no clean error")
    if call == 2:
        open("/proc/self/stat").close()
    if call == 3:
        bytearray(2**31)
    if call == 4:
        os.abort()
    if call == 6:
        while True:
            pass

armnn.parse = parse
"""


def fuzz(
    *arguments: str, tool: str = "parsers", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"tools.fuzz.{tool}", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("file_format", ["armnn", "onnx", "tflite"])
def test_damaged_files_end_in_clean_errors(file_format: str) -> None:
    done = fuzz(file_format, "--mutants", "450")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{file_format}: 450 mutants" in done.stdout
    assert "refused" in done.stdout


def test_damaged_files_of_a_cache_are_named_and_rebuilt() -> None:
    done = fuzz("--cases", "60", tool="prepared_files")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("prepared files: 60 cases: 10 right cut, 10 right damaged")


def test_the_fuzzer_notices_what_is_not_clean(tmp_path: Path) -> None:
    tmp_path.joinpath("sitecustomize.py").write_text(MISBEHAVING)
    kept, calls = tmp_path / "kept", tmp_path / "calls"
    calls.mkdir()
    done = fuzz(
        *("armnn", "--mutants", "6", "--processes", "1", "--keep", str(kept)),
        PYTHONPATH=str(tmp_path),
        CALLS=str(calls),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    for finding in (
        "mutant 0 raised: ValueError: no clean error",
        "mutant 1 opened: /proc/",
        "mutant 2 raised: MemoryError",
        "mutant 3 crashed: exit code -6",
        "mutant 4 timed out: it computed for more than 5 s",
    ):
        assert finding in done.stdout
    assert "6 mutants: 1 crashed, 1 opened, 1 parsed, 2 raised, 1 timed out" in done.stdout
    assert len(list(kept.iterdir())) == 5
