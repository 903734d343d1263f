# SPDX-License-Identifier: MIT
"""ONNX's own node tests, for every claimed operator."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

import armnn
from armnn.errors import ParseError
from armnn_parser_onnx.operators import operator_names
from armnn_parser_onnx.parser import parse


def _claimed_cases() -> list[Any]:
    """Return the cases of claimed operators only, seeded."""
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
        and all(
            value.type.HasField("tensor_type")
            for value in (*case.model.graph.input, *case.model.graph.output)
        )
    ]


CASES = _claimed_cases()

REFUSED = {
    r"_training_mode$|^test_training_dropout": "in training mode",
    r"^test_roialign_mode_max$": "largest weighted neighbour",
    r"^test_equal_string": "tensors of string are not supported",
    r"^test_not_": "uses opset 1: expected 7 or newer",
}
"""Which cases are refused, and a part of the reason; every other case passes."""

ROUNDED_OTHERWISE = {
    r"^test_attention_.*_bf16$": 0.02,
    r"^test_dft_inverse": 1e-5,
}
"""How far results may be from those of onnx, which rounds every intermediate result."""


@pytest.fixture(scope="module")
def runtime() -> Iterator[armnn.Runtime]:
    with armnn.Runtime() as made:
        yield made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_of_the_standard_passes_or_is_refused(case: Any, runtime: armnn.Runtime) -> None:
    reasons = [reason for name, reason in REFUSED.items() if re.search(name, case.name)]
    if reasons:
        with pytest.raises(ParseError, match="|".join(reasons)):
            parse(case.model.SerializeToString())
        return
    given = map(_array, case.data_sets[0][0])
    feeds = dict(zip((value.name for value in case.model.graph.input), given, strict=True))
    network = parse(case.model.SerializeToString())
    outputs = runtime.load_network(runtime.optimize(network, backends=["CpuRef"])).run(feeds)
    close = [by for name, by in ROUNDED_OTHERWISE.items() if re.search(name, case.name)]
    for declared, wanted in zip(case.model.graph.output, case.data_sets[0][1], strict=True):
        result, expected = outputs[declared.name], _array(wanted)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(
            result.astype(np.float64),
            expected.astype(np.float64),
            case.rtol,
            max([case.atol, *close]),
        )


def _array(given: Any) -> Any:
    return numpy_helper.to_array(given) if isinstance(given, TensorProto) else np.asarray(given)


def test_each_exception_is_met_by_a_case() -> None:
    for pattern in (*REFUSED, *ROUNDED_OTHERWISE):
        assert any(re.search(pattern, case.name) for case in CASES), pattern


def test_the_cases_cover_nearly_every_operator() -> None:
    seen = {node.op_type for case in CASES for node in case.model.graph.node}
    assert set(operator_names()) - seen <= {"Constant", "GlobalLpPool"}
