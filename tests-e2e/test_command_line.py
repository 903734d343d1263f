# SPDX-License-Identifier: MIT
"""Documented output of commands, and a real model's profile."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
InstalledFor = Callable[[Path], Path]


def examples(page: str) -> list[tuple[str, str]]:
    """Return a page's commands with the output it shows."""
    return re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)


COMMANDS = examples("command-line.md")
TROUBLES = examples("troubleshooting.md")
BROKEN_PLUGINS = {
    ("acme-npu", ">=1.0,<2", "AcmeNpu"): 'import ctypes; ctypes.CDLL("libacme_driver.so.3")',
    ("acme-tpu", ">=2.0,<3", "AcmeTpu"): "",
    ("zenith-ref", ">=1.0,<2", "CpuRef"): "",
}


def comparable(text: str) -> list[str]:
    """Return the lines without the parts that vary."""
    text = re.sub(r"\d+\.\d+ (m?s)\b", r"# \1", text)
    text = re.sub(r"(\d\.\d{3})\d+", r"\1", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "#", text)
    text = re.sub(r"\b\d+\.\d+\.\d+\b", "#.#.#", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip(" ─")]


@pytest.fixture(scope="module")
def folder(
    model: Callable[[str], Path], page: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("documented")
    (folder / "model.onnx").symlink_to(model("page_orientation"))
    (folder / "page.png").symlink_to(page)
    return folder


@pytest.fixture(scope="module")
def broken_plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the plug-ins of docs/troubleshooting.md into a folder."""
    site = tmp_path_factory.mktemp("site")
    for (name, api, backend_id), source in BROKEN_PLUGINS.items():
        module = name.replace("-", "_")
        information = site / f"{module}-2.1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.1.0\n"
            f"Requires-Dist: armnn-backend-api{api}\n"
        )
        entry_point = f"[armnn.backends]\n{backend_id} = {module}:Backend\n"
        (information / "entry_points.txt").write_text(entry_point)
        (site / f"{module}.py").write_text(source)
    return site


def run(
    folder: Path, *arguments: str, environment: Path = Path(sys.prefix), **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment / "bin" / "armnn", *arguments],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_the_document_shows(
    command: str, shown: str, folder: Path, usual_environment: Path
) -> None:
    name, *arguments = shlex.split(command)
    assert name == "armnn"
    assert_shown(run(folder, *arguments, environment=usual_environment).stdout, shown)


@pytest.mark.parametrize(("command", "shown"), TROUBLES, ids=[command for command, _ in TROUBLES])
def test_a_command_prints_what_the_document_shows_of_broken_plugins(
    command: str, shown: str, folder: Path, usual_environment: Path, broken_plugins: Path
) -> None:
    name, *arguments = shlex.split(command)
    assert name == "armnn"
    path = str(broken_plugins)
    done = run(folder, *arguments, environment=usual_environment, PYTHONPATH=path)
    assert_shown(done.stdout, shown)


def assert_shown(output: str, shown: str) -> None:
    """Assert that a document shows the output.

    It may leave parts out.
    """
    printed = comparable(output)
    if "..." not in shown:
        assert printed == comparable(shown)
    # Where the document leaves something out, what it shows is there, in this order.
    rest = iter(printed)
    missing = [line for line in comparable(shown) if line != "..." and line not in rest]
    assert missing == [], output


def test_the_layers_of_a_profile_add_up_to_the_run(folder: Path) -> None:
    # CpuRef, by name: a backend that takes a whole subgraph is one layer of the profile.
    command = ["run", "model.onnx", "--backends", "CpuRef", "--iterations", "5"]
    done = run(folder, *command, "--profile", "profile.json")
    assert done.returncode == 0, done.stdout
    events = json.loads((folder / "profile.json").read_text())["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    shares = []
    for measured in (event for event in complete if event["name"] == "run"):
        begin, end = measured["ts"], measured["ts"] + measured["dur"]
        layers = [e for e in complete if e["cat"] == "layer" and begin <= e["ts"] <= end]
        assert len(layers) > 50
        shares.append(sum(event["dur"] for event in layers) / measured["dur"])
    # The best of five: another process may get the processor between two layers of any of them.
    assert 0.95 <= max(shares) <= 1
