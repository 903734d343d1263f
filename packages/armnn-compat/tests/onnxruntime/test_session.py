# SPDX-License-Identifier: MIT
"""Sessions over local parsers and backends: loading, requests, bindings, results, profiles."""

from __future__ import annotations

import gc
import json
import os
import re
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from armnn.backends.calling import blame
from armnn.profiling import Event
from armnn.runtime import default_runtime
from armnn_compat import onnxruntime as ort
from armnn_compat.onnxruntime.capi import onnxruntime_pybind11_state as state
from armnn_compat.onnxruntime.errors import translated
from armnn_compat.onnxruntime.model import Operator
from armnn_compat.onnxruntime.session import write_profile
from fakes.plugins import installed

X = np.array([[1, 2]], np.float32)
Y = np.array([[10, 20], [30, 40]], np.float32)


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


def test_what_an_output_declares_is_completed_not_replaced(options_seen, sum_model) -> None:
    model = sum_model(
        outputs=[helper.make_tensor_value_info("z", TensorProto.FLOAT, ["rows", "columns"])]
    )
    session = ort.InferenceSession(model)
    assert described(session.get_outputs()) == [("z", "tensor(float)", ["rows", 2])]


def test_metadata_is_that_of_the_file(session) -> None:
    meta = session.get_modelmeta()
    assert (meta.producer_name, meta.graph_name, meta.domain) == ("here", "sum", "org.example")
    assert (meta.description, meta.graph_description, meta.version) == ("a sum", "adds", 3)
    assert meta.custom_metadata_map == {"labels": "a\nb", "producer_name": "custom"}


def test_a_model_without_a_version_has_the_largest_number(options_seen, sum_model) -> None:
    model = onnx.load_from_string(sum_model())
    model.ClearField("model_version")
    session = ort.InferenceSession(model.SerializeToString())
    assert session.get_modelmeta().version == 2**63 - 1


@pytest.mark.parametrize("as_text", [True, False])
def test_a_model_comes_from_a_file_whatever_its_suffix(
    options_seen, tmp_path, as_text: bool, sum_model
) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(sum_model())
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


def test_an_initializer_takes_other_values() -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "s"], ["m"]), helper.make_node("Add", ["m", "b"], ["z"])],
        "scaled",
        [value("x", 1, ["rows", 2]), value("s", 1, [1]), value("b", 1, [2]), value("n", 1, [1])],
        [value("z", 1, ["rows", 2])],
        [
            helper.make_tensor("s", 1, [1], [3]),
            helper.make_tensor("b", 1, [2], [5, 6]),
            helper.make_tensor("n", 1, [1], [0]),
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    session = ort.InferenceSession(made)
    s, b = np.array([-1], np.float32), np.array([7, 8], np.float32)
    n = np.zeros(1, np.float32)
    feeds = [{}, {"s": s}, {"b": b}, {"b": b, "s": s}, {"s": 2 * s}, {"n": n}, {}]
    for feed in feeds:
        scale, bias = feed.get("s", [3]), feed.get("b", [5, 6])
        (z,) = session.run(None, {"x": Y, **feed})
        np.testing.assert_array_equal(z, Y * scale + bias)
    with pytest.raises(state.InvalidArgument, match="Invalid rank for input: s Got: 2 Expected: 1"):
        session.run(None, {"x": Y, "s": Y})
    old = helper.make_model(graph, opset_imports=opsets, ir_version=3).SerializeToString()
    before = ort.InferenceSession(old)
    assert before.get_overridable_initializers() == []
    with pytest.raises(state.InvalidArgument, match="Invalid input name: s"):
        before.run(None, {"x": Y, "s": s})


def test_an_output_that_is_not_there_is_refused(session) -> None:
    with pytest.raises(state.InvalidArgument, match=r"Invalid output name: q; the model has \['z'"):
        session.run(["q"], {"x": X, "y": Y})
    with pytest.raises(TypeError, match="output_names is the text 'z': expected a list"):
        session.run("z", {"x": X, "y": Y})


def test_a_dimension_with_a_name_can_be_given_a_size(options_seen, sum_model) -> None:
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("rows", 1)
    session = ort.InferenceSession(sum_model(), options)
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


def test_a_file_that_is_not_there(options_seen, tmp_path) -> None:
    path = tmp_path / "none.onnx"
    with pytest.raises(state.NoSuchFile, match=r"NO_SUCHFILE : Load model from .*none.onnx fail"):
        ort.InferenceSession(str(path))


def test_a_folder_cannot_be_read(options_seen, tmp_path) -> None:
    with pytest.raises(state.Fail, match=r"FAIL : Load model from .* failed: "):
        ort.InferenceSession(tmp_path)


@pytest.mark.parametrize(
    ("model", "kind", "message"),
    [
        (b"garbage garbage", state.InvalidProtobuf, "INVALID_PROTOBUF : Load model failed"),
        (b"\x20\0\0\0ORTM\0", state.NotImplemented, "it is in onnxruntime's own format"),
        (b"", state.InvalidArgument, "INVALID_ARGUMENT : No graph was found in the protobuf"),
    ],
)
def test_bytes_that_are_no_model_are_refused_in_onnxruntimes_words(
    options_seen, model: bytes, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ort.InferenceSession(model)


def test_a_model_that_cannot_be_loaded_says_so_in_onnxruntimes_words(
    options_seen, sum_model
) -> None:
    with pytest.raises(state.NotImplemented, match="NOT_IMPLEMENTED : no layer computes Cos"):
        ort.InferenceSession(sum_model("Cos"))
    with pytest.raises(state.InvalidGraph, match="INVALID_GRAPH : there is no output"):
        ort.InferenceSession(sum_model(outputs=[]))


def test_what_is_neither_path_nor_bytes_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^Unable to load from type '<class 'int'>'$"):
        ort.InferenceSession(3)  # type: ignore[arg-type]  # that is the point


def test_without_a_parser_loading_fails_with_the_advice_of_the_core(tmp_path, sum_model) -> None:
    with (
        installed(tmp_path, alone=True),
        pytest.raises(state.Fail, match=r'no parser .*WHEELHOUSE "armnn-core\[onnx\]"'),
    ):
        ort.InferenceSession(sum_model())
    default_runtime().close()


def test_without_a_backend_loading_fails_with_the_advice_of_the_core(
    tmp_path, onnx_parser, sum_model
) -> None:
    default_runtime().close()
    with (
        installed(tmp_path, onnx_parser, alone=True),
        pytest.raises(state.Fail, match="FAIL : No backend can be used, as none is installed"),
    ):
        ort.InferenceSession(sum_model())
    default_runtime().close()


def test_an_error_of_a_backend_fails_in_onnxruntimes_words() -> None:
    planted = ValueError("no memory on the device")
    blame(planted, "Acme", "create_workload", "layer 'conv'")
    with pytest.raises(state.Fail) as caught, translated():
        raise planted
    assert str(caught.value).endswith(
        "ValueError: no memory on the device (raised by create_workload of layer 'conv' of backend "
        "'Acme')"
    )
    assert caught.value.__cause__ is planted
    with pytest.raises(ValueError, match="not of a backend"), translated():
        raise ValueError("not of a backend")


def test_the_optimized_model_is_the_model_with_all_its_data(
    options_seen, tmp_path, sum_model
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    made = onnx.load_from_string(sum_model())
    made.graph.initializer[0].raw_data = np.array([5], np.float32).tobytes()
    onnx.save(made, folder / "sum.onnx", save_as_external_data=True, size_threshold=0)
    options = ort.SessionOptions()
    for source, name in ((folder / "sum.onnx", "a.onnx"), (sum_model(), "b.onnx")):
        options.optimized_model_filepath = str(tmp_path / name)
        ort.InferenceSession(source, options)
        (written,) = ort.InferenceSession(tmp_path / name).run(None, {"x": X, "y": Y})
        np.testing.assert_array_equal(written, X + Y)
    kept = onnx.load(tmp_path / "a.onnx", load_external_data=False)
    assert numpy_helper.to_array(kept.graph.initializer[0]).tolist() == [5]


def test_an_optimized_model_needs_a_place_that_can_be_written(
    options_seen, tmp_path, sum_model
) -> None:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "missing" / "optimized.onnx")
    with pytest.raises(state.Fail, match=r"cannot be written to '.*optimized.onnx': .*No such"):
        ort.InferenceSession(sum_model(), options)


def test_a_session_that_is_gone_leaves_nothing_in_the_runtime(options_seen, sum_model) -> None:
    session = ort.InferenceSession(sum_model())
    network = weakref.ref(session._network)
    session.run(None, {"x": X, "y": Y})
    del session
    gc.collect()
    assert network() is None


@pytest.fixture
def options(options_seen, tmp_path: Path) -> ort.SessionOptions:
    made = ort.SessionOptions()
    made.enable_profiling = True
    made.profile_file_prefix = str(tmp_path / "profile")
    return made


def test_a_profile_is_written_where_the_options_say(options, sum_model) -> None:
    session = ort.InferenceSession(sum_model(), options)
    session.run(None, {"x": X, "y": X})
    path = session.end_profiling()
    stamp = r"_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d{3}\.json"
    assert re.fullmatch(re.escape(options.profile_file_prefix) + stamp, path)
    events = json.loads(Path(path).read_text())
    assert [event["name"] for event in events][:2] == [
        "model_loading_array",
        "session_initialization",
    ]
    (node,) = (event for event in events if event["cat"] == "Node")
    assert node["args"]["provider"] == "FirstExecutionProvider"
    assert session.end_profiling() == ""
    assert session.get_profiling_start_time_ns() > 10**18  # since 1970


def test_a_profile_that_cannot_be_written_is_said(options, sum_model) -> None:
    options.profile_file_prefix += "/none/profile"
    session = ort.InferenceSession(sum_model(), options)
    with pytest.raises(state.Fail, match=r"the profile cannot be written to '.*none/profile_"):
        session.end_profiling()


def rows(tmp_path: Path, *events: Event) -> list[dict[str, Any]]:
    operators = {"a": Operator("MatMul_0", "MatMul", 0)}
    write_profile(events, operators, 1_000, str(tmp_path / "p.json"))
    made: list[dict[str, Any]] = json.loads((tmp_path / "p.json").read_text())
    return made


def event(name: str, start: int, end: int, category: str, **details: str) -> Event:
    return Event(name, start, end, 7, {"category": category, **details})


def test_times_are_whole_microseconds_since_the_session_began(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, event("a", 6_999, 9_000, "layer", type="BatchMatMul", backend="CpuRef"))
    assert row == {
        "cat": "Node",
        "pid": os.getpid(),
        "tid": 7,
        "dur": 2,
        "ts": 5,
        "ph": "X",
        "name": "MatMul_0_kernel_time",
        "args": {"op_name": "MatMul", "provider": "CpuRefExecutionProvider", "node_index": "0"},
    }


def test_kernels_take_the_place_of_the_layer_that_they_are_part_of(tmp_path: Path) -> None:
    made = rows(
        tmp_path,
        event("a", 2_000, 3_000, "kernel", backend="CpuAcc"),
        event("b", 3_000, 4_000, "kernel", backend="CpuAcc"),
        event("a to b", 2_000, 4_000, "layer", type="PreCompiled", backend="CpuAcc"),
        event("c", 4_000, 5_000, "layer", type="Addition", backend="CpuRef"),
        event("run", 1_500, 6_000, "run"),
        event("rewrite", 1_500, 6_000, "phase"),
    )
    assert [(row["cat"], row["name"], row["args"].get("op_name")) for row in made] == [
        ("Node", "MatMul_0_kernel_time", "MatMul"),
        ("Node", "b_kernel_time", ""),
        ("Node", "c_kernel_time", "Addition"),
        ("Session", "SequentialExecutor::Execute", None),
        ("Session", "model_run", None),
    ]


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
    with pytest.raises(RuntimeError, match="the output 'z' is requested on the device 'cuda'"):
        binding.bind_output("z", "cuda")
    with pytest.raises(RuntimeError, match="the input 'x' is requested on the device 'cuda'"):
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
