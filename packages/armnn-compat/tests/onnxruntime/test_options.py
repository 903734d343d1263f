# SPDX-License-Identifier: MIT
"""Options of sessions and runs match onnxruntime's, refusals included."""

from __future__ import annotations

import pytest

from armnn_compat.onnxruntime import (
    ExecutionMode,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
)
from armnn_compat.onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as Refused


def test_the_levels_have_the_numbers_of_onnxruntime() -> None:
    assert {level.name: level.value for level in GraphOptimizationLevel} == {
        "ORT_DISABLE_ALL": 0,
        "ORT_ENABLE_BASIC": 1,
        "ORT_ENABLE_EXTENDED": 2,
        "ORT_ENABLE_LAYOUT": 3,
        "ORT_ENABLE_ALL": 99,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("intra_op_num_threads", 4),
        ("inter_op_num_threads", 1),
        ("log_severity_level", 3),
        ("enable_mem_pattern", False),
        ("execution_mode", ExecutionMode.ORT_PARALLEL),
        ("graph_optimization_level", GraphOptimizationLevel.ORT_DISABLE_ALL),
        ("logid", "session"),
    ],
)
def test_options_keep_what_they_are_given(name: str, value: object) -> None:
    options = SessionOptions()
    setattr(options, name, value)
    assert getattr(options, name) == value


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "intra_op_num_threads",
            "4",
            r"intra_op_num_threads got '4' of the type str: expected int$",
        ),
        ("intra_op_num_threads", True, "got True of the type bool: expected int$"),
        ("enable_mem_pattern", 1, "got 1 of the type int: expected bool$"),
        ("graph_optimization_level", 99, "got 99 .*: expected GraphOptimizationLevel$"),
        ("logid", None, "got None .*: expected str$"),
    ],
)
def test_an_option_of_a_wrong_type_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        setattr(SessionOptions(), name, value)


def test_an_option_that_onnxruntime_lacks_is_refused() -> None:
    with pytest.raises(AttributeError, match="'SessionOptions' object has no attribute 'threads'"):
        SessionOptions().threads = 4  # type: ignore[attr-defined]  # that is the point


@pytest.mark.parametrize(
    ("options", "add", "get"),
    [
        (SessionOptions(), "add_session_config_entry", "get_session_config_entry"),
        (RunOptions(), "add_run_config_entry", "get_run_config_entry"),
    ],
    ids=["session", "run"],
)
def test_entries_of_the_configuration_are_texts_that_can_be_asked_for(options, add, get) -> None:
    getattr(options, add)("key", "1")
    assert getattr(options, get)("key") == "1"
    with pytest.raises(RuntimeError, match=r"does not have configuration with key: other$"):
        getattr(options, get)("other")
    with pytest.raises(TypeError, match="a configuration entry is 'key': 1: expected two texts"):
        getattr(options, add)("key", 1)


def test_two_options_share_no_entries() -> None:
    first = SessionOptions()
    first.add_session_config_entry("key", "1")
    first.add_provider("CpuRef", {})
    assert first.has_providers()
    assert not SessionOptions().has_providers()
    assert SessionOptions().config_entries == {}


def test_operators_and_weights_from_outside_of_the_model_are_refused() -> None:
    with pytest.raises(Refused, match=r"NOT_IMPLEMENTED : the library 'ops.so' holds operators"):
        SessionOptions().register_custom_ops_library("ops.so")
    with pytest.raises(Refused, match="the initializer 'w' cannot come from outside of the model"):
        SessionOptions().add_initializer("w", object())


@pytest.mark.parametrize("kind", ["name", "denotation"])
@pytest.mark.parametrize(("name", "size"), [("n", "5"), ("n", 2.5), (1, 2)])
def test_a_free_dimension_is_a_text_and_an_integer(kind: str, name: object, size: object) -> None:
    add = getattr(SessionOptions(), f"add_free_dimension_override_by_{kind}")
    with pytest.raises(TypeError, match=f"a free dimension is {name!r}: {size!r}: expected a text"):
        add(name, size)
