# SPDX-License-Identifier: MIT
"""Wrong layers inside of branches and loops: named, and reduced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import armnn
from armnn.debugging import compare, reduce
from armnn.errors import InvalidArgumentError
from fakes.plugins import backend_plugin, installed

SOURCE = """
import numpy as np
from fakes.faults import Fault, FaultyBackend

wrong = Fault("", "", "Softmax", lambda call: [call.right()[0] * np.float32(1.01)])
backend = FaultyBackend.around("CpuRef", wrong)
"""

POSITIVE = {"x": np.linspace(0.5, 2, 24, dtype=np.float32).reshape(3, 8)}
NEGATIVE = {"x": -POSITIVE["x"]}


@pytest.fixture(scope="module", autouse=True)
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install a backend with a wrong Softmax."""
    with installed(tmp_path_factory.mktemp("site"), backend_plugin("Faulty", source=SOURCE)):
        yield


def _graph(nodes: list[Any], outputs: dict[str, int], inputs: dict[str, int]) -> onnx.GraphProto:
    read, made = (
        [helper.make_tensor_value_info(name, kind, None) for name, kind in each.items()]
        for each in (inputs, outputs)
    )
    return helper.make_graph(nodes, "body", read, made)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a branch with a loop around a Softmax."""
    node = helper.make_node
    flags, real = TensorProto.BOOL, TensorProto.FLOAT
    body = _graph(
        [
            node("Identity", ["go"], ["again"]),
            node("Relu", ["state"], ["rectified"], name="rectified"),
            node("Softmax", ["rectified"], ["next"], name="culprit"),
        ],
        {"again": flags, "next": real},
        {"trip": TensorProto.INT64, "go": flags, "state": real},
    )
    loop = [node("Loop", ["trips", "", "x"], ["looped"], name="rounds", body=body)]
    other = [node("Tanh", ["x"], ["bent"], name="bent")]
    branches = {
        "then_branch": _graph(loop, {"looped": real}, {}),
        "else_branch": _graph(other, {"bent": real}, {}),
    }
    nodes = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["condition"]),
        node("If", ["condition"], ["chosen"], name="choice", **branches),
        node("Add", ["chosen", "x"], ["y"], name="last"),
    ]
    graph = helper.make_graph(
        nodes,
        "choice",
        [helper.make_tensor_value_info("x", real, ["rows", 8])],
        [helper.make_tensor_value_info("y", real, ["rows", 8])],
        [
            onnx.numpy_helper.from_array(np.array(3, np.int64), "trips"),
            onnx.numpy_helper.from_array(np.array(0, np.float32), "zero"),
        ],
    )
    opsets = [helper.make_opsetid("", 18)]
    file = tmp_path_factory.mktemp("models") / "choice.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), file)
    return file


def test_a_layer_of_a_loop_in_a_branch_is_named(path: Path) -> None:
    found = compare(path, ["Faulty"], inputs=[POSITIVE])
    assert {finding.types for finding in found.wrong} == {("Softmax",)}
    assert len(found.wrong) == 3  # one of each round
    assert all("culprit" in finding.layers[0] for finding in found.wrong)
    assert compare(path, ["Faulty"], inputs=[NEGATIVE]).agrees


def test_branches_and_loops_are_resolved_before_layers_go(path: Path, tmp_path: Path) -> None:
    found = reduce(path, ["Faulty"], tmp_path / "small.onnx", inputs=[POSITIVE])
    assert found.types == ("Softmax",)
    assert (found.confirmed, found.is_complete) == (3, True)  # of three runs of the script
    small = tmp_path / "small.onnx"
    assert {node.op_type for node in onnx.load(small).graph.node} <= {"Softmax", "Identity"}
    inputs, expected = (
        dict(np.load(tmp_path / f"small.{each}.npz")) for each in ("inputs", "expected")
    )
    (made,) = armnn.load_model(small, ["CpuRef"]).run(inputs).values()
    (right,) = expected.values()
    np.testing.assert_allclose(made, right, rtol=1e-6)


def test_inputs_that_take_the_other_branch_have_no_failure(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="no layer is wrong in 'choice' on Faulty"):
        reduce(path, ["Faulty"], tmp_path / "small.onnx", inputs=[NEGATIVE])
