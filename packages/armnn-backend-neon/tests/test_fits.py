# SPDX-License-Identifier: MIT
"""Fits find what a unit of work takes."""

from __future__ import annotations

import numpy as np
import pytest

from armnn_backend_neon.costs import UNITS, Costs, fit
from armnn_backend_neon.measuring import Measured, Shape

NS = dict.fromkeys(UNITS, 1.0)
SIZES = {"first_cache": 32768, "second_cache": 1048576, "third_cache": 33554432}
DEEP = Shape((7, 7), 512, 512, (3, 3))


def test_a_fit_finds_times_from_work() -> None:
    """Of layers whose times are known to the last digit."""
    true = {"multiply_add": 0.02, "pointer": 0.5, "tile": 30.0, "operation": 100.0}
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


def test_a_fit_is_right_about_what_kernels_of_a_layer_differ_by() -> None:
    """Half of the layers took a quarter more."""
    true = {"multiply_add": 1.0, "pointer": 1.05}
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
    assert costs.ns["pointer"] / costs.ns["multiply_add"] == pytest.approx(1.05, rel=0.02)


def test_what_tile_registers_take_is_in_a_file_where_it_was_measured() -> None:
    assert "tile_register" not in Costs(16, SIZES, {**NS, "tile_register_product": 0.0}).text()
    rows = [
        Measured(
            DEEP, "plain", {"tile_register_product": count, "element": 8.0}, 0.0, 7.5 * count + 16.0
        )
        for count in (1e3, 1e4, 1e5, 2e5)
    ]
    known = {unit: 2.0 for unit in UNITS if unit != "tile_register_product"}
    assert "tile_register_product 7.5" in fit(rows, 16, SIZES, known).text().splitlines()


def test_products_in_bfloat16_are_fitted_beside_the_times_in_float32() -> None:
    """Where no layer has them, one instruction adds two."""
    floats = [
        Measured(DEEP, "plain", {"multiply_add": count, "operation": 0.0}, 0.0, 2.0 * count)
        for count in (1e3, 1e4, 1e5)
    ]
    halves = [
        Measured(
            Shape((7, 7), 8, 8, (1, 1)),
            "plain bfloat16",
            {"bfloat16_multiply_add": count, "operation": 1.0},
            0.0,
            3.0 * count + 7.0,
        )
        for count in (1e3, 1e4, 1e5)
    ]
    known = {"element": 1.0, "operation": 7.0}
    assert fit(floats, 16, SIZES, known).ns["bfloat16_multiply_add"] == 1.0
    ns = fit(halves, 16, SIZES, {**known, "multiply_add": 2.0}).ns
    assert ns["bfloat16_multiply_add"] == pytest.approx(3.0)
