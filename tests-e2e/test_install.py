# SPDX-License-Identifier: MIT
"""Installations by pip: core alone, and docs/installing.md's."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.release import wheelhouse

REPOSITORY = Path(__file__).resolve().parents[1]
Run = Callable[..., subprocess.CompletedProcess[str]]


def test_the_core_alone_says_that_no_backend_is_installed_and_what_to_install(
    core_alone: Run,
) -> None:
    listing = core_alone("armnn", "backends")
    assert "No backend is installed" in listing.stdout + listing.stderr
    assert (
        'pip install --no-index --find-links WHEELHOUSE "armnn-core['
        in listing.stdout + listing.stderr
    )
    assert json.loads(core_alone("armnn", "backends", "--json").stdout) == []


def test_the_core_alone_names_the_parser_that_a_model_needs(
    core_alone: Run, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    attempt = core_alone("armnn", "run", path)
    assert attempt.returncode != 0
    assert "armnn-core[onnx]" in attempt.stderr
    assert "Traceback" not in attempt.stderr


def test_the_core_alone_builds_networks(core_alone: Run) -> None:
    code = (
        "import armnn; net = armnn.Network('n');"
        "x = net.add_input('x', armnn.TensorInfo((2, 3), armnn.DataType.FLOAT32));"
        "print(net.add_addition(x, x).info.shape)"
    )
    attempt = core_alone("python", "-c", code)
    assert attempt.stdout.strip() == "(2, 3)", attempt.stderr


def test_installed_backends_are_listed_with_their_origin(core_from_wheelhouse: Run) -> None:
    listing = core_from_wheelhouse("armnn", "backends", "--json")
    found = {backend["id"]: backend["distribution"] for backend in json.loads(listing.stdout)}
    assert found == {"CpuAcc": "armnn-backend-neon", "CpuRef": "armnn-backend-ref"}


def test_the_environments_are_consistent(core_alone: Run, core_from_wheelhouse: Run) -> None:
    for run in (core_alone, core_from_wheelhouse):
        check = run("python", "-m", "pip", "check")
        assert check.returncode == 0, check.stdout


def test_the_demo_tells_which_way_the_page_is_turned(
    core_from_wheelhouse: Run, model: Callable[[str], Path], page: Path
) -> None:
    answer = core_from_wheelhouse(
        "armnn", "run", model("page_orientation"), "--input", f"x={page}", "--report", "--top-k=1"
    )
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^ *class +label +score *$", answer.stdout, re.MULTILINE)
    assert re.search(r"^ *1 +90 +0\.9\d+ *$", answer.stdout, re.MULTILINE)
    ran = r"^ *Conv\.0 to Softmax\.0 \(73 layers\) .* CpuAcc +compiled into one part$"
    assert re.search(ran, answer.stdout, re.MULTILINE)


def test_the_module_is_the_command(core_from_wheelhouse: Run) -> None:
    command = core_from_wheelhouse("armnn", "--version")
    module = core_from_wheelhouse("python", "-m", "armnn", "--version")
    assert command.stdout == module.stdout
    assert command.stdout.startswith("armnn-core ")


def test_the_wheelhouse_has_all_of_ours_and_names_all_of_others(tmp_path: Path) -> None:
    more = tmp_path / "armnn_backend_neon-1.0.0-py3-none-manylinux_2_27_aarch64.whl"
    more.touch()
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / "armnn_core-0.1-py3-none-any.whl").touch()  # what was there before goes
    wheelhouse.fill(folder, [more], this_machine_only=True)
    ours = sorted(path.parent.name for path in REPOSITORY.glob("packages/*/pyproject.toml"))
    made = sorted(path.name for path in folder.glob("*.whl"))
    assert more.name in made
    assert sorted({name.partition("-")[0].replace("_", "-") for name in made}) == ours
    assert len(made) == len(ours) + 1
    others = (folder / "requirements.txt").read_text().splitlines()
    names = [re.split("[>=<~]", line)[0] for line in others]
    assert {"ml-dtypes", "numpy", "pillow", "pyelftools", "rich"} <= set(names)
    assert "onnx" not in names
    assert not [name for name in names if name.startswith("armnn")]
    first, second = wheelhouse.commands(Path("dist/wheelhouse"))
    page = (REPOSITORY / "docs/installing.md").read_text()
    assert f"    {first}\n    {second}\n" in page


def test_a_wheelhouse_is_refused_where_a_wheel_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheelhouse, "DIST", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no wheel of armnn-\S+: run \./nox -s build"):
        wheelhouse.fill(tmp_path / "wheels")
