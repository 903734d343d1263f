# SPDX-License-Identifier: MIT
"""Every program in examples/ does what its page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(program: str, *arguments: str | Path) -> list[str]:
    """Run an example in a process; return its lines."""
    command = [sys.executable, "-W", "error", EXAMPLES / program, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_a_picture_is_classified(model: Callable[[str], Path], page: Path) -> None:
    lines = run("classify_picture.py", model("page_orientation"), page)
    assert lines[0].startswith("turned by 90 degrees: 0.9")
    assert len(lines) == 5


def test_faces_are_found_where_they_were_drawn(
    model: Callable[[str], Path], tmp_path: Path
) -> None:
    picture = EXAMPLES / "two_faces.png"
    lines = run("detect_faces.py", model("face_detection"), picture, tmp_path / "faces.png")
    boxes = [np.array(re.findall(r"-?\d+", line)[2:], float) for line in lines]
    centers = sorted(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2) for box in boxes)
    # draw_example_faces.py puts the middles of the two heads at (150, 190) and (380, 210).
    np.testing.assert_allclose(centers, [(150, 210), (380, 226)], atol=12)
    assert (tmp_path / "faces.png").read_bytes() != picture.read_bytes()


def test_a_photograph_is_read_as_by_onnxruntime() -> None:
    *rows, _, sentence = run("read_photograph.py", EXAMPLES / "receipt.jpg")
    texts = [re.split(r"\s{2,}", row.strip()) for row in rows[1:]]
    # draw_example_receipt.py writes these.
    for expected in ("Espresso", "2.40", "Sandwich", "TOTAL", "17.30", "2026-11-23"):
        assert expected in [text for text, *_ in texts]
    assert len(texts) == 13
    for _, ours, theirs in texts:
        assert float(ours) == pytest.approx(float(theirs), abs=2e-3)
    assert re.search(r" in \d+ ms on armnn and in \d+ ms on onnxruntime; .* the same\.$", sentence)


def test_a_crash_is_survived() -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "survive_a_crash.py"],
        check=True,
        capture_output=True,
        text=True,
    )
    first, second, fault = done.stdout.splitlines()
    assert (first, second) == ("[[0. 0. 3.]]", "[[1. 0. 3.]]")
    assert "(crashing_backend:Crashing) ended with SIGSEGV in call 2 of 'positive'" in fault


def test_the_keyword_is_heard_and_other_words_are_not(model: Callable[[str], Path]) -> None:
    alexa = model("wake_word_alexa_int8")
    (heard,) = run("spot_keyword.py", alexa, EXAMPLES / "alexa.wav")
    seconds = float(heard.removeprefix("heard after ").removesuffix(" s"))
    assert 1.2 < seconds < 2.2  # the word begins after 0.75 s of noise
    speech = Path(__file__).parent / "data" / "speech.wav"
    assert run("spot_keyword.py", alexa, speech) == ["not heard"]


def test_the_notebook_runs_from_top_to_bottom(capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads((EXAMPLES / "custom_backend.ipynb").read_text(encoding="utf-8"))
    codes = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])
    names: dict[str, object] = {}
    for code in codes:
        exec(compile(code, "custom_backend.ipynb", "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert "widen: FullyConnected on Sketch" in lines
    assert "relu: Activation on CpuRef  (Sketch: not a dense layer)" in lines
    assert lines[-1].startswith("True output 'y' agrees")


PROGRAM = """\
import sys
from importlib.metadata import requires
import numpy as np
import armnn

first, *others = sys.argv[1:]
rng = np.random.default_rng(0)
weights = [rng.normal(size=size).astype(np.float32) for size in ((8, 80), (80, 4), (4,))]
net = armnn.Network()
x = net.add_input("x", armnn.TensorInfo((2, 8)))
hidden = net.add_activation(net.add_fully_connected(x, weights[0], name="wide"), function="ReLu")
net.add_output("y", net.add_fully_connected(hidden, *weights[1:], name="narrow"))
model = armnn.load_model(net, [first, *others, "CpuRef"])
data = rng.normal(size=(2, 8)).astype(np.float32)
expected = np.maximum(data @ weights[0], 0) @ weights[1] + weights[2]
np.testing.assert_allclose(model.run({"x": data})["y"], expected, rtol=1e-4, atol=1e-5)
print(*(row.backend for row in model.report))
print(*sorted(requires(f"armnn-backend-{first.lower()}")))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the three packages of shared_code."""
    folder = tmp_path_factory.mktemp("shared") / "site"
    packages = sorted(each.parent for each in EXAMPLES.glob("shared_code/*/pyproject.toml"))
    assert len(packages) == 3
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", folder]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, *packages], check=True)
    return folder


@pytest.mark.parametrize(
    ("backends", "owners"),
    [
        (["AcmeCpu"], ["AcmeCpu", "AcmeCpu", "AcmeCpu"]),
        (["AcmeNpu", "AcmeCpu"], ["AcmeCpu", "AcmeCpu", "AcmeNpu"]),
        (["AcmeNpu"], ["CpuRef", "CpuRef", "AcmeNpu"]),
    ],
)
def test_two_backends_share_a_distribution(
    site: Path, backends: list[str], owners: list[str]
) -> None:
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM, *backends],
        env={**os.environ, "PYTHONPATH": str(site)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert made.stdout.splitlines() == [" ".join(owners), "acme-kernels<2,>=1.0 armnn-core<2,>=1.1"]
