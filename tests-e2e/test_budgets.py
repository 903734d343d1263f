# SPDX-License-Identifier: MIT
"""Budgets of the benchmarks: what they measure, and their verdicts."""

from __future__ import annotations

import os
from typing import Any

import pytest

from benchmarks import budgets

LIMITS = {"import_seconds": 0.06, "version_seconds": 0.15, "backends_seconds": 0.15}


def results(**more: float) -> dict[str, Any]:
    """Return figures that hold, but for those given."""
    return {
        **dict.fromkeys(LIMITS, 0.01),
        "overhead": {"per_layer_us": 0.1},
        "bound_step": {"step_us": 0.1},
        "dynamic_loading": {"cold_seconds": 0.1, "warm_seconds": 0.1},
        "layers": [{"ratio": 1.0}],
        "compare": {"model": {budgets.RUNTIMES[0]: {"time_ratio": 1.0, "memory_ratio": 1.0}}},
        **more,
    }


@pytest.mark.parametrize("figure", LIMITS)
def test_starts_of_processes_have_budgets(figure: str) -> None:
    limit = LIMITS[figure]
    for seconds, broken in ((limit, 0), (limit + 1e-6, 1)):
        checked = budgets.budgets(results(**{figure: seconds}), "model")
        assert sum(not each.holds for each in checked) == broken
        assert sum(each.figure == seconds for each in checked) == 1
    assert "EXCEEDED" in "".join(map(str, checked))


def test_the_time_of_a_process_is_what_it_computes_and_not_what_it_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budgets, "STARTS", 2)
    busy = "import time\nwhile time.process_time() < 0.15: pass"
    assert 0.15 <= budgets.command_seconds(["-c", busy]) < 2
    assert budgets.command_seconds(["-c", "import time; time.sleep(0.3)"]) < 0.3


def test_byte_code_is_written_though_the_environment_forbids_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert budgets._start(["-c", "import sys; print(sys.dont_write_bytecode)"]) == "False\n"
    assert os.environ["PYTHONDONTWRITEBYTECODE"] == "1"


def test_armnn_is_imported_behind_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "STARTS", 1)
    numpy, armnn = (budgets.IMPORT.index(f"import {name}") for name in ("numpy", "armnn"))
    assert numpy < budgets.IMPORT.index("process_time()") < armnn
    assert 0 < budgets.import_seconds() < 5
