# SPDX-License-Identifier: MIT
"""Profiles are JSON lists of events, at the options' path."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armnn.profiling import Event
from armnn_compat import onnxruntime as ort
from armnn_compat.onnxruntime.capi import onnxruntime_pybind11_state as state
from armnn_compat.onnxruntime.model import Operator
from armnn_compat.onnxruntime.profile import write_profile

X = np.array([[1, 2]], np.float32)


@pytest.fixture
def options(options_seen, tmp_path: Path) -> ort.SessionOptions:
    made = ort.SessionOptions()
    made.enable_profiling = True
    made.profile_file_prefix = str(tmp_path / "profile")
    return made


def test_a_profile_is_written_where_the_options_say(options, sum_model) -> None:
    session = ort.InferenceSession(sum_model(), options)
    session.run(None, {"x": X, "y": X})
    path = session.end_profiling()
    stamp = r"_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d{3}\.json"
    assert re.fullmatch(re.escape(options.profile_file_prefix) + stamp, path)
    events = json.loads(Path(path).read_text())
    assert [event["name"] for event in events][:2] == [
        "model_loading_array",
        "session_initialization",
    ]
    (node,) = (event for event in events if event["cat"] == "Node")
    assert node["args"]["provider"] == "FirstExecutionProvider"
    assert session.end_profiling() == ""
    assert session.get_profiling_start_time_ns() > 10**18  # since 1970


def test_a_profile_that_cannot_be_written_is_said(options, sum_model) -> None:
    options.profile_file_prefix += "/none/profile"
    session = ort.InferenceSession(sum_model(), options)
    with pytest.raises(state.Fail, match=r"the profile cannot be written to '.*none/profile_"):
        session.end_profiling()


def rows(tmp_path: Path, *events: Event) -> list[dict[str, Any]]:
    operators = {"a": Operator("MatMul_0", "MatMul", 0)}
    write_profile(events, operators, 1_000, str(tmp_path / "p.json"))
    made: list[dict[str, Any]] = json.loads((tmp_path / "p.json").read_text())
    return made


def event(name: str, start: int, end: int, category: str, **details: str) -> Event:
    return Event(name, start, end, 7, {"category": category, **details})


def test_times_are_whole_microseconds_since_the_session_began(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, event("a", 6_999, 9_000, "layer", type="BatchMatMul", backend="CpuRef"))
    assert row == {
        "cat": "Node",
        "pid": os.getpid(),
        "tid": 7,
        "dur": 2,
        "ts": 5,
        "ph": "X",
        "name": "MatMul_0_kernel_time",
        "args": {"op_name": "MatMul", "provider": "CpuRefExecutionProvider", "node_index": "0"},
    }


def test_kernels_take_the_place_of_the_layer_that_they_are_part_of(tmp_path: Path) -> None:
    made = rows(
        tmp_path,
        event("a", 2_000, 3_000, "kernel", backend="CpuAcc"),
        event("b", 3_000, 4_000, "kernel", backend="CpuAcc"),
        event("a to b", 2_000, 4_000, "layer", type="PreCompiled", backend="CpuAcc"),
        event("c", 4_000, 5_000, "layer", type="Addition", backend="CpuRef"),
        event("run", 1_500, 6_000, "run"),
        event("rewrite", 1_500, 6_000, "phase"),
    )
    assert [(row["cat"], row["name"], row["args"].get("op_name")) for row in made] == [
        ("Node", "MatMul_0_kernel_time", "MatMul"),
        ("Node", "b_kernel_time", ""),
        ("Node", "c_kernel_time", "Addition"),
        ("Session", "SequentialExecutor::Execute", None),
        ("Session", "model_run", None),
    ]
