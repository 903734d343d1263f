# SPDX-License-Identifier: MIT
"""docs/command-line.md shows what the commands print; a profile of a real model adds up."""

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

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "command-line.md"
EXAMPLES = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S)


def comparable(text: str) -> list[str]:
    """The lines without what differs from run to run and from machine to machine."""
    text = re.sub(r"\d+\.\d+ (m?s)\b", r"# \1", text)
    text = re.sub(r"(\d\.\d{3})\d+", r"\1", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "#", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip(" ─")]


@pytest.fixture(scope="module")
def folder(
    model: Callable[[str], Path], page: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("documented")
    (folder / "model.onnx").symlink_to(model("page_orientation"))
    (folder / "page.png").symlink_to(page)
    return folder


def run(
    folder: Path, *arguments: str, environment: Path = Path(sys.prefix)
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment / "bin" / "armnn", *arguments],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_a_command_prints_what_the_document_shows(
    command: str, shown: str, folder: Path, usual_environment: Path
) -> None:
    name, *arguments = shlex.split(command)
    assert name == "armnn"
    printed = comparable(run(folder, *arguments, environment=usual_environment).stdout)
    if "..." not in shown:
        assert printed == comparable(shown)
    # Where the document leaves something out, what it shows is there, in this order.
    rest = iter(printed)
    assert all(line in rest for line in comparable(shown) if line != "...")


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
