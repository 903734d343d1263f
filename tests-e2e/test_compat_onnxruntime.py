# SPDX-License-Identifier: MIT
"""The stand-in for onnxruntime says, gives and refuses what onnxruntime does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime as real
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as real_state
from packaging.version import Version

import armnn.compat.onnxruntime as ours
from armnn.compat.onnxruntime.capi import onnxruntime_pybind11_state as our_state

CPU = ["CPUExecutionProvider"]
X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.array([[1, -2], [3, 4], [-5, 6]], np.float32)


class Both(NamedTuple):
    """A session of onnxruntime and one of the stand-in."""

    theirs: Any
    mine: Any


def both(model: str | bytes) -> Both:
    options = real.SessionOptions()
    options.log_severity_level = 4
    return Both(
        real.InferenceSession(model, options, providers=CPU),
        ours.InferenceSession(model, providers=CPU),
    )


def linear() -> onnx.ModelProto:
    """``y = x @ w``, x of rows without a fixed number; the weights are optional inputs."""
    weights = onnx.numpy_helper.from_array(W, "w")
    given = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3]),
        helper.make_tensor_value_info("w", TensorProto.FLOAT, [3, 2]),
    ]
    made = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "linear", given, made, [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {"labels": "no yes"})
    return model


def described(session: Any) -> dict[str, Any]:
    def rows(args: Any) -> list[Any]:
        return [(arg.name, arg.type, list(arg.shape)) for arg in args]

    meta = session.get_modelmeta()
    names = ["custom_metadata_map", "description", "domain", "graph_description", "graph_name"]
    return {
        "inputs": rows(session.get_inputs()),
        "outputs": rows(session.get_outputs()),
        "overridable": rows(session.get_overridable_initializers()),
        "meta": {name: getattr(meta, name) for name in [*names, "producer_name", "version"]},
        "providers": session.get_providers(),
        "provider_options": session.get_provider_options(),
    }


@pytest.mark.parametrize("name", ["page_orientation", "text_direction"])
def test_a_public_model_is_described_alike(model: Callable[[str], Path], name: str) -> None:
    theirs, mine = both(str(model(name)))
    assert described(mine) == described(theirs)


def test_a_model_of_bytes_is_described_alike() -> None:
    theirs, mine = both(linear().SerializeToString())
    assert described(mine) == described(theirs)
    assert described(mine)["outputs"] == [("y", "tensor(float)", ["rows", 2])]


def test_data_beside_the_model_is_found(tmp_path: Path) -> None:
    path = tmp_path / "linear.onnx"
    onnx.save(linear(), path, save_as_external_data=True, location="w.data", size_threshold=0)
    assert (tmp_path / "w.data").stat().st_size == W.nbytes
    for session in both(str(path)):
        np.testing.assert_array_equal(session.run(None, {"x": X})[0], X @ W)


FEEDS: dict[str, dict[str, Any]] = {
    "arrays": {"x": X},
    "lists": {"x": X.tolist()},
    "strided": {"x": np.asfortranarray(X)},
    "no rows": {"x": np.zeros((0, 3), np.float32)},
    "missing": {},
    "unknown": {"x": X, "q": X},
    "double": {"x": X.astype(np.float64)},
    "rank": {"x": X[0]},
    "width": {"x": X[:, :2]},
    "text": {"x": "text"},
}


@pytest.mark.parametrize("kind", FEEDS)
def test_inputs_are_taken_and_refused_alike(kind: str) -> None:
    outcomes = []
    for session, state in zip(
        both(linear().SerializeToString()), (real_state, our_state), strict=True
    ):
        try:
            (y,) = session.run(["y"], FEEDS[kind])
        except state.InvalidArgument:
            outcomes.append("InvalidArgument")
        except (ValueError, RuntimeError) as error:
            outcomes.append("ValueError" if isinstance(error, ValueError) else "RuntimeError")
        else:
            outcomes.append(y.tolist())
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("version", [3, 8])
def test_initialisers_that_are_inputs_are_described_alike(version: int) -> None:
    model = linear()
    model.ir_version, model.opset_import[0].version = version, 8
    theirs, mine = both(model.SerializeToString())
    assert described(mine) == described(theirs)
    assert len(described(mine)["overridable"]) == (version > 3)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_scalar_is_one_element_of_any_rank(shape: tuple[int, ...]) -> None:
    given = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("k", TensorProto.FLOAT, []),
    ]
    made = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    node = helper.make_node("Mul", ["x", "k"], ["y"])
    model = helper.make_model(
        helper.make_graph([node], "scaled", given, made),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    feed = {"x": np.float32([1, 2]), "k": np.full(shape, 3, np.float32)}
    for session in both(model.SerializeToString()):
        np.testing.assert_array_equal(session.run(None, feed)[0].ravel(), [3, 6])


MODELS: dict[str, str | bytes] = {
    "missing": "/no/such/model.onnx",
    "garbage": b"garbage garbage",
    "empty": b"",
}


@pytest.mark.parametrize("kind", MODELS)
def test_models_are_refused_alike(kind: str) -> None:
    names = []
    for package in (real, ours):
        with pytest.raises(Exception, match=r"^\[ONNXRuntimeError\] : \d+ : ") as caught:
            package.InferenceSession(MODELS[kind], providers=CPU)
        names.append((type(caught.value).__name__, str(caught.value).split(" : ")[1:3]))
    assert names[0] == names[1]


def test_bindings_give_the_same() -> None:
    results = []
    for session, package in zip(both(linear().SerializeToString()), (real, ours), strict=True):
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", package.OrtValue.ortvalue_from_numpy(X))
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        (value,) = binding.get_outputs()
        results.append((value.shape(), value.data_type(), value.device_name()))
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], X @ W)
    assert results[0] == results[1]


def test_options_have_the_defaults_of_onnxruntime() -> None:
    theirs = real.SessionOptions()
    for name, value in vars(type(theirs)).items():
        if isinstance(value, property):
            expected = getattr(theirs, name)
            default = getattr(ours.SessionOptions(), name)
            assert getattr(default, "name", default) == getattr(expected, "name", expected), name


def test_it_stands_for_no_newer_release_than_it_is_compared_with() -> None:
    assert Version(ours.__version__) <= Version(real.__version__)


def test_it_refuses_the_place_of_an_onnxruntime_that_is_imported() -> None:
    with pytest.raises(ours.AlreadyImportedError, match="take the place of 'onnxruntime'"):
        ours.install()


def test_programs_find_it_where_they_look(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import importlib.util, sys\n"
        "import onnxruntime as ort\n"
        "from onnxruntime.capi import _pybind_state as C\n"
        "from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, NoSuchFile\n"
        "from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession\n"
        "assert importlib.util.find_spec('onnxruntime') is not None\n"
        "assert ort.InferenceSession is InferenceSession\n"
        "assert C.get_available_providers() == ort.get_available_providers()\n"
        "try:\n"
        "    ort.InferenceSession('/none')\n"
        "except NoSuchFile:\n"
        "    print(ort.__name__, *sys.argv[1:])\n"
    )
    command = [sys.executable, "-m", "armnn.compat.onnxruntime", program, "--option", "value"]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert run.stdout == "armnn.compat.onnxruntime --option value\n"
