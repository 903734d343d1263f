# SPDX-License-Identifier: MIT
"""Fit the costs of a machine to measured layers.

``cpp/costs/work.h`` says what the units are; a measured layer knows how many of each it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from armnn_backend_neon.measuring import Measured

HEADER: Final = "armnn CpuAcc costs 2"
FITTED: Final[Mapping[str, tuple[str, ...]]] = {
    "operation": (
        *("multiply_add", "tile", "pointer", "weight_row"),
        *("transformed", "operation"),
    ),
    "bfloat16_multiply_add": ("bfloat16_multiply_add",),
    "tile_register_product": ("tile_register_product",),
}
"""The units of each fit, by the unit that its layers have.

Later fits take the times that earlier ones found.
"""

UNITS: Final = (
    *(unit for units in FITTED.values() for unit in units),
    *("element", "memory_byte", "fork"),
)
"""All units, in the order of ``cpp/costs/work.h``."""

OPTIONAL: Final = frozenset({"tile_register_product"})
"""Units that a file of costs may lack: of kernels that only some CPUs have."""

_ROUNDS = 4
_NOISE = 0.03
_TOGETHER = 2.0
"""The weight of an error that kernels of a layer do not share, which misleads a choice."""
_DIGITS = 3
_SMALL = 1e-9


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a CPU with registers of one width.

    Attributes:
        lanes: Floats in a register.
        caches: Bytes of ``first_cache``, ``second_cache`` and ``third_cache``, as a core sees them.
        ns: Nanoseconds of each unit.
    """

    lanes: int
    caches: Mapping[str, int]
    ns: Mapping[str, float]

    def text(self) -> str:
        """Return the section of a file of costs."""
        lines = [f"lanes {self.lanes}"]
        lines += [f"{name} {size}" for name, size in self.caches.items()]
        lines += [
            f"{unit} {self.ns[unit]:.{_DIGITS}g}"
            for unit in UNITS
            if unit not in OPTIONAL or self.ns.get(unit)
        ]
        return "\n".join(lines) + "\n"


def file_text(cpu: str, sections: Iterable[Costs]) -> str:
    """Return a file of costs, as ``ARMNN_CPUACC_COSTS`` names one."""
    return f"{HEADER}\ncpu {cpu}\n" + "".join(section.text() for section in sections)


def fit(
    rows: Sequence[Measured],
    lanes: int,
    caches: Mapping[str, int],
    known: Mapping[str, float],
) -> Costs:
    """Return the costs that fit measured layers best.

    The times of a layer's kernels share what disturbs a measurement, and a choice compares only
    them: what a fit has wrong about their differences weighs more than what it has wrong about all.

    Args:
        rows: The layers.
        lanes: Floats in a register.
        caches: See :class:`Costs`.
        known: Times of units that no layer tells.
    """
    ns = dict(known)
    for key, units in FITTED.items():
        own = [row for row in rows if _fit_of(row.work) == key]
        if own:
            ns |= zip(units, _times(own, units, ns), strict=True)
    # A level without such an instruction never asks; one whose layers were not measured adds two
    # products at a time.
    ns.setdefault("bfloat16_multiply_add", ns["multiply_add"] / 2)
    ns.setdefault("tile_register_product", 0.0)
    return Costs(lanes, caches, ns)


def _fit_of(work: Mapping[str, float]) -> str | None:
    """Return the last unit of :data:`FITTED` that the work has."""
    return next((unit for unit in reversed([*FITTED]) if unit in work), None)


def _times(rows: Sequence[Measured], units: Sequence[str], ns: Mapping[str, float]) -> list[float]:
    """Return the nanoseconds of units, given those of the other ones that the rows have."""
    times = np.array([row.ns for row in rows])
    counts = np.array([[row.work.get(unit, 0.0) for unit in units] for row in rows])
    others = np.array(
        [sum(n * ns[unit] for unit, n in row.work.items() if unit not in units) for row in rows]
    )
    layers = {shape: place for place, shape in enumerate(dict.fromkeys(row.shape for row in rows))}
    places = np.array([layers[row.shape] for row in rows])
    a, b = counts / times[:, None], (times - others) / times
    found = _fitted(
        np.vstack([a, _TOGETHER * _from_the_mean(a, places)]),
        np.concatenate([b, _TOGETHER * _from_the_mean(b, places)]),
    )
    return [float(f"{value:.{_DIGITS}g}") for value in found]


def _from_the_mean(x: np.ndarray[Any, Any], places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the differences of rows from their group's mean."""
    sums = np.zeros((places.max() + 1, *x.shape[1:]))
    np.add.at(sums, places, x)
    counts = np.bincount(places).reshape(-1, *(1 for _ in x.shape[1:]))
    apart: np.ndarray[Any, Any] = x - (sums / counts)[places]
    return apart


def _fitted(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return x >= 0 with a small a x - b.

    Large differences count little: such times were disturbed.
    """
    weights = np.ones(len(b))
    x = np.zeros(a.shape[1])
    for _ in range(_ROUNDS):
        x = _least_squares(a * weights[:, None], b * weights)
        weights = np.maximum(np.abs(a @ x - b), _NOISE) ** -0.5
    return x


def _least_squares(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return x >= 0 of least squares of a x - b.

    By the active sets of Lawson and Hanson.
    """
    lengths = np.linalg.norm(a, axis=0)
    lengths[lengths == 0] = 1.0
    a = a / lengths
    x: np.ndarray[Any, Any] = np.zeros(a.shape[1])
    is_free = np.zeros(a.shape[1], bool)
    for _ in range(5 * a.shape[1]):
        gradient = np.where(is_free, -np.inf, a.T @ (b - a @ x))
        if gradient.max() < _SMALL:
            break
        is_free[gradient.argmax()] = True
        while True:
            wanted = np.zeros_like(x)
            wanted[is_free] = np.linalg.lstsq(a[:, is_free], b, rcond=None)[0]
            if (wanted[is_free] > 0).all():
                break
            falls = is_free & (wanted <= 0)
            x += (x[falls] / (x[falls] - wanted[falls])).min() * (wanted - x)
            is_free &= x > _SMALL
            x[~is_free] = 0.0
        x = wanted
    found: np.ndarray[Any, Any] = x / lengths
    return found
