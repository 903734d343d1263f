# SPDX-License-Identifier: MIT
"""ONNX's own node tests, for every claimed operator."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

import armnn
from armnn.errors import ParseError
from armnn_parser_onnx.operators import operator_names
from armnn_parser_onnx.parser import parse

# onnx computes all its cases when it lists them, which takes seconds: one test runs them all, so
# that only the worker of pytest-xdist that runs this file does so.
pytestmark = pytest.mark.xdist_group("cases of the standard")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Return the cases of claimed operators only, seeded."""
    os.environ.setdefault("ONNX_HOME", str(tmp_path_factory.mktemp("onnx")))
    state = np.random.get_state()
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        every = load_model_tests(kind="node")
    np.random.set_state(state)
    known = set(operator_names())
    return [
        case
        for case in every
        if "_expanded" not in case.name
        and all(node.domain == "" and node.op_type in known for node in case.model.graph.node)
        and all(
            value.type.HasField("tensor_type")
            for value in (*case.model.graph.input, *case.model.graph.output)
        )
    ]


REFUSED = {
    r"_training_mode$|^test_training_dropout": "in training mode",
    r"^test_roialign_mode_max$": "largest weighted neighbor",
    r"^test_equal_string": "tensors of string are not supported",
    r"^test_not_": "uses opset 1: expected 7 or newer",
}
"""Which cases are refused, and a part of the reason; every other case passes."""

ROUNDED_OTHERWISE = {
    r"^test_attention_.*_bf16$": 0.02,
    r"^test_dft_inverse": 1e-5,
}
"""How far results may be from those of onnx, which rounds every intermediate result."""


def test_the_cases_of_the_standard_pass_or_are_refused(
    cases: list[Any], subtests: pytest.Subtests
) -> None:
    with armnn.Runtime() as runtime:
        for case in cases:
            with subtests.test(case.name):
                _check(case, runtime)


def _check(case: Any, runtime: armnn.Runtime) -> None:
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


def test_each_exception_is_met_by_a_case(cases: list[Any]) -> None:
    for pattern in (*REFUSED, *ROUNDED_OTHERWISE):
        assert any(re.search(pattern, case.name) for case in cases), pattern


def test_the_cases_cover_nearly_every_operator(cases: list[Any]) -> None:
    seen = {node.op_type for case in cases for node in case.model.graph.node}
    assert set(operator_names()) - seen <= {"Constant", "GlobalLpPool"}
