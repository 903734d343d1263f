# SPDX-License-Identifier: MIT
"""Fourier transforms that ONNX's own cases leave out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

Model = Callable[..., onnx.ModelProto]
STEP = np.int64(3)
WINDOW = np.hanning(8).astype(np.float32)


def transform(model: Model, signal: Any) -> onnx.ModelProto:
    node = helper.make_node("STFT", ["x", "step", "window"], ["y"], onesided=1)
    constants = {"step": STEP, "window": WINDOW}
    return model(node, {"x": signal}, constants=constants, opset=17, output_types={"y": 1})


@pytest.mark.parametrize("dims", [(2, 20), ("batch", "samples")])
def test_a_signal_of_real_numbers_may_lack_the_last_axis(
    model: Model, run: Callable[..., Any], rng: np.random.Generator, dims: tuple[Any, ...]
) -> None:
    x = rng.standard_normal((2, 20)).astype(np.float32)
    made = transform(model, (onnx.TensorProto.FLOAT, dims))
    (y,) = run(made, {"x": x})
    (expected,) = ort.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    assert y.shape == expected.shape == (2, 5, 5, 2)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_a_signal_of_one_axis_is_refused(model: Model) -> None:
    made = transform(model, (onnx.TensorProto.FLOAT, (20,)))
    with pytest.raises(ParseError, match=r"the signal has shape .* expected rank 3 \(or 2\)"):
        parse(made.SerializeToString())
