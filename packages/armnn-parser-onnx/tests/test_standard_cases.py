# SPDX-License-Identifier: MIT
"""The node cases of ONNX's own test suite, for every operator that is claimed."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

import armnn
from armnn.errors import ParseError
from armnn_parser_onnx._registry import operator_names
from armnn_parser_onnx.parser import parse


def _claimed_cases() -> list[Any]:
    """Return the cases that contain claimed operators only; seeded, so that they stay the same."""
    os.environ.setdefault("ONNX_HOME", tempfile.mkdtemp())
    state = np.random.get_state()
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        cases = load_model_tests(kind="node")
    np.random.set_state(state)
    known = set(operator_names())
    return [
        case
        for case in cases
        if "_expanded" not in case.name
        and all(node.domain == "" and node.op_type in known for node in case.model.graph.node)
        and all(given.type.HasField("tensor_type") for given in case.model.graph.input)
    ]


CASES = _claimed_cases()

REFUSED = {
    r"_dilations": "no pooling layer has dilations|weights are dilated and not constant",
    r"_training_mode$|^test_training_dropout": "in training mode",
    r"^test_cast_e8m0_.*_to_FLOAT8E8M0$": "asks for a rounding mode",
    r"^test_convtranspose_3d$": "no layer computes it in three dimensions",
    r"^test_(de)?quantizelinear_blocked": "a scale for each block",
    r"^test_gathernd_.*_batch_dim1$": "has no batch_dims",
    r"^test_lppool_(1d_default|[23]d_default|2d_same_lower|2d_pads)$": "no layer computes the norm",
    r"^test_maxpool_with_argmax": "its output number 1 .* is used",
    r"^test_roialign_mode_max$": "largest weighted neighbour",
    r"^test_quantizelinear_(e4m3fn|e5m2|uint16|u?int[24]|float4e2m1)$": "no layer quantises to",
    r"^test_quantizelinear_int16$": "16-bit values with a zero point",
    r"^test_resize_.*cubic": "cubic curves|whole elements|smooths",
    r"^test_resize_tf_crop": "crops while it resizes",
    r"^test_resize_.*antialias": "smooths|whole elements",
    r"^test_resize_.*not_(larger|smaller)$": "keeps the aspect ratio",
    r"^test_resize_downsample_scales_(nearest|linear|linear_align_corners)$": "whole elements",
    r"^test_resize_.*_scales_linear_half_pixel_symmetric$": "whole elements",
    r"^test_resize_downsample_sizes_linear_pytorch_half_pixel$": "an output of one element",
    r"^test_resize_(up|down)sample_sizes_nearest(_axes_2_3|_axes_3_2)?$": "picks neighbours",
    r"^test_resize_upsample_sizes_nearest_(floor|round|ceil)_": "picks neighbours",
    r"^test_(if_(seq|opt)|loop13_seq|loop16_seq_none)$": "are not tensors",
    r"^test_equal_string": "tensors of string are not supported",
    r"^test_not_": "uses opset 1: expected 7 or newer",
}
"""Which cases are refused, and a part of the reason; every other case passes."""

PARAMETERS = {
    "axes", "split", "starts", "ends", "steps", "pads", "constant_value", "depth", "sizes",
    "scales", "start", "limit", "delta", "training_mode", "y_scale", "y_zero_point", "min", "max",
}  # fmt: skip
"""Inputs that real models hold as constants, and the cases hand over beside the data."""


@pytest.fixture(scope="module")
def runtime() -> Iterator[armnn.Runtime]:
    with armnn.Runtime() as made:
        yield made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_of_the_standard_passes_or_is_refused(case: Any, runtime: armnn.Runtime) -> None:
    model, feeds = _with_constant_parameters(case)
    reasons = [reason for name, reason in REFUSED.items() if re.search(name, case.name)]
    if reasons:
        with pytest.raises(ParseError, match="|".join(reasons)):
            parse(model.SerializeToString())
        return
    network = parse(model.SerializeToString())
    outputs = runtime.load_network(runtime.optimize(network, backends=["CpuRef"])).run(feeds)
    for declared, given in zip(case.model.graph.output, case.data_sets[0][1], strict=True):
        result, expected = outputs[declared.name], _array(given)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(
            result.astype(np.float64), expected.astype(np.float64), case.rtol, case.atol
        )


def _with_constant_parameters(case: Any) -> tuple[onnx.ModelProto, dict[str, Any]]:
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    names = [given.name for given in model.graph.input]
    feeds = dict(zip(names, map(_array, case.data_sets[0][0]), strict=True))
    for node in model.graph.node:
        opset = model.opset_import[0].version
        parameters = onnx.defs.get_schema(node.op_type, opset, "").inputs
        for name, parameter in zip(node.input, parameters, strict=False):
            if parameter.name in PARAMETERS and name in feeds:
                model.graph.initializer.append(numpy_helper.from_array(feeds.pop(name), name))
    return model, feeds


def _array(given: Any) -> Any:
    return numpy_helper.to_array(given) if isinstance(given, TensorProto) else np.asarray(given)


def test_each_refusal_is_met_by_a_case() -> None:
    for pattern in REFUSED:
        assert any(re.search(pattern, case.name) for case in CASES), pattern


def test_the_cases_cover_nearly_every_operator() -> None:
    seen = {node.op_type for case in CASES for node in case.model.graph.node}
    assert set(operator_names()) - seen <= {"Constant", "GlobalLpPool"}
