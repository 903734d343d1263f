# SPDX-License-Identifier: MIT
"""Imports of processes that run prepared models.

Counts and names are compared, which do not depend on the machine as times do. ``sys.modules`` is
read, as ``python -X importtime`` omits modules that ``import_module`` imports.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper

import armnn

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Nothing of it is needed; what the first column begins with may not be imported.
UNNEEDED = (
    "armnn._companions",
    "armnn._functions",
    "armnn._spelling",
    "armnn._symbolic",
    "armnn._whole_files",
    "armnn.backends.blame",
    "armnn.backends.crashes",
    "armnn.backends.ffi.constants",
    "armnn.backends.journal",
    "armnn.backends.locking",
    "armnn.backends.native.compiling",
    "armnn.backends.native.extensions",
    "armnn.backends.native.ports",
    "armnn.backends.native.programs.graph",
    "armnn.backends.native.programs.replanning",
    "armnn.backends.python",
    "armnn.backends.registration",
    "armnn.backends.replanning",
    "armnn.backends.sources",
    "armnn.backends.views",
    "armnn.backends.workers",
    "armnn.benchmarking",
    "armnn.cli",
    "armnn.compat",
    "armnn.debugging",
    "armnn.graph._builders",
    "armnn.graph._operands",
    "armnn.graph.layer",
    "armnn.graph.network",
    "armnn.graph.text",
    "armnn.isolation",
    "armnn.layers",
    "armnn.optimizer.assignment",
    "armnn.optimizer.evaluation",
    "armnn.optimizer.folds",
    "armnn.optimizer.layouts",
    "armnn.optimizer.observe",
    "armnn.optimizer.optimized_network",
    "armnn.optimizer.passes",
    "armnn.optimizer.phases",
    "armnn.optimizer.prepared",
    "armnn.optimizer.rewrite",
    "armnn.optimizer.segments",
    "armnn.optimizer.shapes",
    "armnn.optimizer.symbolic",
    "armnn.optimizer.template",
    "armnn.parsing.conversion",
    "armnn.parsing.exporting",
    "armnn.parsing.flatbuffers",
    "armnn.placement",
    "armnn.processes",
    "armnn.profiling",
    "armnn.quantization",
    "armnn.runtime.calls.imports",
    "armnn.runtime.calls.watched_runs",
    "armnn.runtime.memory",
    "armnn.runtime.plans.binding",
    "armnn.runtime.plans.layer_contexts",
    "armnn.storage.armnn_files",
    "armnn.storage.layers",
    "armnn.storage.prepared",
    "armnn.verdicts",
    "armnn.viewing",
    "armnn_backend_api.files",
    "armnn_backend_api.location",
    "armnn_backend_ref.ops",
    "armnn_backend_ref.support",
    "armnn_backend_ref.workload",
    "armnn_parser_",
    "csv",
    "dataclasses",  # it compiles methods of each class: 59 classes until November 2026
    "heapq",
    "google",
    "importlib.metadata",
    "importlib.resources",
    "importlib.util",
    "importlib_metadata",
    "json",
    "logging",
    "lzma",
    "ml_dtypes",
    "onnx",
    "packaging",
    "pathlib",  # with what it imports, 3 ms and 300 kB of compiled code
    "random",
    "rich",
    "shutil",
    "subprocess",
    "tempfile",
    "traceback",
    "unicodedata",
    "urllib",
)

# What a cold load of a convolution and an activation may not import.
UNNEEDED_COLD = (
    "armnn._spelling",
    "armnn.backends.workers",
    "armnn.graph._builders.convolution",
    "armnn.graph.statistics",
    "armnn.graph.text",
    "armnn.isolation",
    "armnn.layers.attention",
    "armnn.layers.detection",
    "armnn.layers.dimensions",
    "armnn.layers.indexing",
    "armnn.layers.normalization",
    "armnn.layers.recurrent",
    "armnn.layers.reduction",
    "armnn.layers.resizing",
    "armnn.layers.selecting",
    "armnn.layers.sequence",
    "armnn.optimizer.assignment.islands",
    "armnn.optimizer.assignment.precision",
    "armnn.optimizer.folds",
    "armnn.optimizer.layouts.regions",
    "armnn.optimizer.passes.fold_pad",
    "armnn.optimizer.passes.fold_quantization",
    "armnn.optimizer.passes.move_permute_down",
    "armnn.optimizer.passes.recognize_",
    "armnn.quantization",
    "armnn.runtime.calls.elsewhere",
    "armnn.runtime.memory",
    "armnn.runtime.plans.binding",
    "armnn.runtime.plans.layer_contexts",
)

MOST_MODULES = 95
"""Modules of ours; 155 until November 2026."""

FOR_OTHER_FILES = 2
"""Modules of ours for a model that keeps weights in other files."""

MOST_OTHERS = 10
"""Modules of the standard library that NumPy does not import; 52 until November 2026.

Three of them compute the digest of a file that was just written.
"""

CHILD = """if True:
    import sys
    import numpy

    before = set(sys.modules)
    import armnn

    cache = {"cache_dir": each for each in sys.argv[3:]}
    model = armnn.load_model(sys.argv[1], ["CpuAcc", "CpuRef"], **cache)
    shape = tuple(map(int, sys.argv[2].split(",")))
    made = model.run({"x": numpy.ones(shape, numpy.float32)})["y"].tolist()
    modules = sorted(set(sys.modules) - before)
    import json

    print(json.dumps([modules, made]))
    """


def saved(folder: Path) -> Path:
    """Write a model of a convolution and an activation."""
    network = armnn.Network("small")
    x = network.add_input("x", armnn.TensorInfo((1, 4, 4, 3)))
    weights = network.add_constant(np.full((2, 3, 3, 3), 0.5, np.float32))
    made = network.add_convolution2d(
        x, weights, pad_left=1, pad_right=1, pad_top=1, pad_bottom=1, data_layout="NHWC"
    )
    network.add_output("y", network.add_activation(made, function="ReLu"))
    armnn.save(network, folder / "small.armnn")
    return folder / "small.armnn"


def saved_with_open_shapes(folder: Path, weights: NDArray[Any]) -> Path:
    """Write a product whose weights are in another file."""
    (folder / "w.bin").write_bytes(weights.tobytes())
    stored = onnx.TensorProto(name="w", data_type=1, dims=weights.shape)
    stored.data_location = onnx.TensorProto.EXTERNAL
    stored.external_data.add(key="location", value="w.bin")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Relu", ["product"], ["y"]),
        helper.make_node("Identity", ["x"], ["same"]),  # as models of transformers pass inputs on
    ]
    ports = [helper.make_tensor_value_info(name, 1, ["n", "length", 4]) for name in ("x", "same")]
    made = helper.make_tensor_value_info("y", 1, ["n", "length", 3])
    graph = helper.make_graph(nodes, "open", ports[:1], [made, ports[1]], [stored])
    opset = [helper.make_opsetid("", 17)]
    path = folder / "open.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=opset).SerializeToString())
    return path


def in_a_fresh_process(
    model: Path, *cache: Path, shape: str = "1,4,4,3"
) -> tuple[list[str], object]:
    """Return modules and result of a process with a model."""
    command = [sys.executable, "-c", CHILD, str(model), shape, *map(str, cache)]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    modules, made = json.loads(run.stdout)
    return modules, made


@pytest.mark.parametrize("kind", ["cached", "compiled"])
def test_a_prepared_model_is_loaded_and_run_with_few_modules(kind: str, tmp_path: Path) -> None:
    model = saved(tmp_path)
    cache = [tmp_path / "cache"] if kind == "cached" else []
    cold, expected = in_a_fresh_process(model, *cache)
    if kind == "compiled":
        model = tmp_path / "small.armnn-prepared"
        runtime = armnn.Runtime()
        runtime.compile_network(armnn.parse(tmp_path / "small.armnn"), model, ["CpuAcc", "CpuRef"])
    modules, made = in_a_fresh_process(model, *cache)
    assert made == expected
    assert "armnn.optimizer.passes" in cold
    assert [name for name in cold if name.startswith(UNNEEDED_COLD)] == []
    assert [name for name in modules if name.startswith(UNNEEDED)] == []
    ours = [name for name in modules if name.startswith("armnn")]
    others = [name for name in modules if name not in ours]
    assert len(ours) <= MOST_MODULES, ours
    assert len(others) <= MOST_OTHERS, others


def test_a_stored_shape_is_run_with_few_modules_and_another_one_is_prepared(
    tmp_path: Path,
) -> None:
    weights = np.random.default_rng(3).normal(size=(4, 3)).astype(np.float32)
    model, cache = saved_with_open_shapes(tmp_path, weights), tmp_path / "cache"
    parser = "armnn_parser_onnx.parser"
    for shape, is_stored in ("2,3,4", False), ("1,5,4", False), ("2,3,4", True):
        modules, made = in_a_fresh_process(model, cache, shape=shape)
        ones = np.ones(tuple(map(int, shape.split(","))), np.float32)
        np.testing.assert_allclose(np.float32(made), np.maximum(ones @ weights, 0), rtol=1e-6)
        if not is_stored:
            assert parser in modules
            continue
        assert [name for name in modules if name.startswith(UNNEEDED)] == []
        ours = [name for name in modules if name.startswith("armnn")]
        assert len(ours) <= MOST_MODULES + FOR_OTHER_FILES, ours
        assert len(modules) - len(ours) <= MOST_OTHERS, modules


def test_a_list_of_the_backends_imports_none_of_them() -> None:
    code = """if True:
        import json, runpy, sys

        sys.argv = ["armnn", "backends", "--json"]
        try:
            runpy.run_module("armnn", run_name="__main__")
        except SystemExit as end:
            assert not end.code
        print(json.dumps(sorted(sys.modules)))
        """
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    modules = json.loads(run.stdout.splitlines()[-1])
    unneeded = (
        "armnn.backends.locking",
        "armnn.backends.native.",
        "armnn.cli.layer_support",
        "armnn.cli.self_descriptions",
        "armnn.optimizer",
        "armnn.processes",
        "armnn.runtime",
        "importlib.resources",
        "numpy",  # two thirds of the command's time until November 2026
        "rich",
        "tempfile",
    )
    assert [name for name in modules if name.startswith(unneeded)] == []


def test_the_command_runs_a_cached_model_without_the_optimizer(tmp_path: Path) -> None:
    code = """if True:
        import json, runpy, sys

        sys.argv = ["armnn", "run", *sys.argv[1:], "--backends", "CpuAcc"]
        try:
            runpy.run_module("armnn", run_name="__main__")
        except SystemExit as end:
            assert not end.code
        print(json.dumps(sorted(sys.modules)))
        """
    command = [sys.executable, "-c", code, str(saved(tmp_path)), "--cache-dir", str(tmp_path / "c")]
    modules = []
    for _ in range(2):
        run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        modules = json.loads(run.stdout.splitlines()[-1])
    unneeded = (
        "armnn.graph.network",
        "armnn.layers.convolution",
        "armnn.optimizer.passes",
        "armnn.optimizer.phases",
        "armnn.optimizer.prepared",
        "armnn.parsing.flatbuffers",
        "armnn.storage.armnn_files.",
        "armnn_parser_",
    )
    assert [name for name in modules if name.startswith(unneeded)] == []
