# SPDX-License-Identifier: MIT
"""The pictures of the README show what the commands print."""

from __future__ import annotations

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


def test_the_demo_runs_what_the_readme_shows() -> None:
    _, _, demo = (REPOSITORY / "noxfile.py").read_text().partition("\ndef demo(")
    photograph = demo.index('"examples/read_photograph.py", "examples/receipt.jpg"')
    assert photograph < demo.index('"examples/promises/any_accelerator.sh", model, page')
