# SPDX-License-Identifier: MIT
"""Options of sessions, runs, providers and the process match onnxruntime's, refusals included."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from armnn.backends import refresh
from armnn_compat import onnxruntime as ort
from armnn_compat.onnxruntime import (
    ExecutionMode,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
)
from armnn_compat.onnxruntime.capi import onnxruntime_pybind11_state as state
from armnn_compat.onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as Refused
from fakes import NullBackend
from fakes.plugins import backend_plugin, write_plugin


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


X = np.array([[1, 2]], np.float32)
Y = np.array([[10, 20], [30, 40]], np.float32)


def backends_of(session: ort.InferenceSession) -> set[str]:
    session.run(None, {"x": X, "y": Y})
    return {row.backend for row in session._network.report}


def test_there_is_a_provider_for_each_backend_and_one_for_all(options_seen) -> None:
    assert ort.get_available_providers() == [
        "FirstExecutionProvider",
        "SecondExecutionProvider",
        "CPUExecutionProvider",
    ]
    assert ort.get_all_providers() == ort.get_available_providers()


@pytest.mark.parametrize(
    ("providers", "expected", "backend"),
    [
        (None, ["CPUExecutionProvider"], "First"),
        ([], ["CPUExecutionProvider"], "First"),
        (["CPUExecutionProvider"], ["CPUExecutionProvider"], "First"),
        (
            ["SecondExecutionProvider"],
            ["SecondExecutionProvider", "CPUExecutionProvider"],
            "Second",
        ),
        (["Second"], ["Second", "CPUExecutionProvider"], "Second"),
        (
            ["CPUExecutionProvider", "SecondExecutionProvider"],
            ["CPUExecutionProvider", "SecondExecutionProvider"],
            "First",
        ),
        ([("Second", {})], ["Second", "CPUExecutionProvider"], "Second"),
    ],
)
def test_providers_choose_the_backends(
    options_seen, providers, expected, backend: str, sum_model
) -> None:
    session = ort.InferenceSession(sum_model(), providers=providers)
    assert session.get_providers() == expected
    assert backends_of(session) == {backend}


def test_a_default_backend_that_turns_out_to_be_unusable_is_left_out(
    options_seen, caplog, tmp_path, sum_model
) -> None:
    def refuse(_self: Any, _options: Any) -> None:
        raise RuntimeError("no such device")

    module = ModuleType("armnn_test_compat_broken")
    broken = {"id": "Broken", "create_context": refuse, "score": lambda _: 9}
    vars(module)["Broken"] = type("Broken", (NullBackend,), broken)
    source = "from armnn_test_compat_broken import Broken as backend\n"
    plugin = backend_plugin("Broken", distribution="armnn-backend-broken", source=source)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setitem(sys.modules, module.__name__, module)
        write_plugin(tmp_path / "plugins", plugin)
        refresh()
        session = ort.InferenceSession(sum_model(), providers=["CPUExecutionProvider"])
        assert backends_of(session) == {"First"}
    assert "Broken" in caplog.text


def test_a_provider_that_is_not_there_is_warned_of_and_left_out(options_seen, sum_model) -> None:
    with pytest.warns(UserWarning, match="Specified provider 'CUDAExecutionProvider' is not in"):
        session = ort.InferenceSession(
            sum_model(), providers=["CUDAExecutionProvider", "CPUExecutionProvider"]
        )
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_options_reach_the_backend_that_they_are_for(options_seen, sum_model) -> None:
    session = ort.InferenceSession(
        sum_model(),
        providers=["First", "CPUExecutionProvider"],
        provider_options=[{"NumberOfThreads": 3}, {"arena_extend_strategy": "any"}],
    )
    assert options_seen["First"] == {"NumberOfThreads": "3"}
    assert session.get_provider_options() == {
        "First": {"NumberOfThreads": "3"},
        "CPUExecutionProvider": {"arena_extend_strategy": "any"},
    }


def test_an_option_that_a_backend_does_not_know_is_refused(options_seen, sum_model) -> None:
    with pytest.raises(state.InvalidArgument, match=r"backend 'First' has no option \['speed'\]"):
        ort.InferenceSession(sum_model(), providers=[("First", {"speed": "9"})])


def test_threads_reach_the_backends_that_have_such_an_option(options_seen, sum_model) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    ort.InferenceSession(sum_model(), options)
    assert options_seen["First"] == {"NumberOfThreads": 2}


def test_without_fallback_only_the_named_backends_take_part(options_seen, sum_model) -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session = ort.InferenceSession(sum_model(), options, ["Second"])
    assert session.get_providers() == ["Second"]


def test_providers_of_the_options_count_where_none_are_given(options_seen, sum_model) -> None:
    options = ort.SessionOptions()
    options.add_provider("Second", {})
    assert ort.InferenceSession(sum_model(), options).get_providers()[0] == "Second"
    session = ort.InferenceSession(sum_model(), options, ["First"])
    assert session.get_providers()[0] == "First"
    session.set_providers(["SecondExecutionProvider"])
    assert backends_of(session) == {"Second"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"providers": "CPUExecutionProvider"}, "should be a sequence of names: got 'CPU"),
        ({"providers": [3]}, r"either strings or \(string, dict\) tuples: got 3"),
        ({"providers": ["First"], "provider_options": []}, "same length .*: got 1 and 0"),
        (
            {"providers": [("First", {})], "provider_options": [{}]},
            r"either strings or \(string, dict\) tuples: got \(\('First'",
        ),
    ],
)
def test_providers_that_are_no_list_of_names_are_refused(
    options_seen, arguments, message: str, sum_model
) -> None:
    with pytest.raises(ValueError, match=message):
        ort.InferenceSession(sum_model(), **arguments)


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("armnn")
    level = logger.level
    yield logger
    logger.setLevel(level)


@pytest.mark.parametrize(
    ("severity", "level"),
    [(0, logging.DEBUG), (1, logging.INFO), (2, logging.WARNING), (3, logging.ERROR), (4, 50)],
)
def test_the_severity_is_that_of_our_messages(logger, severity: int, level: int) -> None:
    ort.set_default_logger_severity(severity)
    assert logger.level == level


@pytest.mark.parametrize("severity", [-1, 5])
def test_a_severity_that_there_is_not_is_refused(logger, severity: int) -> None:
    with pytest.raises(
        RuntimeError, match=rf"Invalid logging severity {severity}: expected 0 to 4"
    ):
        ort.set_default_logger_severity(severity)


def test_what_is_there_is_said() -> None:
    assert ort.get_device() == "CPU"
    assert ort.get_version_string() == ort.__version__
    assert ort.get_build_info().startswith("armnn-core ")
    assert not ort.has_collective_ops()
    assert ort.get_ep_devices() == []


def test_what_has_no_effect_is_taken() -> None:
    ort.set_default_logger_verbosity(1)
    ort.set_seed(7)
    ort.set_global_thread_pool_sizes(2, 1)
    ort.disable_telemetry_events()
    ort.enable_telemetry_events()
    ort.preload_dlls()
