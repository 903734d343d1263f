# SPDX-License-Identifier: MIT
"""A loaded network has the times of its loading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn import _load_times
from armnn._load_times import REST, STAGES, TOTAL, count_packing, measured, stage

STEP = 1.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock go on by a second per reading."""
    ticks = iter(range(1000))
    monkeypatch.setattr(_load_times.time, "perf_counter", lambda: next(ticks) * STEP)


class Loaded:
    load_times: Mapping[str, float]


@pytest.mark.usefixtures("clock")
def test_a_stage_has_its_time_without_the_stages_inside() -> None:
    @measured
    def load() -> Loaded:
        with stage("compile"), stage("read"):
            pass
        with stage("read"):
            pass
        return Loaded()

    times = load().load_times
    # The clock is read 8 times: 7 seconds, of which compile takes 3 with 1 of a read inside.
    assert times[TOTAL] == 7
    assert (times["compile"], times["read"], times[REST]) == (2, 2, 3)
    assert sum(times[name] for name in (*STAGES, REST)) == times[TOTAL]


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("reported", "counted"),
    [(2_000_000_000, 2), (9_000_000_000, 3), (0, 0), (-1, 0), (True, 0), ("1", 0), (None, 0)],
)
def test_what_a_backend_reports_as_packing_is_no_part_of_compiling(
    reported: object, counted: float
) -> None:
    @measured
    def load() -> Loaded:
        with stage("compile"):
            began = _load_times.time.perf_counter()
            for _ in range(2):
                _load_times.time.perf_counter()
            count_packing(reported, began)
        return Loaded()

    times = load().load_times
    assert times["pack"] == counted
    assert sum(times[name] for name in (*STAGES, REST)) == times[TOTAL]


def test_outside_of_a_load_nothing_is_counted() -> None:
    with stage("read"):
        pass
    count_packing(1, 0.0)


def test_a_load_within_a_load_has_times_of_its_own() -> None:
    @measured
    def inner() -> Loaded:
        with stage("parse"):
            return Loaded()

    @measured
    def outer() -> Loaded:
        assert inner().load_times["parse"] > 0
        return Loaded()

    assert outer().load_times["parse"] == 0


def test_a_failed_load_leaves_nothing_behind() -> None:
    @measured
    def load() -> Loaded:
        with stage("parse"):
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        load()
    with stage("nonsense"):
        pass  # would be refused inside a load


def test_loading_a_file_has_the_times_of_its_stages(tmp_path: Path) -> None:
    network = armnn.Network("sum")
    x = network.add_input("x", armnn.TensorInfo((1, 2)))
    network.add_output("y", network.add_addition(x, np.ones((1, 2), np.float32)))
    armnn.save(network, tmp_path / "sum.armnn")
    arguments = {"backends": ["CpuRef"], "cache_dir": tmp_path / "cache"}
    cold = armnn.load_model(tmp_path / "sum.armnn", **arguments).load_times
    cached = armnn.load_model(tmp_path / "sum.armnn", **arguments).load_times
    assert list(cold) == [*STAGES, REST, TOTAL]
    for name in ("parse", "infer", "passes", "assign", "compile", REST):
        assert cold[name] > 0
    assert cached["read"] > 0
    assert [cached[name] for name in ("parse", "infer", "passes", "compile")] == [0] * 4
    assert sum(cold[name] for name in (*STAGES, REST)) == pytest.approx(cold[TOTAL])
