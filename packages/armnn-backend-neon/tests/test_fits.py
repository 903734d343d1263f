# SPDX-License-Identifier: MIT
"""Fits find what a unit of work takes."""

from __future__ import annotations

import numpy as np
import pytest

from armnn_backend_neon.costs import GROUPS, OPTIONAL, UNITS, Costs, fit
from armnn_backend_neon.measuring import Measured, Shape

NS = dict.fromkeys(UNITS, 1.0)
SIZES = {"first_cache": 32768, "second_cache": 1048576, "third_cache": 33554432}
DEEP = Shape((7, 7), 512, 512, (3, 3))


def test_a_fit_finds_times_from_work() -> None:
    """Of layers whose times are known to the last digit."""
    true = {"multiply_add": 0.02, "row": 0.5, "tile": 30.0, "operation": 100.0}
    generator = np.random.default_rng(0)
    rows = []
    for _ in range(30):
        work = {unit: float(generator.uniform(1e3, 1e6)) for unit in true}
        work["tile"] /= 1e3
        work["operation"] /= 1e4
        ns = sum(count * true[unit] for unit, count in work.items())
        rows.append(Measured(DEEP, "plain", work, 0.0, ns))
    costs = fit(rows, 16, SIZES, dict.fromkeys(UNITS, 0.0))
    for unit, ns in true.items():
        assert costs.ns[unit] == pytest.approx(ns, rel=5e-3)
    (error,) = costs.errors
    assert (error.group, error.count, error.high < 0.01) == (GROUPS[0][0], 30, True)


def test_a_fit_of_few_layers_leans_on_costs_that_predicted_them_well() -> None:
    """The CPU is twice as fast as theirs."""
    true = {"multiply_add": 0.02, "row": 0.5, "tile": 30.0, "operation": 100.0}
    generator = np.random.default_rng(1)

    def off(likeness: float) -> tuple[float, float]:
        """Return the largest error of a unit, alone and leaning."""
        used = {unit: 2 * ns * generator.uniform(1, likeness) for unit, ns in true.items()}
        rows = []
        for place in range(5):
            work = {unit: float(generator.uniform(0.5, 1)) / ns for unit, ns in true.items()}
            sums = [sum(count * ns[unit] for unit, count in work.items()) for ns in (used, true)]
            shape = Shape((place + 1, 7), 8, 8, (1, 1))
            disturbed = sums[1] * generator.uniform(0.8, 1.2)
            rows.append(Measured(shape, "plain", work, sums[0], disturbed))
        found = []
        for leans in (False, True):
            costs = fit(rows, 16, SIZES, dict.fromkeys(UNITS, 0.0), leans_on_predictions=leans)
            found.append(max(abs(costs.ns[unit] / ns - 1) for unit, ns in true.items()))
        return found[0], found[1]

    alike = np.array([off(1.05) for _ in range(20)])
    assert np.median(alike[:, 1]) < 0.15 < 0.5 < np.median(alike[:, 0])
    others = np.array([off(10.0) for _ in range(20)])
    assert np.median(others[:, 1]) < 2 * np.median(others[:, 0])


def test_a_fit_is_right_about_what_kernels_of_a_layer_differ_by() -> None:
    """Half of the layers took a quarter more."""
    true = {"multiply_add": 1.0, "row": 1.05}
    rows = []
    for place, count in enumerate(np.linspace(1e3, 1e4, 40)):
        shape = Shape((place + 1, 7), 8, 8, (1, 1))
        slower = 1.25 if place % 2 else 1.0
        for unit, ns in true.items():
            # The slow layers lack the second kernel more often.
            if unit == "multiply_add" or place % 2 == 0 or place % 8 == 1:
                work = {unit: count, "operation": 0.0}
                rows.append(Measured(shape, unit, work, 0.0, slower * ns * count))
    costs = fit(rows, 16, SIZES, dict.fromkeys(UNITS, 0.0))
    assert costs.ns["row"] / costs.ns["multiply_add"] == pytest.approx(1.05, rel=0.02)


def test_what_tile_registers_take_is_in_a_file_where_it_was_measured() -> None:
    """Their layers are rounded; no other ones are, there."""
    known = {unit: 1.0 for unit in UNITS if unit != "rounded"} | {"multiply_add": 0.02}
    del known["bfloat16_multiply_add"]
    assert "tile_register" not in Costs(16, SIZES, NS | dict.fromkeys(OPTIONAL, 0.0)).text()
    rows = []
    for count in (1e3, 1e4, 1e5, 2e5):
        work = {"tile_register_product": count, "tile_register_stored": 1e9 / count, "rounded": 8.0}
        ns = 7.5 * count + 20.0 * 1e9 / count + 8.0 * 0.02
        rows.append(Measured(DEEP, "plain", work, 0.0, ns))
    costs = fit(rows, 16, SIZES, known)
    lines = costs.text().splitlines()
    assert {"tile_register_product 7.5", "tile_register_stored 20", "rounded 0.02"} <= {*lines}


def test_rounding_that_no_layer_does_takes_what_a_copy_takes() -> None:
    """Layers read what was stored in bfloat16 before them."""
    known = {unit: 1.0 for unit in UNITS if unit not in ("rounded", "bfloat16_multiply_add")}
    rows = [
        Measured(DEEP, "plain bfloat16", {"bfloat16_multiply_add": count}, 0.0, 3.0 * count)
        for count in (1e3, 1e4, 1e5)
    ]
    costs = fit(rows, 16, SIZES, {**known, "element": 0.25})
    assert (costs.ns["bfloat16_multiply_add"], costs.ns["rounded"]) == (3.0, 0.25)


def test_rows_that_are_read_again_have_a_time_of_their_own() -> None:
    """Without such layers they take what cold ones do."""
    rows = [
        Measured(
            DEEP, "plain", {"cold_step": cold, "repeated_step": again, "operation": 0.0}, 0.0, ns
        )
        for cold, again, ns in ((1e5, 0, 3e5), (1e5, 4e5, 5e5), (2e5, 1e5, 6.5e5))
    ]
    known = {unit: 0.0 for unit in UNITS if unit not in ("cold_step", "repeated_step")}
    ns = fit(rows, 16, SIZES, known).ns
    assert (ns["cold_step"], ns["repeated_step"]) == pytest.approx((3.0, 0.5), rel=5e-3)
    ns = fit(rows[:1], 16, SIZES, known).ns
    assert ns["repeated_step"] == ns["cold_step"] == pytest.approx(3.0, rel=5e-3)


def test_what_no_layer_of_bytes_does_takes_what_its_counterpart_does() -> None:
    """A table may serve a CPU with the other instruction."""
    rows = [
        Measured(
            DEEP, "bytes", {"byte_widened_multiply_add": 1e6 * n, "byte_stored": n * n}, 0.0, ns
        )
        for n, ns in ((1, 4e3 + 1), (2, 8e3 + 4), (3, 12e3 + 9))
    ]
    known = {unit: 0.0 for unit in UNITS if not unit.startswith("byte_")}
    ns = fit(rows, 8, SIZES, known).ns
    assert ns["byte_widened_multiply_add"] == pytest.approx(4e-3, rel=1e-2)
    assert ns["byte_multiply_add"] == ns["byte_widened_multiply_add"]
