# SPDX-License-Identifier: MIT
"""CpuAcc's shared library works from a folder unchanged."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn_backend_neon import backend

LIBRARY = Path(backend.LIBRARY)

Run = Callable[..., subprocess.CompletedProcess[str]]

CONVOLUTION = """\
import sys, numpy as np, armnn
net = armnn.Network("edges")
x = net.add_input("x", armnn.TensorInfo((1, 3, 3, 1), armnn.DataType.FLOAT32))
w = net.add_constant(np.array([[1, 0], [0, -1]], np.float32).reshape(1, 2, 2, 1))
layout = armnn.DataLayout.NHWC
net.add_output("y", net.add_convolution2d(x, w, data_layout=layout))
options = armnn.CreationOptions(
    enable_static_backends=False, dynamic_backends_path=sys.argv[1]
)
with armnn.Runtime(options) as runtime:
    model = runtime.load_model(net, backends=["CpuAcc"])
    image = np.array([1, 2, 3, 4, 6, 8, 9, 12, 20], np.float32).reshape(1, 3, 3, 1)
    print(model.run({"x": image})["y"].ravel().tolist())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that holds only the library."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = tmp_path / "backends"
    made.mkdir(mode=0o755)
    shutil.copy(LIBRARY, made / LIBRARY.name)
    (made / LIBRARY.name).chmod(0o755)
    return made


def test_a_convolution_runs_on_the_dropped_file(installed: Run, folder: Path) -> None:
    ran = installed("python", "-W", "error", "-c", CONVOLUTION, folder)
    assert ran.stdout.strip() == "[-5.0, -6.0, -8.0, -14.0]", ran.stderr


def test_without_the_file_the_static_backend_is_switched_off(installed: Run, folder: Path) -> None:
    (folder / LIBRARY.name).unlink()
    ran = installed("python", "-c", CONVOLUTION, folder)
    assert ran.returncode != 0
    assert "CpuAcc" in ran.stderr.splitlines()[-1]


def test_the_lint_finds_nothing_wrong(installed: Run, folder: Path) -> None:
    lint = installed("armnn", "doctor", "--lint", folder / LIBRARY.name)
    assert (lint.returncode, lint.stdout.count("\n")) == (0, 1), lint.stdout
    assert lint.stdout.endswith(": nothing is wrong with it.\n")
