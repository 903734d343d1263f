# SPDX-License-Identifier: MIT
"""Models that are loaded and dropped, again and again, keep no memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from test_compat_litert import empty_model, operator, packed, part, schema, tensor

WEIGHTS = 1 << 18
"""Elements: 1 MiB in float32, so that 200 models would keep 200 MiB."""

HEAD = """\
import copy, gc, multiprocessing, pickle, sys
import numpy as np
import armnn

PATH = sys.argv[1]
X = np.ones((1, 512), np.float32)

def resident_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20

def grown_by(times, make):
    for _ in range(5):
        make()
    before = resident_mib()
    for _ in range(times):
        make()
    return resident_mib() - before

"""

WAYS = {
    "load": "lambda: armnn.load_model(PATH)",
    "bind": "lambda: armnn.load_model(PATH).bind({'x': X})()",
    "pickle": "lambda: pickle.loads(stored)",
    "copy": "lambda: copy.deepcopy(model)",
    "other runtime": "lambda: other.load_model(PATH).run({'x': X})",
    "session": "lambda: InferenceSession(PATH).run(None, {'x': X})",
    "interpreter": "lambda: Interpreter(sys.argv[2]).allocate_tensors()",
}

SETUP = """\
from armnn.runtime import Runtime
from armnn_compat.litert import Interpreter
from armnn_compat.onnxruntime import InferenceSession
gc.disable()  # what is dropped goes without it
model, other = armnn.load_model(PATH), Runtime()
stored = pickle.dumps(model)
"""

PYARMNN = """
import armnn_compat.pyarmnn as ann

def run_once():
    runtime = ann.IRuntime(ann.CreationOptions())
    network = ann.IOnnxParser().CreateNetworkFromBinaryFile(sys.argv[1])
    backends = [ann.BackendId("CpuAcc")]
    optimized, _ = ann.Optimize(network, backends, runtime.GetDeviceSpec(), ann.OptimizerOptions())
    runtime.LoadNetwork(optimized)
    del runtime, network, optimized
    gc.collect()

print(grown_by(50, run_once))
"""

POOL = """
def task(model):
    model.run({"x": X})
    return resident_mib()

if __name__ == "__main__":
    model = armnn.load_model(PATH)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        used = pool.map(task, [model] * 40, chunksize=1)
    print(used[-1] - used[4])
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model with 1 MiB of weights."""
    helper = onnx.helper
    weights = np.random.default_rng(3).normal(size=(512, WEIGHTS // 512)).astype(np.float32)
    x, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", ["n", 512]), ("y", ["n", WEIGHTS // 512]))
    )
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])],
        "dense",
        [x],
        [y],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    file = tmp_path_factory.mktemp("models") / "dense.onnx"
    onnx.save(model, file)
    return file


@pytest.fixture(scope="module")
def tflite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of such a model of TensorFlow Lite."""
    weights = np.random.default_rng(3).normal(size=(WEIGHTS // 512, 512)).astype(np.float32)
    model, real = empty_model(weights), schema.TensorType.FLOAT32
    rows = WEIGHTS // 512
    tensors = [tensor("x", [1, 512], real), tensor("w", [rows, 512], real, 1)]
    tensors.append(tensor("y", [1, rows], real))
    dense = operator(model, "FULLY_CONNECTED", [0, 1, -1], [2], "FullyConnectedOptions")
    file = tmp_path_factory.mktemp("models") / "dense.tflite"
    file.write_bytes(packed(model, part(tensors, [0], [2], [dense])))
    return file


def printed(source: str, folder: Path, *arguments: Path) -> str:
    file = folder / "program.py"
    file.write_text(source)
    done = subprocess.run(
        [sys.executable, "-W", "error", file, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_dropped_models_keep_no_memory(path: Path, tflite: Path, tmp_path: Path, way: str) -> None:
    times = 200 if way in ("load", "pickle", "copy") else 60  # the others take longer
    program = f"{HEAD}{SETUP}print(grown_by({times}, {WAYS[way]}))\n"
    assert float(printed(program, tmp_path, path, tflite)) < 10


def test_networks_of_dropped_runtimes_of_pyarmnn_keep_no_memory(path: Path, tmp_path: Path) -> None:
    assert float(printed(HEAD + PYARMNN, tmp_path, path)) < 10


def test_each_task_of_a_pool_frees_its_model(path: Path, tmp_path: Path) -> None:
    assert float(printed(HEAD + POOL, tmp_path, path)) < 10


def test_a_process_ends_with_models_in_any_state(path: Path, tmp_path: Path) -> None:
    program = """
class Keeps:
    def __del__(self):
        del self.model

kept = Keeps()
kept.model = armnn.load_model(PATH)
call = armnn.load_model(PATH).bind({"x": X})
task = armnn.load_model(PATH).submit({"x": X})
circle = [armnn.load_model(PATH)]
circle.append(circle)
del circle
print(call()["y"].shape, task.result()["y"].shape)
"""
    assert printed(HEAD + program, tmp_path, path) == "(1, 512) (1, 512)\n"


def test_a_forked_process_drops_its_copy(path: Path, tmp_path: Path) -> None:
    program = """
import os
model = armnn.load_model(PATH)
model.run({"x": X})
child = os.fork()
if not child:
    del model
    gc.collect()
    os._exit(len(armnn.load_model(PATH).run({"x": X})) - 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), model.run({"x": X})["y"].shape)
"""
    assert printed(HEAD + program, tmp_path, path) == "0 (1, 512)\n"
