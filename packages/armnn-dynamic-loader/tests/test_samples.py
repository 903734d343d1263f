# SPDX-License-Identifier: MIT
"""The samples: a backend and a host in C.

``test_native_page.py`` runs the kit on the backend.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn_backend_api import get_cmake_dir, get_include
from armnn_conformance.checks.correctness import CaseResult, check_cell
from armnn_conformance.subject import Subject
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


@pytest.mark.parametrize("name", ["acme_npu.c", "host.c"])
def test_a_sample_can_be_read_at_one_sitting(name: str) -> None:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 300
    assert max(map(len, lines)) <= 100


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


def test_cmake_builds_both(tmp_path: Path) -> None:
    source = tmp_path / "samples"
    shutil.copytree(FOLDER, source)
    place = f"-DCMAKE_PREFIX_PATH={get_cmake_dir()}"
    ran = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", source, "-B", tmp_path / "out", place],
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    subprocess.run(["cmake", "--build", tmp_path / "out"], capture_output=True, check=True)
    assert LAPLACE in run(tmp_path / "out" / "host", tmp_path / "out" / "Acme_AcmeNpu_backend.so")


def test_armnn_finds_it_and_runs_a_convolution(npu: Path) -> None:
    network = armnn.Network("conv")
    x = network.add_input("x", armnn.TensorInfo((1, 1, 3, 3)))
    weights = np.ones((1, 1, 2, 2), np.float32)
    network.add_output("y", network.add_convolution2d(x, weights))
    options = armnn.CreationOptions(dynamic_backends_path=str(npu.parent))
    with armnn.Runtime(options) as runtime:
        model = runtime.load_model(network, backends=["AcmeNpu"])
        result = model.run({"x": np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)})["y"]
    np.testing.assert_array_equal(result, [[[[8, 12], [20, 24]]]])


@pytest.mark.parametrize("layer", ["Addition", "Convolution2d"])
def test_the_conformance_kit_accepts_it(npu: Path, layer: str) -> None:
    with Subject(str(npu)) as subject:
        cell = check_cell(subject, layer, armnn.DataType.FLOAT32)
    assert cell.result is CaseResult.PASSED, cell.details(CaseResult.FAILED)
