# SPDX-License-Identifier: MIT
"""A record of execution and real files: weights beside a model, the library of CpuAcc."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import armnn
from armnn_backend_neon.backend import LIBRARY


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a model, its weights in a file of their own, and CpuAcc as a file."""
    weights = onnx.numpy_helper.from_array(np.ones((2, 64), np.float32), "w")
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"], name="multiply")
    ports = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, size])
        for name, size in (("x", 2), ("y", 64))
    ]
    graph = onnx.helper.make_graph([node], "one", ports[:1], ports[1:], [weights])
    opset = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, location="w.bin",
              size_threshold=0)  # fmt: skip
    (tmp_path / "acme").mkdir()
    shutil.copy(LIBRARY, tmp_path / "acme")
    return tmp_path


RECORD = """\
import sys, armnn
options = armnn.CreationOptions(dynamic_backends_path=sys.argv[1], enable_static_backends=False)
with armnn.Runtime(options) as runtime, runtime.load_model("model.onnx", ["CpuAcc"]) as model:
    model.record().write("record.json")
print(armnn.verify("record.json", "model.onnx", options))
"""


def test_a_byte_of_the_weights_and_of_the_library_is_named(folder: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    acme = str(folder / "acme")
    ran = run("-c", RECORD, acme)
    assert ran.stdout == "()\n", ran.stderr
    document = json.loads((folder / "record.json").read_text())
    (device,) = document["backends"]["CpuAcc"]["devices"].values()
    assert "costs" in device["fingerprint"]
    assert [*document["model"]["files"]] == ["w.bin"]

    library, weights = folder / "acme" / Path(LIBRARY).name, folder / "w.bin"
    with library.open("ab") as file:
        file.write(b"\n")
    weights.write_bytes(b"\1" + weights.read_bytes()[1:])
    where = ("--dynamic-backends-path", acme)
    verified = run("-m", "armnn", "verify", "record.json", "model.onnx", *where)
    assert verified.returncode == 1, verified.stderr
    items = [line.partition(":")[0] for line in verified.stdout.splitlines()]
    assert items[:-1] == ["model.files.w.bin", f"backends.CpuAcc.files.{library}"]


def test_a_worker_tells_the_devices_of_its_backend(folder: Path) -> None:
    here, there = (
        armnn.load_model(folder / "model.onnx", [name]).record().document["backends"][name]
        for name in ("CpuAcc", "isolated:CpuAcc")
    )
    assert here["devices"]
    assert there["devices"] == here["devices"]
    in_python = armnn.load_model(folder / "model.onnx", ["isolated:CpuRef"]).record()
    assert in_python.document["backends"]["isolated:CpuRef"]["devices"] == {}
