# SPDX-License-Identifier: MIT
"""Sessions over local parsers and backends: requests, results, refusals."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from armnn_compat import onnxruntime as ort
from armnn_compat.onnxruntime.capi import onnxruntime_pybind11_state as state

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


def test_an_initialiser_takes_no_other_value(session) -> None:
    with pytest.raises(state.NotImplemented, match="the input 'unused' has a value in the model"):
        session.run(None, {"x": X, "y": Y, "unused": np.zeros(1, np.float32)})


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
