# SPDX-License-Identifier: MIT
"""The interpreter over a local parser and backend.

Arguments, state and refusals are tested.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import flatbuffers
import numpy as np
import pytest
import tflite

from armnn.errors import (
    BackendUnavailableError,
    InvalidArgumentError,
    UnknownBackendError,
)
from armnn_compat import litert
from armnn_compat.litert.delegates import Delegate
from fakes.plugins import Plugin

if TYPE_CHECKING:
    from armnn.backends import OptionValue

X = np.array([[1, 2]], np.float32)

PARSER = """\
import tflite
from armnn.errors import ParseError
from armnn.graph import Network
from armnn.tensor import TensorInfo

def parse(source):
    data = source if isinstance(source, bytes) else source.read_bytes()
    if data[4:8] != b"TFL3":
        raise ParseError("not a model")
    tensor = tflite.Model.GetRootAs(data, 0).Subgraphs(0).Tensors(0)
    network = Network()
    x = network.add_input("x", TensorInfo(tensor.ShapeAsNumpy().tolist()))
    network.add_output("y", network.add_addition(x, x))
    return network
"""


def vector(builder: Any, start: Callable[..., Any], items: Sequence[int], kind: str) -> Any:
    start(builder, len(items))
    for item in reversed(items):
        getattr(builder, f"Prepend{kind}")(item)
    return builder.EndVector()


def tensor(builder: Any, name: str, shape: Sequence[int], *, is_variable: bool = False) -> Any:
    text = builder.CreateString(name)
    dimensions = vector(builder, tflite.TensorStartShapeVector, shape, "Int32")
    tflite.TensorStart(builder)
    tflite.TensorAddName(builder, text)
    tflite.TensorAddShape(builder, dimensions)
    tflite.TensorAddIsVariable(builder, is_variable)
    return tflite.TensorEnd(builder)


def tensor_map(builder: Any, name: str, index: int) -> Any:
    text = builder.CreateString(name)
    tflite.TensorMapStart(builder)
    tflite.TensorMapAddName(builder, text)
    tflite.TensorMapAddTensorIndex(builder, index)
    return tflite.TensorMapEnd(builder)


def signature(builder: Any, key: str, subgraph: int) -> Any:
    text = builder.CreateString(key)
    takes, makes = (tensor_map(builder, *pair) for pair in (("left", 0), ("sum", 1)))
    takes = vector(builder, tflite.SignatureDefStartInputsVector, [takes], "UOffsetTRelative")
    makes = vector(builder, tflite.SignatureDefStartOutputsVector, [makes], "UOffsetTRelative")
    tflite.SignatureDefStart(builder)
    tflite.SignatureDefAddSignatureKey(builder, text)
    tflite.SignatureDefAddInputs(builder, takes)
    tflite.SignatureDefAddOutputs(builder, makes)
    tflite.SignatureDefAddSubgraphIndex(builder, subgraph)
    return tflite.SignatureDefEnd(builder)


def model_bytes(signatures: dict[str, int] | None = None, *, with_state: bool = False) -> bytes:
    """Return ``y = x + x`` with x of [1,2].

    The parser above reads nothing else of it.
    """
    builder = flatbuffers.Builder(256)
    buffer = (tflite.BufferStart(builder), tflite.BufferEnd(builder))[1]
    tensors = [tensor(builder, name, (1, 2)) for name in "xy"]
    if with_state:
        tensors.append(tensor(builder, "state", (1,), is_variable=True))
    offset = "UOffsetTRelative"
    tensors = vector(builder, tflite.SubGraphStartTensorsVector, tensors, offset)
    takes = vector(builder, tflite.SubGraphStartInputsVector, [0], "Int32")
    makes = vector(builder, tflite.SubGraphStartOutputsVector, [1], "Int32")
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    tflite.SubGraphAddInputs(builder, takes)
    tflite.SubGraphAddOutputs(builder, makes)
    subgraph = tflite.SubGraphEnd(builder)
    named = [signature(builder, key, index) for key, index in (signatures or {}).items()]
    named = vector(builder, tflite.ModelStartSignatureDefsVector, named, offset)
    subgraphs = vector(builder, tflite.ModelStartSubgraphsVector, [subgraph], offset)
    buffers = vector(builder, tflite.ModelStartBuffersVector, [buffer], offset)
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddSubgraphs(builder, subgraphs)
    tflite.ModelAddBuffers(builder, buffers)
    tflite.ModelAddSignatureDefs(builder, named)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())


@pytest.fixture
def options_seen(
    install_stand_ins: Callable[[Plugin], dict[str, dict[str, OptionValue]]],
) -> dict[str, dict[str, OptionValue]]:
    """Return the backends' options in a process with TFLite parser."""
    entry = {"armnn.parsers": {"tflite": "armnn_parser_fake:parse"}}
    parser = Plugin("armnn-parser-fake", "1", (), entry, {"armnn_parser_fake": PARSER})
    return install_stand_ins(parser)


def run(interpreter: litert.Interpreter) -> Any:
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, X)
    interpreter.invoke()
    return interpreter.get_tensor(1)


def test_a_model_runs(options_seen, tmp_path) -> None:
    np.testing.assert_array_equal(run(litert.Interpreter(model_content=model_bytes())), 2 * X)
    path = tmp_path / "model.bin"
    path.write_bytes(model_bytes())
    np.testing.assert_array_equal(run(litert.Interpreter(path)), 2 * X)


def test_an_input_keeps_its_value_and_gives_copies(options_seen) -> None:
    interpreter = litert.Interpreter(model_content=model_bytes())
    np.testing.assert_array_equal(run(interpreter), 2 * X)
    interpreter.get_tensor(0)[...] = 7
    interpreter.get_tensor(1)[...] = 7
    interpreter.allocate_tensors()
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(0), X)
    np.testing.assert_array_equal(interpreter.get_tensor(1), 2 * X)


def test_a_resized_model_has_zeros_until_it_is_run(options_seen) -> None:
    interpreter = litert.Interpreter(model_content=model_bytes())
    run(interpreter)
    interpreter.resize_tensor_input(0, (3, 2))
    with pytest.raises(RuntimeError, match="Invoke called on model that is not ready"):
        interpreter.invoke()
    interpreter.allocate_tensors()
    np.testing.assert_array_equal(interpreter.get_tensor(1), np.zeros((3, 2), np.float32))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "`model_path` or `model_content` must be specified"),
        ({"model_path": "/none.tflite"}, r"^Could not open '/none.tflite'\.$"),
        ({"model_path": "a", "model_content": b"b"}, "Can't both provide `model_path` and"),
        ({"model_content": b"nonsense"}, "^not a model$"),
        ({"num_threads": 0}, "num_threads should >= 1: got 0"),
        ({"num_threads": "2"}, "type of num_threads should be int: got '2'"),
        ({"experimental_preserve_all_tensors": True}, "intermediate tensors are not kept, as"),
        (
            {"experimental_delegates": [object()]},
            "made for another run time: expected a delegate of this module's load_d",
        ),
    ],
)
def test_wrong_arguments_are_value_errors(options_seen, arguments, message: str) -> None:
    if "model_path" not in arguments and "model_content" not in arguments and arguments:
        arguments = {**arguments, "model_content": model_bytes()}
    with pytest.raises(ValueError, match=message):
        litert.Interpreter(**arguments)


@pytest.mark.parametrize(
    ("action", "kind", "message"),
    [
        (lambda i: i.set_tensor(1, X), ValueError, r"the tensor 1 \('y'\) is not an input"),
        (lambda i: i.set_tensor(0, X.astype(int)), ValueError, "Got value of type int64 but exp"),
        (lambda i: i.set_tensor(0, X[0]), ValueError, r"Got \[2\] but expected \[1, 2\]"),
        (
            lambda i: i.get_tensor(2),
            ValueError,
            "Invalid tensor index 2 exceeds max tensor index 2",
        ),
        (lambda i: i.resize_tensor_input(1, [2]), RuntimeError, r"the inputs are \[0\]"),
        (lambda i: i.resize_tensor_input(0, [2]), RuntimeError, r"dimensions are \[1, 2\]$"),
        (lambda i: i.resize_tensor_input(0, [-1, 2]), RuntimeError, r"resized to \[-1, 2\]"),
        (
            lambda i: i.resize_tensor_input(0, [2, 2], strict=True),
            RuntimeError,
            r"dimensions are \[1, 2\], of which those may change that are -1$",
        ),
        (lambda i: i.get_tensor_details(1), ValueError, "subgraph_index is 1: only the tensors of"),
    ],
)
def test_wrong_calls_are_refused(options_seen, action, kind: type[Exception], message: str) -> None:
    interpreter = litert.Interpreter(model_content=model_bytes())
    interpreter.allocate_tensors()
    with pytest.raises(kind, match=message):
        action(interpreter)


def test_nothing_is_there_before_tensors_are_allocated(options_seen) -> None:
    interpreter = litert.Interpreter(model_content=model_bytes())
    with pytest.raises(ValueError, match=r"Try calling allocate_tensors\(\) first"):
        interpreter.set_tensor(0, X)
    with pytest.raises(ValueError, match="Tensor data is null for the tensor 1"):
        interpreter.get_tensor(1)


def test_a_model_with_state_runs_once_per_reset(options_seen) -> None:
    interpreter = litert.Interpreter(model_content=model_bytes(with_state=True))
    run(interpreter)
    with pytest.raises(RuntimeError, match=r"values are not kept .* call reset_all_variables\(\)"):
        interpreter.invoke()
    interpreter.reset_all_variables()
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(1), 2 * X)


def test_a_signature_names_inputs_and_outputs(options_seen) -> None:
    interpreter = litert.Interpreter(model_content=model_bytes({"add": 0}))
    assert interpreter.get_signature_list() == {"add": {"inputs": ["left"], "outputs": ["sum"]}}
    runner = interpreter.get_signature_runner()
    rows = np.ones((4, 2), np.float32)
    np.testing.assert_array_equal(runner(left=rows)["sum"], 2 * rows)
    assert runner.get_input_details()["left"]["name"] == "x"
    assert runner.get_output_details()["sum"]["shape"].tolist() == [4, 2]


@pytest.mark.parametrize(
    ("signatures", "action", "message"),
    [
        ({}, lambda i: i.get_signature_runner(), "key is None and model has 0 Signatures"),
        ({"a": 0, "b": 0}, lambda i: i.get_signature_runner(), "and model has 2 Signatures"),
        ({"a": 0}, lambda i: i.get_signature_runner("b"), r'key provided: "b"; .* \[\'a\'\]$'),
        ({"a": 1}, lambda i: i.get_signature_runner("a"), "'a' is one of subgraph 1: only those"),
        ({"a": 0}, lambda i: i.get_signature_runner("a")(), r"expected 1 \(left\) vs provided 0"),
        ({"a": 0}, lambda i: i.get_signature_runner()(q=X), r"Invalid Input name \(q\) .* left$"),
    ],
)
def test_wrong_signatures_are_refused(options_seen, signatures, action, message: str) -> None:
    interpreter = litert.Interpreter(model_content=model_bytes(signatures))
    with pytest.raises(InvalidArgumentError, match=message):
        action(interpreter)


def test_threads_reach_the_backends_that_have_such_an_option(options_seen) -> None:
    litert.Interpreter(model_content=model_bytes(), num_threads=3)
    assert options_seen["First"]["NumberOfThreads"] == 3


def test_the_delegate_of_arm_nn_names_the_backends(options_seen) -> None:
    delegate = litert.load_delegate(
        "/opt/arm/libarmnnDelegate.so.29",
        {"backends": "Second, First", "number-of-threads": 2},
    )
    assert delegate == Delegate("/opt/arm/libarmnnDelegate.so.29", ("Second", "First"), 2)
    interpreter = litert.Interpreter(model_content=model_bytes(), experimental_delegates=[delegate])
    run(interpreter)
    assert {row.backend for row in interpreter._network.report} == {"Second"}
    assert options_seen["First"]["NumberOfThreads"] == 2


def test_an_interpreter_does_what_its_delegate_says(options_seen, tmp_path, capsys) -> None:
    dot, level = tmp_path / "net.dot", logging.getLogger("armnn").level
    options = {
        "backends": "Second",
        "serialize-to-dot": str(dot),
        "enable-internal-profiling": "true",
        "debug-data": "true",
        "logging-severity": "error",
    }
    delegate = litert.load_delegate("libarmnnDelegate.so", options)
    interpreter = litert.Interpreter(model_content=model_bytes(), experimental_delegates=[delegate])
    interpreter.allocate_tensors()
    try:
        assert logging.getLogger("armnn").level == logging.ERROR
    finally:
        logging.getLogger("armnn").setLevel(level)
    interpreter.invoke()
    assert interpreter._optimized.options.debug is True
    assert dot.read_text().startswith("digraph")
    shown = capsys.readouterr().out
    assert '"ArmNN"' not in shown  # the profile comes at the end
    del interpreter
    gc.collect()
    profile = json.loads(capsys.readouterr().out)["ArmNN"]
    assert any(name.startswith("inference_measurements") for name in profile)


def test_a_directory_of_backends_is_scanned_for_the_interpreter(options_seen, tmp_path) -> None:
    delegate = litert.load_delegate(
        "libarmnnDelegate.so", {"dynamic-backends-path": str(tmp_path), "backends": "Second"}
    )
    with pytest.raises(BackendUnavailableError, match=f"dynamic_backends_path='{tmp_path}'"):
        litert.Interpreter(model_content=model_bytes(), experimental_delegates=[delegate])


def test_a_delegate_that_names_no_backends_leaves_the_choice(options_seen) -> None:
    delegate = litert.load_delegate("libarmnnDelegate.so")
    interpreter = litert.Interpreter(model_content=model_bytes(), experimental_delegates=[delegate])
    run(interpreter)
    assert {row.backend for row in interpreter._network.report} == {"First"}


def test_a_delegate_that_names_an_unknown_backend_is_refused(options_seen) -> None:
    delegate = litert.load_delegate("libarmnnDelegate.so", {"backends": "Third"})
    with pytest.raises(UnknownBackendError, match="There is no backend 'Third'"):
        litert.Interpreter(model_content=model_bytes(), experimental_delegates=[delegate])


@pytest.mark.parametrize(
    ("library", "given", "message"),
    [
        ("libedgetpu.so.1", {}, "(?s)Failed to load delegate from libedgetpu.so.1.*another run"),
        ("libarmnnDelegate.so", {"number-of-threads": "many"}, "threads is 'many': expected a num"),
    ],
)
def test_other_delegates_are_refused(library: str, given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        litert.load_delegate(library, given)


def test_custom_operators_are_refused(options_seen) -> None:
    assert litert.InterpreterWithCustomOps(model_content=model_bytes()).num_subgraphs() == 1
    with pytest.raises(InvalidArgumentError, match=r"custom operators are given as \['Mine'\]"):
        litert.InterpreterWithCustomOps(["Mine"], model_content=model_bytes())


def test_an_interpreter_that_is_gone_leaves_nothing_in_the_runtime(options_seen) -> None:
    interpreter = litert.Interpreter(model_content=model_bytes())
    network = weakref.ref(interpreter._network)
    run(interpreter)
    del interpreter
    gc.collect()
    assert network() is None


@pytest.mark.parametrize("name", ["ai_edge_litert", "tflite_runtime"])
def test_programs_import_it_under_the_names_that_they_know(name: str, monkeypatch) -> None:
    for taken in [each for each in sys.modules if each.startswith(("ai_edge_litert", "tflite_r"))]:
        monkeypatch.delitem(sys.modules, taken)
    space: dict[str, Any] = {}
    with litert.install():
        exec(f"import {name}.interpreter as module", space)
    assert space["module"].Interpreter is litert.Interpreter
    litert.install()
    litert.uninstall()
    assert name not in sys.modules
