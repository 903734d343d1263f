# SPDX-License-Identifier: MIT
"""Sessions over a parser and a backend that are made here: what is asked for, given and refused."""

from __future__ import annotations

import gc
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from armnn.backends import ModelContext, OptionValue, refresh
from armnn.compat import onnxruntime as ort
from armnn.compat.onnxruntime.capi import onnxruntime_pybind11_state as state
from armnn.errors import ClosedError, InvalidArgumentError
from armnn.runtime import default_runtime
from armnn.testing.plugin_dirs import Plugin, backend_plugin, installed, write_plugin

X = np.array([[1, 2]], np.float32)
Y = np.array([[10, 20], [30, 40]], np.float32)

PARSER = """\
import onnx
from armnn.errors import ParseError, UnsupportedOperatorError
from armnn.graph import Network
from armnn.tensor import TensorInfo

def parse(source):
    model = onnx.load_from_string(source) if isinstance(source, bytes) else onnx.load(source)
    (node,) = model.graph.node
    if node.op_type != "Add":
        raise UnsupportedOperatorError(f"no layer computes {node.op_type}")
    if not model.graph.output:
        raise ParseError("there is no output")
    network = Network(model.graph.name)
    values = {
        given.name: network.add_input(given.name, TensorInfo((None, 2)))
        for given in model.graph.input
        if given.name in ("x", "y")
    }
    network.add_output("z", network.add_addition(values["x"], values["y"]))
    return network
"""


def tensor(name: str, shape: list[int | str | None] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model_bytes(operator: str = "Add", outputs: list[onnx.ValueInfoProto] | None = None) -> bytes:
    """``z = x + y`` with an initialiser that is an input, too, and with all kinds of metadata."""
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "y"], ["z"])],
        "sum",
        [tensor("x", ["rows", 2]), tensor("y", [None, 2]), tensor("unused", [1])],
        [tensor("z")] if outputs is None else outputs,
        [helper.make_tensor("unused", TensorProto.FLOAT, [1], [5])],
        doc_string="adds",
    )
    model = helper.make_model(
        graph,
        producer_name="here",
        model_version=3,
        domain="org.example",
        doc_string="a sum",
        opset_imports=[helper.make_opsetid("", 17)],
    )
    helper.set_model_props(model, {"labels": "a\nb", "producer_name": "custom"})
    return model.SerializeToString()


class Fakes(NamedTuple):
    """What the backends of the tests saw."""

    options: dict[str, dict[str, OptionValue]]


@pytest.fixture
def fakes(make_backend: Callable[..., Any], tmp_path: Path) -> Iterator[Fakes]:
    """A process with a parser, the backends First and Second, of which one takes threads."""
    seen: dict[str, dict[str, OptionValue]] = {}

    def context_with_threads(_self: Any, options: dict[str, OptionValue]) -> ModelContext:
        unknown = [name for name in options if name != "NumberOfThreads"]
        if unknown:
            raise InvalidArgumentError(f"backend 'First' has no option {unknown}")
        seen["First"] = dict(options)
        return ModelContext(options)

    kinds = [
        make_backend("First", create_model_context=context_with_threads, score=lambda _: 5),
        make_backend("Second"),
    ]
    module = ModuleType("armnn_test_compat_kinds")
    vars(module).update({kind.id: kind for kind in kinds})
    plugins = [
        backend_plugin(
            kind.id,
            distribution=f"armnn-backend-{kind.id}",
            source=f"from {module.__name__} import {kind.id} as backend\n",
        )
        for kind in kinds
    ]
    entry = {"armnn.parsers": {"onnx": "armnn_parser_fake:parse"}}
    parser = Plugin("armnn-parser-fake", "1", (), entry, {"armnn_parser_fake": PARSER})
    with ExitStack() as stack:
        monkeypatch = stack.enter_context(pytest.MonkeyPatch.context())
        monkeypatch.setitem(sys.modules, module.__name__, module)
        stack.enter_context(installed(tmp_path / "plugins", *plugins, parser, alone=True))
        default_runtime().close()
        yield Fakes(seen)
        default_runtime().close()


@pytest.fixture
def session(fakes: Fakes) -> ort.InferenceSession:
    return ort.InferenceSession(model_bytes())


def described(args: list[ort.NodeArg]) -> list[tuple[str, str, list[int | str | None]]]:
    return [(arg.name, arg.type, arg.shape) for arg in args]


def test_a_model_is_described_as_it_declares_itself(session) -> None:
    assert described(session.get_inputs()) == [
        ("x", "tensor(float)", ["rows", 2]),
        ("y", "tensor(float)", [None, 2]),
    ]
    assert described(session.get_overridable_initializers()) == [("unused", "tensor(float)", [1])]


def test_an_output_that_declares_no_shape_has_the_one_that_follows(session) -> None:
    assert described(session.get_outputs()) == [("z", "tensor(float)", [None, 2])]


def test_what_an_output_declares_is_completed_not_replaced(fakes) -> None:
    model = model_bytes(outputs=[tensor("z", ["rows", "columns"])])
    session = ort.InferenceSession(model)
    assert described(session.get_outputs()) == [("z", "tensor(float)", ["rows", 2])]


def test_metadata_is_that_of_the_file(session) -> None:
    meta = session.get_modelmeta()
    assert (meta.producer_name, meta.graph_name, meta.domain) == ("here", "sum", "org.example")
    assert (meta.description, meta.graph_description, meta.version) == ("a sum", "adds", 3)
    assert meta.custom_metadata_map == {"labels": "a\nb", "producer_name": "custom"}


def test_a_model_without_a_version_has_the_largest_number(fakes) -> None:
    model = onnx.load_from_string(model_bytes())
    model.ClearField("model_version")
    session = ort.InferenceSession(model.SerializeToString())
    assert session.get_modelmeta().version == 2**63 - 1


@pytest.mark.parametrize("as_text", [True, False])
def test_a_model_comes_from_a_file_whatever_its_suffix(fakes, tmp_path, as_text: bool) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(model_bytes())
    session = ort.InferenceSession(str(path) if as_text else path)
    (z,) = session.run(None, {"x": X, "y": Y})
    np.testing.assert_array_equal(z, X + Y)


@pytest.mark.parametrize("names", [None, [], ["z"], ("z",)])
def test_outputs_come_in_the_order_of_their_names(session, names) -> None:
    (z,) = session.run(names, {"x": X, "y": Y})
    np.testing.assert_array_equal(z, X + Y)
    assert z.dtype == np.float32


def test_an_output_can_be_asked_for_twice(session) -> None:
    first, second = session.run(["z", "z"], {"x": X, "y": Y})
    np.testing.assert_array_equal(first, second)


def test_inputs_may_be_lists_and_values(session) -> None:
    feed = {"x": [[1, 2]], "y": ort.OrtValue.ortvalue_from_numpy(Y)}
    (z,) = session.run(None, feed)
    np.testing.assert_array_equal(z, X + Y)
    (value,) = session.run_with_ort_values(None, feed)
    np.testing.assert_array_equal(value.numpy(), X + Y)


def test_a_missing_input_is_a_value_error(session) -> None:
    with pytest.raises(
        ValueError, match=r"^Required inputs \(\['y'\]\) are missing from input feed \(\['x'\]\)\.$"
    ):
        session.run(None, {"x": X})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w": X}, r"INVALID_ARGUMENT : Invalid input name: w; the model has \['x', 'y'\]$"),
        (
            {"x": X.astype(np.float64)},
            r"type for x. Actual: \(tensor\(double\)\) , expected: \(tensor\(float\)\)$",
        ),
        ({"x": np.array([["a", "b"]])}, r"data type for x. Actual: \(<U1\) , expected"),
        ({"x": X[0]}, "Invalid rank for input: x Got: 1 Expected: 2 Please fix"),
        (
            {"x": np.zeros((1, 3), np.float32)},
            "invalid dimensions for input: x for the following indices\n index: 1 Got: 3 Expected:",
        ),
    ],
)
def test_wrong_inputs_are_invalid_arguments(session, change, message: str) -> None:
    with pytest.raises(state.InvalidArgument, match=message):
        session.run(None, {"x": X, "y": Y, **change})


def test_a_value_that_is_no_array_is_refused(session) -> None:
    with pytest.raises(RuntimeError, match="a single numpy array for input 'x'"):
        session.run(None, {"x": "text", "y": Y})
    with pytest.raises(TypeError, match="given as list: expected arrays by name"):
        session.run(None, [X, Y])


def test_an_initialiser_takes_no_other_value(session) -> None:
    with pytest.raises(state.NotImplemented, match="the input 'unused' has a value in the model"):
        session.run(None, {"x": X, "y": Y, "unused": np.zeros(1, np.float32)})


def test_an_output_that_is_not_there_is_refused(session) -> None:
    with pytest.raises(state.InvalidArgument, match=r"Invalid output name: q; the model has \['z'"):
        session.run(["q"], {"x": X, "y": Y})
    with pytest.raises(TypeError, match="output_names is the text 'z': expected a list"):
        session.run("z", {"x": X, "y": Y})


def test_a_dimension_with_a_name_can_be_given_a_size(fakes) -> None:
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("rows", 1)
    session = ort.InferenceSession(model_bytes(), options)
    assert session.get_inputs()[0].shape == [1, 2]
    with pytest.raises(state.InvalidArgument, match="index: 0 Got: 2 Expected: 1"):
        session.run(None, {"x": Y, "y": Y})


def test_shapes_that_only_the_layers_refuse_are_refused_too(session) -> None:
    with pytest.raises(state.InvalidArgument, match=r"\[2,2\].*\[3,2\]|\[3,2\].*\[2,2\]"):
        session.run(None, {"x": np.zeros((3, 2), np.float32), "y": Y})


def test_a_run_that_is_terminated_fails(session) -> None:
    options = ort.RunOptions()
    session.run(None, {"x": X, "y": Y}, options)
    options.terminate = True
    with pytest.raises(state.Fail, match="FAIL : Exiting due to terminate flag being set to true"):
        session.run(None, {"x": X, "y": Y}, options)


def test_an_asynchronous_run_calls_back_with_results_or_an_error(session) -> None:
    calls: list[tuple[list[Any], str, str]] = []
    done = threading.Semaphore(0)

    def callback(results: list[Any], data: str, error: str) -> None:
        calls.append((results, data, error))
        done.release()

    session.run_async(None, {"x": X, "y": Y}, callback, "good")
    done.acquire()
    session.run_async(None, {"x": X}, callback, "bad")
    done.acquire()
    (results, data, error), (nothing, _, message) = calls
    np.testing.assert_array_equal(results[0], X + Y)
    assert (data, error, nothing) == ("good", "", [])
    assert message.startswith("Required inputs (['y'])")


# -- loading ------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(fakes, tmp_path) -> None:
    path = tmp_path / "none.onnx"
    with pytest.raises(state.NoSuchFile, match=r"NO_SUCHFILE : Load model from .*none.onnx fail"):
        ort.InferenceSession(str(path))


def test_a_folder_cannot_be_read(fakes, tmp_path) -> None:
    with pytest.raises(state.Fail, match=r"FAIL : Load model from .* failed: "):
        ort.InferenceSession(tmp_path)


@pytest.mark.parametrize(
    ("model", "kind", "message"),
    [
        (b"garbage garbage", state.InvalidProtobuf, "INVALID_PROTOBUF : Load model failed"),
        (b"\x20\0\0\0ORTM\0", state.NotImplemented, "it is in onnxruntime's own format"),
        (b"", state.InvalidArgument, "INVALID_ARGUMENT : No graph was found in the protobuf"),
        (model_bytes("Cos"), state.NotImplemented, "NOT_IMPLEMENTED : no layer computes Cos"),
        (model_bytes(outputs=[]), state.InvalidGraph, "INVALID_GRAPH : there is no output"),
    ],
)
def test_a_model_that_cannot_be_loaded_says_so_in_onnxruntimes_words(
    fakes, model: bytes, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ort.InferenceSession(model)


def test_what_is_neither_path_nor_bytes_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^Unable to load from type '<class 'int'>'$"):
        ort.InferenceSession(3)  # type: ignore[arg-type]  # that is the point


def test_without_a_parser_loading_fails_with_the_advice_of_the_core(tmp_path) -> None:
    with (
        installed(tmp_path, alone=True),
        pytest.raises(state.Fail, match=r'no parser .*pip install "armnn-core\[cpu\]"'),
    ):
        ort.InferenceSession(model_bytes())
    default_runtime().close()


def test_without_a_backend_loading_fails_with_the_advice_of_the_core(tmp_path) -> None:
    entry = {"armnn.parsers": {"onnx": "armnn_parser_fake:parse"}}
    parser = Plugin("armnn-parser-fake", "1", (), entry, {"armnn_parser_fake": PARSER})
    default_runtime().close()
    with (
        installed(tmp_path, parser, alone=True),
        pytest.raises(state.Fail, match="FAIL : No backend can be used: pip install"),
    ):
        ort.InferenceSession(model_bytes())
    default_runtime().close()


def test_an_optimized_model_is_not_written(fakes, tmp_path) -> None:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    with pytest.raises(state.NotImplemented, match=r"cannot be written to '.*optimized.onnx'"):
        ort.InferenceSession(model_bytes(), options)


def test_a_session_that_is_gone_leaves_nothing_in_the_runtime(fakes) -> None:
    session = ort.InferenceSession(model_bytes())
    network = session._network
    session.run(None, {"x": X, "y": Y})
    del session
    gc.collect()
    with pytest.raises(ClosedError, match="closed"):
        network.run({"x": X, "y": Y})


# -- providers ----------------------------------------------------------------------------------


def backends_of(session: ort.InferenceSession) -> set[str]:
    session.run(None, {"x": X, "y": Y})
    return {row.backend for row in session._network.report}


def test_there_is_a_provider_for_each_backend_and_one_for_all(fakes) -> None:
    assert ort.get_available_providers() == [
        "FirstExecutionProvider",
        "SecondExecutionProvider",
        "CPUExecutionProvider",
    ]
    assert ort.get_all_providers() == ort.get_available_providers()


@pytest.mark.parametrize(
    ("providers", "expected", "backend"),
    [
        (None, ["CPUExecutionProvider"], "First"),
        ([], ["CPUExecutionProvider"], "First"),
        (["CPUExecutionProvider"], ["CPUExecutionProvider"], "First"),
        (
            ["SecondExecutionProvider"],
            ["SecondExecutionProvider", "CPUExecutionProvider"],
            "Second",
        ),
        (["Second"], ["Second", "CPUExecutionProvider"], "Second"),
        (
            ["CPUExecutionProvider", "SecondExecutionProvider"],
            ["CPUExecutionProvider", "SecondExecutionProvider"],
            "First",
        ),
        ([("Second", {})], ["Second", "CPUExecutionProvider"], "Second"),
    ],
)
def test_providers_choose_the_backends(fakes, providers, expected, backend: str) -> None:
    session = ort.InferenceSession(model_bytes(), providers=providers)
    assert session.get_providers() == expected
    assert backends_of(session) == {backend}


def test_a_default_backend_that_turns_out_to_be_unusable_is_left_out(
    fakes, make_backend, caplog, tmp_path
) -> None:
    def refuse(_self: Any, _options: Any) -> None:
        raise RuntimeError("no such device")

    module = ModuleType("armnn_test_compat_broken")
    vars(module)["Broken"] = make_backend("Broken", create_context=refuse, score=lambda _: 9)
    source = "from armnn_test_compat_broken import Broken as backend\n"
    plugin = backend_plugin("Broken", distribution="armnn-backend-broken", source=source)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setitem(sys.modules, module.__name__, module)
        write_plugin(tmp_path / "plugins", plugin)
        refresh()
        session = ort.InferenceSession(model_bytes(), providers=["CPUExecutionProvider"])
        assert backends_of(session) == {"First"}
    assert "Broken" in caplog.text


def test_a_provider_that_is_not_there_is_warned_of_and_left_out(fakes) -> None:
    with pytest.warns(UserWarning, match="Specified provider 'CUDAExecutionProvider' is not in"):
        session = ort.InferenceSession(
            model_bytes(), providers=["CUDAExecutionProvider", "CPUExecutionProvider"]
        )
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_options_reach_the_backend_that_they_are_for(fakes) -> None:
    session = ort.InferenceSession(
        model_bytes(),
        providers=["First", "CPUExecutionProvider"],
        provider_options=[{"NumberOfThreads": 3}, {"arena_extend_strategy": "any"}],
    )
    assert fakes.options["First"] == {"NumberOfThreads": "3"}
    assert session.get_provider_options() == {
        "First": {"NumberOfThreads": "3"},
        "CPUExecutionProvider": {"arena_extend_strategy": "any"},
    }


def test_an_option_that_a_backend_does_not_know_is_refused(fakes) -> None:
    with pytest.raises(state.InvalidArgument, match=r"backend 'First' has no option \['speed'\]"):
        ort.InferenceSession(model_bytes(), providers=[("First", {"speed": "9"})])


def test_threads_reach_the_backends_that_have_such_an_option(fakes) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    ort.InferenceSession(model_bytes(), options)
    assert fakes.options["First"] == {"NumberOfThreads": 2}


def test_without_fallback_only_the_named_backends_take_part(fakes, make_backend) -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session = ort.InferenceSession(model_bytes(), options, ["Second"])
    assert session.get_providers() == ["Second"]


def test_providers_of_the_options_count_where_none_are_given(fakes) -> None:
    options = ort.SessionOptions()
    options.add_provider("Second", {})
    assert ort.InferenceSession(model_bytes(), options).get_providers()[0] == "Second"
    session = ort.InferenceSession(model_bytes(), options, ["First"])
    assert session.get_providers()[0] == "First"
    session.set_providers(["SecondExecutionProvider"])
    assert backends_of(session) == {"Second"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"providers": "CPUExecutionProvider"}, "should be a sequence of names: got 'CPU"),
        ({"providers": [3]}, r"either strings or \(string, dict\) tuples: got 3"),
        ({"providers": ["First"], "provider_options": []}, "same length .*: got 1 and 0"),
        (
            {"providers": [("First", {})], "provider_options": [{}]},
            r"either strings or \(string, dict\) tuples: got \(\('First'",
        ),
    ],
)
def test_providers_that_are_no_list_of_names_are_refused(fakes, arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ort.InferenceSession(model_bytes(), **arguments)


# -- bindings and profiles ----------------------------------------------------------------------


def test_a_binding_reads_its_inputs_at_each_run(session) -> None:
    x = X.copy()
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_ortvalue_input("y", ort.OrtValue.ortvalue_from_numpy(Y))
    binding.bind_output("z")
    binding.synchronize_inputs()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    (first,) = binding.copy_outputs_to_cpu()
    x *= 2
    session.run_with_iobinding(binding)
    (second,) = binding.get_outputs()
    np.testing.assert_array_equal(first, X + Y)
    np.testing.assert_array_equal(second.numpy(), 2 * X + Y)


def test_a_binding_reads_and_writes_memory_at_addresses(session) -> None:
    z = np.zeros((2, 2), np.float32)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, X.shape, X.ctypes.data)
    binding.bind_input("y", "cpu", 0, 1, list(Y.shape), Y.ctypes.data)
    binding.bind_output("z", "cpu", 0, np.float32, z.shape, z.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(z, X + Y)
    value = ort.OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32)
    binding.bind_ortvalue_output("z", value)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(value.numpy(), X + Y)
    assert binding.get_outputs_as_ortvaluevector()[0].data_ptr() == value.data_ptr()


def test_what_cannot_be_bound_is_refused(session) -> None:
    binding = session.io_binding()
    with pytest.raises(RuntimeError, match="Failed to find NodeArg with name: q in the def list x"):
        binding.bind_cpu_input("q", X)
    with pytest.raises(RuntimeError, match="Failed to find NodeArg with name: q in the def list z"):
        binding.bind_output("q")
    with pytest.raises(RuntimeError, match="the output 'z' is wanted on the device 'cuda'"):
        binding.bind_output("z", "cuda")
    with pytest.raises(RuntimeError, match="the input 'x' is wanted on the device 'cuda'"):
        binding.bind_input("x", "cuda", 0, np.float32, X.shape, X.ctypes.data)
    with pytest.raises(ValueError, match="`element_type` and `shape` are to be provided"):
        binding.bind_output("z", buffer_ptr=1)


def test_a_binding_without_outputs_or_with_too_small_ones_is_refused(session) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("y", Y)
    with pytest.raises(RuntimeError, match=r"no output is bound: call bind_output\(\)"):
        session.run_with_iobinding(binding)
    binding.bind_ortvalue_output("z", ort.OrtValue.ortvalue_from_numpy(X.copy()))
    with pytest.raises(
        RuntimeError, match=r"'z' is float32 \[2, 2\]: the memory .* is float32 \[1, 2\]$"
    ):
        session.run_with_iobinding(binding)
    binding.clear_binding_outputs()
    binding.clear_binding_inputs()
    binding.bind_output("z")
    with pytest.raises(ValueError, match=r"Required inputs \(\['x', 'y'\]\) are missing"):
        session.run_with_iobinding(binding)


def test_a_profile_is_written_where_the_options_say(fakes, tmp_path) -> None:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile_")
    session = ort.InferenceSession(model_bytes(), options)
    session.run(None, {"x": X, "y": Y})
    path = session.end_profiling()
    assert path.startswith(options.profile_file_prefix)
    events = json.loads(Path(path).read_text())["traceEvents"]
    assert "run" in {event["name"] for event in events}
    assert session.end_profiling() == ""
    assert session.get_profiling_start_time_ns() > 0
