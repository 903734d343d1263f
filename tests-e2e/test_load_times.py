# SPDX-License-Identifier: MIT
"""The benchmark of loads measures real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.models import load_times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_stages_are_those_of_the_fastest_process() -> None:
    slow = {"load_ms": 7.0, "wall_ms": 11.0, "stages": {"parse": 7.0}}
    fast = {"load_ms": 8.0, "wall_ms": 9.0, "stages": {"parse": 8.0}}
    expected = {"load_ms": 7.0, "wall_ms": 9.0, "stages": {"parse": 8.0}}
    assert load_times.least(slow, fast) == load_times.least(fast, slow) == expected


def test_a_model_is_loaded_cold_cached_and_by_its_peers(model: Callable[[str], Path]) -> None:
    path, inputs = load_times.model_of(str(model("face_detection")))
    found = load_times.measured(path, inputs, 1)
    assert list(found) == ["CpuAcc", "CpuAcc cached", "LiteRT", "OpenVINO"]
    cold, cached = (found[name]["stages"] for name in ("CpuAcc", "CpuAcc cached"))
    assert cold["parse"] > 0 == cached["parse"]
    assert sum(cold.values()) - cold["total"] == pytest.approx(cold["total"])
    assert "| face_detection.tflite | LiteRT |" in load_times.table({path.name: found})
