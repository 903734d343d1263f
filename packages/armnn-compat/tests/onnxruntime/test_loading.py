# SPDX-License-Identifier: MIT
"""What a session loads, refuses, and leaves behind."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from armnn.runtime import default_runtime
from armnn_compat import onnxruntime as ort
from armnn_compat.onnxruntime.capi import onnxruntime_pybind11_state as state
from fakes.plugins import installed

X = np.array([[1, 2]], np.float32)
Y = np.array([[10, 20], [30, 40]], np.float32)


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
