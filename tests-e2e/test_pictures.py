# SPDX-License-Identifier: MIT
"""The pictures of the README show what the commands print."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tools.generate.report_picture import PICTURE, drawn, lines_of, recorded

REPOSITORY = Path(__file__).resolve().parents[1]


def test_the_report_is_what_the_command_prints(model: Callable[[str], Path]) -> None:
    shown = lines_of(PICTURE.read_text(encoding="utf-8"))
    assert lines_of(drawn(recorded(model("page_orientation")))) == shown
    assert any("AcmeNpu: AcmeNpu runs" in line for line in shown)


def test_the_picture_is_in_colours_and_loads_nothing() -> None:
    picture = PICTURE.read_text(encoding="utf-8")
    assert "#56d4dd" in picture  # the first backend
    assert "#e3b341" in picture  # the second
    assert "url(http" not in picture
    assert "font-face" not in picture


def test_the_commands_of_the_tour_work(model: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "model.onnx").symlink_to(model("page_orientation"))
    (tmp_path / "page.png").symlink_to(REPOSITORY / "examples" / "page_turned_90.png")
    _, _, tour = (REPOSITORY / "README.md").read_text().partition("\n## A minute's tour\n")
    commands = re.findall(r"^    armnn (.*?) +# ", tour, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        short = ["--duration", "0.1"] if command.startswith("bench") else []
        done = subprocess.run(
            [sys.executable, "-m", "armnn", *command.split(), *short],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_the_demo_runs_what_the_readme_shows() -> None:
    _, _, demo = (REPOSITORY / "noxfile.py").read_text().partition("\ndef demo(")
    photograph = demo.index('"examples/read_photograph.py", "examples/receipt.jpg"')
    assert photograph < demo.index('"examples/promises/any_accelerator.sh", model, page')
