# SPDX-License-Identifier: MIT
"""The interface of ``onnx.backend.base``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.helper import make_node as node

from armnn.errors import InvalidArgumentError, UnsupportedOperatorError
from armnn_parser_onnx import backend

Model = Callable[..., onnx.ModelProto]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_a_model_runs_by_position_and_by_name(model: Model) -> None:
    prepared = backend.prepare(model(node("Sub", ["a", "b"], ["y"]), {"a": X, "b": X}))
    np.testing.assert_array_equal(prepared.run([X, 2 * X])[0], -X)
    np.testing.assert_array_equal(prepared.run({"b": X, "a": 2 * X})[0], X)


def test_an_array_too_few_is_refused(model: Model) -> None:
    prepared = backend.prepare(model(node("Sub", ["a", "b"], ["y"]), {"a": X, "b": X}))
    with pytest.raises(InvalidArgumentError, match="got 1 arrays, expected one for each"):
        prepared.run([X])


def test_a_model_is_loaded_anew_when_the_value_of_a_parameter_changes(model: Model) -> None:
    axes = (TensorProto.INT64, [1])
    prepared = backend.prepare(
        model(node("Unsqueeze", ["x", "axes"], ["y"]), {"x": X, "axes": axes})
    )
    for axis, shape in ((0, (1, 2, 3)), (2, (2, 3, 1)), (0, (1, 2, 3))):
        assert prepared.run([X, np.array([axis])])[0].shape == shape


def test_one_node_runs() -> None:
    (result,) = backend.run_node(node("Add", ["a", "a"], ["y"]), [X], opset_version=13)
    np.testing.assert_array_equal(result, X + X)


def test_a_node_needs_an_array_for_each_input() -> None:
    with pytest.raises(InvalidArgumentError, match="the node of type 'Add' has the inputs"):
        backend.run_node(node("Add", ["a", "b"], ["y"]), [X])


def test_only_the_cpu_is_known(model: Model) -> None:
    assert [backend.supports_device(name) for name in ("CPU", "CPU:1", "CUDA", "CPU:x")] == [
        True,
        True,
        False,
        False,
    ]
    with pytest.raises(InvalidArgumentError, match="the device 'CUDA' is not known"):
        backend.prepare(model(node("Relu", ["x"], ["y"]), {"x": X}), "CUDA")


def test_compatible_is_what_can_be_read(model: Model) -> None:
    assert backend.is_compatible(model(node("Relu", ["x"], ["y"]), {"x": X}))
    assert not backend.is_compatible(model(node("Multinomial", ["x"], ["y"]), {"x": X}))
    with pytest.raises(UnsupportedOperatorError, match="Multinomial"):
        backend.prepare(model(node("Multinomial", ["x"], ["y"]), {"x": X}))


def test_without_onnx_the_import_says_what_to_install() -> None:
    code = "import sys; sys.modules['onnx'] = None; import armnn_parser_onnx.backend"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: armnn_parser_onnx.backend needs the package onnx" in done.stderr
    assert "pip install onnx" in done.stderr
