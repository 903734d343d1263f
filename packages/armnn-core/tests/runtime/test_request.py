# SPDX-License-Identifier: MIT
"""Requests: what tells one preparation from another in a cache."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from armnn.errors import InvalidArgumentError
from armnn.optimizer import OptimizerOptions, ShapeInferenceMethod
from armnn.runtime.request import OptimizationRequest, checked_request

OTHERS: dict[str, Any] = {
    "backends": ("B",),
    "options.model_options": {"A": {"Threads": 2}},
    "options.reduce_fp32_to_fp16": True,
    "options.reduce_fp32_to_bf16": True,
    "options.debug": True,
    "options.debug_to_file": "folder",
    "options.shape_inference_method": ShapeInferenceMethod.VALIDATE_ONLY,
    "options.import_enabled": True,
    "options.export_enabled": True,
    "options.profiling_enabled": True,
    "options.allow_expanded_dims": True,
    "options.strict": True,
    "options.layer_backends": {"conv": "B"},
    "options.rewrite": False,
    "options.min_part": 2,
    "options.verdicts": "verdicts.json",
    "states": {"h_out": "h"},
    "without": frozenset({"A"}),
}


def request() -> OptimizationRequest:
    return checked_request(
        ["A"], None, {"layer_backends": {"conv": "A"}}, {"A": {"Threads": 1}}, cache_dir="x"
    )


def test_another_value_of_every_field_is_tried() -> None:
    fields = {field.name for field in dataclasses.fields(OptimizationRequest)}
    decisions = {f"options.{field.name}" for field in dataclasses.fields(OptimizerOptions)}
    assert OTHERS.keys() == fields - {"options", "cache_dir", "choice"} | decisions


@pytest.mark.parametrize("field", OTHERS)
def test_a_request_that_differs_has_another_key(field: str) -> None:
    name, _, decision = field.partition(".")
    value = OTHERS[field]
    if decision == "allow_expanded_dims":
        only = ShapeInferenceMethod.VALIDATE_ONLY
        base = dataclasses.replace(request().options, shape_inference_method=only)
        changed = dataclasses.replace(base, allow_expanded_dims=value)
        assert base.cache_key != changed.cache_key
        return
    if decision:
        value = dataclasses.replace(request().options, **{decision: value})
    assert dataclasses.replace(request(), **{name: value}).cache_key != request().cache_key


def test_the_key_is_the_same_whatever_chose_the_backends() -> None:
    assert dataclasses.replace(request(), choice="measured").cache_key == request().cache_key


def test_the_key_is_the_same_wherever_the_cache_is() -> None:
    assert dataclasses.replace(request(), cache_dir="y").cache_key == request().cache_key


def test_a_key_is_the_same_for_every_function_and_folder_of_debugging() -> None:
    def seen(layer: str, slot: int, array: object) -> None:
        """Ignore a tensor."""

    keys = {OptimizerOptions(debug=each).cache_key for each in (True, seen)}
    keys |= {OptimizerOptions(debug=True, debug_to_file=False).cache_key}
    assert len(keys) == 1
    assert (
        OptimizerOptions(debug_to_file="a").cache_key
        == OptimizerOptions(debug_to_file="b").cache_key
    )


def test_backend_options_are_the_earlier_name_of_model_options() -> None:
    assert request().options.model_options == {"A": {"Threads": 1}}
    with pytest.raises(InvalidArgumentError, match="two names of one argument: expected one"):
        checked_request(None, None, {"model_options": {"A": {"Threads": 1}}}, {"A": {}}, None)


def test_keywords_come_before_the_fields_of_options() -> None:
    options = OptimizerOptions(strict=True, rewrite=False)
    made = checked_request(None, options, {"strict": False}, None, None).options
    assert (made.strict, made.rewrite) == (False, False)
