# SPDX-License-Identifier: MIT
"""The three promises hold as their page records them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROMISES = EXAMPLES / "promises"
LEFT_OUT = "…"


def recorded() -> dict[str, list[str]]:
    """Return the lines that the page records, by script."""
    text = (PROMISES / "README.md").read_text()
    parts = re.findall(r"promises/(\w+\.sh).*?```text\n(.*?)```", text, re.DOTALL)
    return {script: lines.splitlines() for script, lines in parts}


def pattern(line: str) -> re.Pattern[str]:
    """Return the pattern of a recorded line."""
    words = (r"\s+".join(map(re.escape, part.split())) for part in line.split(LEFT_OUT))
    return re.compile(r"\s*" + r"\s*.*?\s*".join(words) + r"\s*")


def missing(lines: list[str], output: list[str]) -> list[str]:
    """Return the recorded lines missing in the output."""
    rest = iter(output)
    return [line for line in lines if not any(pattern(line).fullmatch(each) for each in rest)]


def test_every_script_is_recorded() -> None:
    assert set(recorded()) == {path.name for path in PROMISES.glob("any_*.sh")}


@pytest.mark.parametrize("script", sorted(recorded()))
def test_a_promise_is_kept(script: str, model: Callable[[str], Path], tmp_path: Path) -> None:
    arguments = [model("page_orientation"), EXAMPLES / "page_turned_90.png"]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
        "COLUMNS": "240",
    }
    promises = PROMISES
    if script == "any_fault_explained.sh":  # this one as it is run after the demo
        promises = after_the_demo(tmp_path, *arguments)
        arguments, environment["PATH"] = [], os.environ["PATH"]
    done = subprocess.run(
        ["sh", promises / script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert missing(recorded()[script], done.stdout.splitlines()) == [], done.stdout


def after_the_demo(checkout: Path, model: Path, page: Path) -> Path:
    """Make a checkout as after the demo; return its promises."""
    for at, what in {
        ".cache/models/page_orientation.onnx": model,
        ".nox/demo": Path(sys.prefix),
        "examples/page_turned_90.png": page,
    }.items():
        (checkout / at).parent.mkdir(parents=True, exist_ok=True)
        (checkout / at).symlink_to(what)
    return shutil.copytree(PROMISES, checkout / "examples/promises")
