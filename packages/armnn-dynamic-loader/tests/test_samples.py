# SPDX-License-Identifier: MIT
"""The samples: a backend and a host in C.

``test_native_page.py`` builds them with CMake, runs the kit on the backend, and a network.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn_backend_api import get_include
from armnn_dynamic_loader import samples

FOLDER = Path(samples.__file__).parent
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{get_include()}"]
SHARED = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs"]
LAPLACE = "0 1 0 0\n1 -3 1 0\n0 1 0 0\n0 0 0 0\n"


def run(*command: str | Path) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout


@pytest.fixture(scope="module")
def npu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("npu") / "Acme_AcmeNpu_backend.so"
    path.parent.chmod(0o755)
    run("gcc", *STRICT, *SHARED, "-o", path, FOLDER / "acme_npu.c")
    return path


@pytest.fixture
def build_host(tmp_path: Path) -> Callable[..., Path]:
    def build(*flags: str) -> Path:
        run("gcc", *STRICT, "-g", *flags, "-o", tmp_path / "host", FOLDER / "host.c", "-ldl")
        return tmp_path / "host"

    return build


def test_the_host_runs_a_small_graph_without_python(
    build_host: Callable[..., Path], npu: Path
) -> None:
    greeting = "AcmeNpu needs Backend API 1.0\nlaplace: yes\nsharpen: yes\n"
    assert run(build_host(), npu) == greeting + LAPLACE


def test_the_host_says_what_is_wrong_with_a_file(
    build_host: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "empty.c").write_text("int nothing;\n")
    run("gcc", *SHARED, "-o", tmp_path / "empty.so", tmp_path / "empty.c")
    host = build_host()
    for path, words in (("empty.so", "an export is missing"), ("none.so", "cannot open shared")):
        ran = subprocess.run([host, tmp_path / path], capture_output=True, text=True, check=False)
        assert ran.returncode == 1
        assert words in ran.stderr
