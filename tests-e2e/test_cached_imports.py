# SPDX-License-Identifier: MIT
"""A process that runs a prepared model imports no parser and no optimizer.

``sys.modules`` is read, as ``python -X importtime`` omits modules that ``import_module`` imports.
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

UNNEEDED = (
    *("armnn.cli", "armnn.debugging", "armnn.optimizer.passes", "armnn.optimizer.phases"),
    *("armnn.viewing", "armnn_parser_"),
    *("PIL", "google", "onnx", "rich"),
)
"""How the names begin that a load of a prepared model may not import."""

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
def test_a_prepared_model_is_run_without_parser_and_optimizer(kind: str, tmp_path: Path) -> None:
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
    assert [name for name in modules if name.startswith(UNNEEDED)] == []


def test_a_stored_shape_is_run_without_parser_and_another_one_is_prepared(tmp_path: Path) -> None:
    weights = np.random.default_rng(3).normal(size=(4, 3)).astype(np.float32)
    model, cache = saved_with_open_shapes(tmp_path, weights), tmp_path / "cache"
    parser = "armnn_parser_onnx.parser"
    for shape, is_stored in ("2,3,4", False), ("1,5,4", False), ("2,3,4", True):
        modules, made = in_a_fresh_process(model, cache, shape=shape)
        ones = np.ones(tuple(map(int, shape.split(","))), np.float32)
        np.testing.assert_allclose(np.float32(made), np.maximum(ones @ weights, 0), rtol=1e-6)
        if is_stored:
            assert [name for name in modules if name.startswith(UNNEEDED)] == []
        else:
            assert parser in modules


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
    plugins = ("armnn_backend_neon", "armnn_backend_ref", "armnn_parser_")
    assert [name for name in modules if name.startswith(plugins)] == []
