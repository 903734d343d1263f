# SPDX-License-Identifier: MIT
"""Installations by pip: the core alone, with the command, and docs/installing.md's."""

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


ADVICE = "pip install --no-index --find-links WHEELHOUSE armnn-tools (WHEELHOUSE is"


def test_the_core_alone_has_no_command_and_says_what_brings_it(core_alone: Run) -> None:
    with pytest.raises(FileNotFoundError):
        core_alone("armnn")
    for arguments in ([], ["backends", "--json"], ["worker", "--help"]):
        attempt = core_alone("python", "-m", "armnn", *arguments)
        assert attempt.returncode == 1
        told = "armnn: error: the command armnn needs armnn-tools, which is not installed: "
        assert attempt.stderr.startswith(told + ADVICE)
        assert attempt.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["benchmarking", "debugging", "placement", "viewing"])
def test_the_core_alone_says_what_brings_its_tools(core_alone: Run, name: str) -> None:
    for code in (f"import armnn.{name}", f"import armnn; armnn.{name}"):
        attempt = core_alone("python", "-c", code)
        told = f"NotInstalledError: armnn.{name} needs armnn-tools, which is not installed: "
        assert told + ADVICE in attempt.stderr


BY_HAND = """\
import numpy, armnn
from armnn.backends import SUPPORTED, Backend, BackendVersion, Workload
class Adding(Workload):
    def bind(self, inputs, outputs):
        (a, b), (y,) = inputs, outputs
        return lambda: numpy.add(a.map(), b.map(), out=y.map())
class Mine(Backend):
    id, api_version = "Mine", BackendVersion(1, 0)
    def supports(self, layer, model):
        return SUPPORTED
    def create_workload(self, layer, model):
        return Adding()
net = armnn.Network("n")
x = net.add_input("x", armnn.TensorInfo((2,)))
net.add_output("y", net.add_addition(x, x))
with armnn.register_backend("Mine", Mine):
    model = armnn.load_model(net, ["Mine"])
    print(model.run({"x": numpy.float32([1, 2.5])})["y"].tolist())
"""


def test_the_core_alone_runs_a_network_on_a_registered_backend(core_alone: Run) -> None:
    attempt = core_alone("python", "-W", "error", "-c", BY_HAND)
    assert attempt.stdout == "[2.0, 5.0]\n", attempt.stderr


def test_the_command_alone_says_that_no_backend_is_installed_and_what_to_install(
    core_with_tools: Run,
) -> None:
    listing = core_with_tools("armnn", "backends")
    assert "No backend is installed" in listing.stdout + listing.stderr
    assert (
        'pip install --no-index --find-links WHEELHOUSE "armnn-core['
        in listing.stdout + listing.stderr
    )
    assert json.loads(core_with_tools("armnn", "backends", "--json").stdout) == []


def test_the_command_alone_names_the_parser_that_a_model_needs(
    core_with_tools: Run, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    attempt = core_with_tools("armnn", "run", path)
    assert attempt.returncode != 0
    assert "armnn-core[onnx]" in attempt.stderr
    assert "Traceback" not in attempt.stderr


def test_installed_backends_are_listed_with_their_origin(core_from_wheelhouse: Run) -> None:
    listing = core_from_wheelhouse("armnn", "backends", "--json")
    found = {backend["id"]: backend["distribution"] for backend in json.loads(listing.stdout)}
    assert found == {"CpuAcc": "armnn-backend-neon", "CpuRef": "armnn-backend-ref"}


def test_the_environment_of_the_wheelhouse_is_consistent(core_from_wheelhouse: Run) -> None:
    check = core_from_wheelhouse("python", "-m", "pip", "check")
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
