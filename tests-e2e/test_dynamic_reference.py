# SPDX-License-Identifier: MIT
"""The reference backend as a file: a real model alone.

It is found, and it convolves. Arm NN's guide describes this test for its own Arm_CpuRef_backend.so;
running a program with a dynamic backend is the end-to-end test of the design note.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn.backends.native import NativeBackend

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, installed: Run) -> Path:
    """Build Arm_CpuRef_backend.so by its source's own command.

    The source's first comment gives it.
    """
    folder = tmp_path_factory.mktemp("dynamic")
    folder.chmod(0o755)
    path = folder / "Arm_CpuRef_backend.so"
    includes = installed("python", "-m", "armnn_backend_api", "--includes").stdout.strip()
    source = installed("python", "-m", "armnn_dynamic_loader", "--python-backend").stdout.strip()
    command = [
        "gcc", "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-z,defs",
        includes, '-DBACKEND_ID="CpuRef"',
        '-DBACKEND_CLASS="armnn_backend_ref.backend:RefBackend"',
        "-o", str(path), source,
    ]  # fmt: skip
    subprocess.run(command, check=True)
    path.chmod(0o755)
    return path


@pytest.fixture
def runtime(reference: Path) -> Iterator[armnn.Runtime]:
    options = armnn.CreationOptions(
        dynamic_backends_path=str(reference.parent), enable_static_backends=False
    )
    with armnn.Runtime(options) as runtime:
        yield runtime


def test_it_is_registered_and_supports_and_makes_a_convolution(
    runtime: armnn.Runtime, reference: Path
) -> None:
    (entry,) = [entry for entry in runtime.registry.entries() if not entry.is_static]
    assert (entry.id, entry.state.value, entry.origin) == ("CpuRef", "known", str(reference))
    backend = runtime.registry.get("CpuRef")
    assert isinstance(backend, NativeBackend)
    net = armnn.Network("convolution")
    x = net.add_input("x", armnn.TensorInfo((1, 16, 16, 16)))
    weights = np.linspace(-1, 1, 16 * 9 * 16, dtype=np.float32).reshape(16, 3, 3, 16)
    y = net.add_convolution2d(x, weights, data_layout=armnn.DataLayout.NHWC)
    net.add_output("y", y)
    (layer,) = [layer for layer in net.layers if layer.type == "Convolution2d"]
    model = backend.create_model_context({})
    assert backend.supports(layer, model)
    assert backend.create_workload(layer, model) is not None
    feeds = {"x": np.random.default_rng(3).normal(size=(1, 16, 16, 16)).astype(np.float32)}
    expected = armnn.load_model(net, backends=["CpuRef"]).run(feeds)["y"]
    actual = runtime.load_model(net, backends=["CpuRef"], strict=True).run(feeds)["y"]
    np.testing.assert_array_equal(actual, expected)


def test_the_command_runs_a_real_model_with_it_alone(
    installed: Run, reference: Path, model: Callable[[str], Path], tmp_path: Path
) -> None:
    path = str(model("page_orientation"))
    outputs = {}
    for name, where in {
        "static": [],
        "dynamic": ["--no-static-backends", "--dynamic-backends-path", str(reference.parent)],
    }.items():
        file = tmp_path / f"{name}.npy"
        shown = installed(
            "armnn", "run", path, "--backends", "CpuRef", "--strict", "--shape", "1x3x224x224",
            "--seed", "5", "--output", f"fetch_name_0={file}", "--json", *where,
        )  # fmt: skip
        assert shown.returncode == 0, shown.stderr
        outputs[name] = np.load(file)
    assert outputs["static"].shape == (1, 4)
    np.testing.assert_array_equal(outputs["dynamic"], outputs["static"])


def test_doctor_and_the_listing_show_it(installed: Run, reference: Path) -> None:
    where = ["--dynamic-backends-path", str(reference.parent)]
    listed = json.loads(installed("armnn", "backends", *where, "--json").stdout)
    found = [each for each in listed if each["origin"] == str(reference)]
    assert [(each["state"], each["source"]) for each in found] == [("shadowed", "dynamic")]
    seen = installed("armnn", "doctor", *where)
    assert seen.returncode == 0, seen.stderr
    assert f"from {reference} is shadowed by the one from armnn-backend-ref" in seen.stdout
