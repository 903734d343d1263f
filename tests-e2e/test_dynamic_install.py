# SPDX-License-Identifier: MIT
"""Wheels of core and loader with a vendor's file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

PACKAGES = Path(__file__).resolve().parents[1] / "packages"
MOCK = PACKAGES / "armnn-dynamic-loader" / "tests" / "mock_backend.c"

SUM = """\
import sys, numpy as np, armnn
net = armnn.Network("sum")
a, b = (net.add_input(name, armnn.TensorInfo((2,), armnn.DataType.FLOAT32)) for name in "ab")
net.add_output("y", net.add_addition(a, b))
options = armnn.CreationOptions(dynamic_backends_path=sys.argv[1])
with armnn.Runtime(options) as runtime:
    model = runtime.load_model(net, backends=["MockAdd"])
    print(model.run({"a": np.float32([5, 3]), "b": np.float32([10, 8])})["y"].tolist())
"""


@pytest.fixture
def build(
    core_with_loader: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Return a function that compiles a mock with the header.

    The header is the installed one; each mock has a folder of its own.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "backends"
    folder.mkdir(mode=0o755)
    includes = core_with_loader("python", "-m", "armnn_backend_api", "--includes").stdout.strip()

    def compile_mock(name: str, *switches: str) -> Path:
        path = folder / name
        command = ["gcc", "-std=gnu11", "-fPIC", "-shared", includes, *switches, "-o", path, MOCK]
        subprocess.run(command, check=True)
        path.chmod(0o755)
        return path

    return compile_mock


def test_a_dropped_file_is_found_and_runs(
    core_with_loader: Run, build: Callable[..., Path]
) -> None:
    folder = build("Mock_Add_backend.so").parent
    listing = core_with_loader("armnn", "backends", "--dynamic-backends-path", folder, "--json")
    (found,) = json.loads(listing.stdout)
    assert (found["id"], found["state"], found["api_version"]) == ("MockAdd", "known", "1.0")
    ran = core_with_loader("python", "-W", "error", "-c", SUM, folder)
    assert ran.stdout.strip() == "[15.0, 11.0]", ran.stderr


def test_a_bad_file_is_turned_down_and_doctor_says_why(
    core_with_loader: Run, build: Callable[..., Path]
) -> None:
    folder = build("Mock_Bad_backend.so", "-DAT_LOAD=abort()").parent
    build("Mock_Add_backend.so")
    where = ["--dynamic-backends-path", folder]
    doctor = core_with_loader("armnn", "doctor", *where, "--backends", "MockAdd")
    assert doctor.returncode == 0, doctor.stderr
    assert f"File '{folder}/Mock_Bad_backend.so' crashed with SIGABRT" in doctor.stdout
    named = core_with_loader("armnn", "doctor", *where, "--backends", "MockBad", "--json")
    assert named.returncode == 1
    assert json.loads(named.stdout)["unusable"] == ["MockBad"]
    ran = core_with_loader("python", "-c", SUM, folder)
    assert ran.stdout.strip() == "[15.0, 11.0]", ran.stderr


def test_the_lint_reads_a_file_without_running_it(
    core_with_loader: Run, build: Callable[..., Path]
) -> None:
    path = build("Mock_Bad_backend.so", "-DAT_LOAD=abort()", "-DNO_VERSION")
    lint = core_with_loader("armnn", "doctor", "--lint", path)
    assert lint.returncode == 1
    assert "It does not export GetVersion" in lint.stdout
    assert "It has no note .note.armnn" in lint.stdout
