# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
import tflite

from armnn_parser_tflite.operators import find_converter
from armnn_parser_tflite.refusals import _REASONS, reason


@pytest.mark.parametrize("name", _REASONS)
def test_what_has_a_reason_is_builtin_and_not_converted(name: str) -> None:
    assert hasattr(tflite.BuiltinOperator, name) or name.startswith("STABLEHLO_")
    assert find_converter(name, custom=False) is None


def test_each_kind_of_operator_has_its_reason() -> None:
    assert "random" in reason("RANDOM_UNIFORM", custom=False)
    assert reason("DILATE", custom=False) == "no layer computes it"
    assert "custom operator" in reason("RANDOM_UNIFORM", custom=True)
