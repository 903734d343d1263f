# SPDX-License-Identifier: MIT
"""Requests: what tells one preparation from another in a cache."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from armnn.optimizer import OptimizerOptions
from armnn.runtime.request import OptimizationRequest, checked_request

OTHERS: dict[str, Any] = {
    "backends": ("B",),
    "backend_options": {"A": {"Threads": 2}},
    "options.strict": True,
    "options.layer_backends": {"conv": "B"},
    "options.rewrite": False,
}


def request() -> OptimizationRequest:
    return checked_request(["A"], {"A": {"Threads": 1}}, {"conv": "A"}, strict=False, cache_dir="x")


def test_another_value_of_every_field_is_tried() -> None:
    fields = {field.name for field in dataclasses.fields(OptimizationRequest)}
    decisions = {f"options.{field.name}" for field in dataclasses.fields(OptimizerOptions)}
    assert OTHERS.keys() == fields - {"options", "cache_dir"} | decisions


@pytest.mark.parametrize("field", OTHERS)
def test_a_request_that_differs_has_another_key(field: str) -> None:
    name, _, decision = field.partition(".")
    value = OTHERS[field]
    if decision:
        value = dataclasses.replace(request().options, **{decision: value})
    assert dataclasses.replace(request(), **{name: value}).cache_key != request().cache_key


def test_the_key_is_the_same_wherever_the_cache_is() -> None:
    assert dataclasses.replace(request(), cache_dir="y").cache_key == request().cache_key
