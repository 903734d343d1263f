# SPDX-License-Identifier: MIT
"""The stand-in for onnxruntime answers and refuses like onnxruntime."""

from __future__ import annotations

import json
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

import armnn_compat.onnxruntime as ours
from armnn_compat.onnxruntime.capi import onnxruntime_pybind11_state as our_state

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
    """Return ``y = x @ w`` with open rows and optional weights."""
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


def convolution() -> onnx.ModelProto:
    """Return a convolution whose outputs' dimensions follow the input's.

    They have names of their own.
    """
    shape = ["batch", 1, "height", "width"]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    given.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    made = [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["out", 1, "rows", None]),
        helper.make_tensor_value_info("flat", TensorProto.FLOAT, ["batch", "size"]),
    ]
    kernel = onnx.numpy_helper.from_array(np.ones((1, 1, 3, 3), np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2]),
        helper.make_node("Flatten", ["y"], ["flat"]),
    ]
    graph = helper.make_graph(nodes, "convolution", [given], made, [kernel])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    "names", [["batch", "height", "width"], ["DATA_BATCH", "height", "width"], ["width"]]
)
def test_dimensions_that_were_given_sizes_show_in_inputs_and_outputs(names: list[str]) -> None:
    rows = []
    for package in (real, ours):
        options = package.SessionOptions()
        for name, size in zip(names, [2, 9, 7][-len(names) :], strict=True):
            kind = "denotation" if name.isupper() else "name"
            getattr(options, f"add_free_dimension_override_by_{kind}")(name, size)
        session = package.InferenceSession(convolution().SerializeToString(), options)
        rows.append({arg.name: arg.shape for arg in session.get_inputs() + session.get_outputs()})
    theirs, mine = rows
    if len(names) == 3:
        assert mine == theirs
        assert mine["flat"] == [2, 12]
    else:
        assert mine["x"] == theirs["x"] == ["batch", 1, "height", 7]


def test_a_dimension_can_be_given_the_size_0() -> None:
    for package in (real, ours):
        options = package.SessionOptions()
        options.add_free_dimension_override_by_name("rows", np.int64(0))
        session = package.InferenceSession(linear().SerializeToString(), options)
        shapes = [arg.shape for arg in session.get_inputs() + session.get_outputs()]
        assert shapes == [[0, 3], [0, 2]]


def test_profiles_have_the_form_of_onnxruntime(tmp_path: Path) -> None:
    profiles = []
    for package in (real, ours):
        options = package.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(tmp_path / package.__name__)
        session = package.InferenceSession(linear().SerializeToString(), options)
        session.run(None, {"x": X})
        profiles.append(json.loads(Path(session.end_profiling()).read_text()))
    theirs, mine = profiles
    assert [row["name"] for row in mine] == [row["name"] for row in theirs]
    for row, other in zip(mine, theirs, strict=True):
        assert {key: type(value) for key, value in row.items()} == {
            key: type(value) for key, value in other.items()
        }
        assert [row[key] for key in ("cat", "ph", "pid")] == [
            other[key] for key in ("cat", "ph", "pid")
        ]
        assert row["args"].keys() <= other["args"].keys()
        known = [key for key in row["args"] if key != "provider"]
        assert [row["args"][key] for key in known] == [other["args"][key] for key in known]


NOT_FOR_PROGRAMS = {"contextlib", "import_capi_exception", "onnxruntime_validation"}
"""What onnxruntime's own source imports, and has therefore among its names."""


def public(thing: Any) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")} - NOT_FOR_PROGRAMS


def test_every_public_name_is_there() -> None:
    assert public(real) - public(ours) == set()
    for name in sorted(public(real)):
        kind = getattr(ours, name)
        if not isinstance(kind, type) or hasattr(kind, "__members__"):
            continue
        try:
            kind()
        except our_state.NotImplemented:
            continue  # refused when it is used, whatever it has
        except TypeError:
            pass  # it takes arguments
        assert public(getattr(real, name)) - public(kind) == set(), name


def test_enumerations_have_the_numbers_of_onnxruntime() -> None:
    compared = 0
    for name in sorted(public(real)):
        members = getattr(getattr(real, name), "__members__", None)
        if members is not None:
            numbers = {key: int(value) for key, value in getattr(ours, name).__members__.items()}
            assert numbers == {key: int(value) for key, value in members.items()}, name
            compared += 1
    assert compared >= 12


def test_every_exception_is_there() -> None:
    def exceptions(module: Any) -> set[str]:
        named = {name: getattr(module, name) for name in public(module)}
        kinds = {name: kind for name, kind in named.items() if isinstance(kind, type)}
        return {name for name, kind in kinds.items() if issubclass(kind, Exception)}

    assert exceptions(real_state) <= exceptions(our_state)


def test_a_fed_initializer_goes_before_its_value() -> None:
    theirs, mine = both(linear().SerializeToString())
    for feed in ({}, {"w": W + 1}, {"w": 2 * W}, {}):
        (expected,) = theirs.run(None, {"x": X, **feed})
        np.testing.assert_allclose(mine.run(None, {"x": X, **feed})[0], expected, rtol=1e-6)


@pytest.mark.parametrize("version", [3, 8])
def test_initializers_that_are_inputs_are_described_alike(version: int) -> None:
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
    command = [sys.executable, "-m", "armnn_compat.onnxruntime", program, "--option", "value"]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert run.stdout == "armnn_compat.onnxruntime --option value\n"
