# SPDX-License-Identifier: MIT
"""Providers are backends: available ones, chosen ones, their options."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from armnn.backends import refresh
from armnn_compat import onnxruntime as ort
from armnn_compat.onnxruntime.capi import onnxruntime_pybind11_state as state
from fakes import NullBackend
from fakes.plugins import backend_plugin, write_plugin

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
