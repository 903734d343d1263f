# SPDX-License-Identifier: MIT
"""Fit the costs of a machine to measured layers.

``cpp/costs/work.h`` says what the units are; a measured layer knows how many of each it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from armnn_backend_neon.measuring import Measured

HEADER: Final = "armnn CpuAcc costs 1"
GROUPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "operation",
        (
            *("multiply_add", "half_multiply_add", "broadcast", "wait", "tile", "stored", "row"),
            *("cold_step", "cold_narrow_step", "awaited_step", "repeated_step"),
            *("image_line", "reread_line", "crowded_line", "copied", "operation", "cut"),
            *("direct_multiply_add", "direct_half_multiply_add", "direct_step", "direct_wait"),
            *("direct_stored", "direct_call", "direct_line", "direct_copied"),
            *("filtered_2d_in", "filtered_2d_out"),
            *("filtered_1d_tile", "filtered_1d_in", "filtered_1d_out"),
        ),
    ),
    ("depthwise_multiply_add", ("depthwise_multiply_add",)),
    ("bfloat16_multiply_add", ("bfloat16_multiply_add", "rounded")),
    ("tile_register_product", ("tile_register_product", "tile_register_stored")),
    (
        "byte_stored",
        (
            *("byte_multiply_add", "byte_widened_multiply_add"),
            *("byte_line_multiply_add", "byte_neighbour_multiply_add"),
            *("byte_weight", "byte_stored"),
        ),
    ),
)
"""The unit by which rows belong to a fit, and the units that it finds, in their order.

Later groups take the times that earlier ones found.
"""

OPTIONAL: Final = frozenset({"awaited_step", "tile_register_product", "tile_register_stored"})
"""Units that a file of costs may lack: of kernels that only some CPUs have, or younger ones."""

IN_PLACE_OF: Final = {
    "byte_multiply_add": "byte_widened_multiply_add",
    "byte_widened_multiply_add": "byte_multiply_add",
    "byte_line_multiply_add": "byte_neighbour_multiply_add",
    "byte_neighbour_multiply_add": "byte_line_multiply_add",
}
"""What a unit takes that no layer of a group does: a machine has the one or the other kernel."""

UNSEEN_AS: Final = {"rounded": "element", "repeated_step": "cold_step"}
"""What a unit takes that no layer has, unless it is known from elsewhere."""

UNITS: Final = (*(unit for _, units in GROUPS for unit in units), "element", "memory_byte", "fork")
"""All units, as ``cpp/costs/work.h`` has them in another order."""

_ROUNDS = 4
_NOISE = 0.03
_TOGETHER = 2.0
"""What an error that kernels of a layer do not share counts: it is what misleads a choice."""
_TRUST = 0.05
"""What predictions that are off by all count beside as many layers.

By the square of their error.
"""
_FEW = 2
"""Units that any layers tell apart."""
_DIGITS = 3
_SMALL = 1e-9


@dataclass(frozen=True, slots=True)
class Error:
    """The relative errors of fitted times.

    Attributes:
        group: The unit by which the rows belong together.
        count: The number of rows.
        median: Half of the rows are closer.
        high: 95 of 100 rows are closer.
    """

    group: str
    count: int
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a CPU with registers of one width.

    Attributes:
        lanes: Floats in a register.
        caches: Bytes of ``first_cache``, ``second_cache`` and ``third_cache``, as a core sees them.
        ns: Nanoseconds of each unit.
        errors: Of each group of the fit.
    """

    lanes: int
    caches: Mapping[str, int]
    ns: Mapping[str, float]
    errors: Sequence[Error] = ()

    def text(self) -> str:
        """Return the section of a file of costs."""
        lines = [f"lanes {self.lanes}"]
        lines += [f"{name} {size}" for name, size in self.caches.items()]
        comments = {error.group: error for error in self.errors}
        for unit in UNITS:
            if unit in OPTIONAL and not self.ns.get(unit):
                continue
            if unit in comments:
                error = comments[unit]
                lines.append(
                    f"# {error.count} layers: {error.median:.0%} off at the median, "
                    f"{error.high:.0%} at the 95th percentile"
                )
            lines.append(f"{unit} {self.ns[unit]:.{_DIGITS}g}")
        return "\n".join(lines) + "\n"


def file_text(cpu: str, sections: Iterable[Costs], *comments: str) -> str:
    """Return a file of costs, as ``ARMNN_CPUACC_COSTS`` names one."""
    head = [HEADER, *(f"# {comment}" for comment in comments), f"cpu {cpu}"]
    return "\n".join(head) + "\n" + "".join(section.text() for section in sections)


def fit(
    rows: Sequence[Measured],
    lanes: int,
    caches: Mapping[str, int],
    known: Mapping[str, float],
    *,
    leans_on_predictions: bool = False,
) -> Costs:
    """Return the costs that fit measured layers best.

    The times of a layer's kernels share what disturbs a measurement, and a choice compares only
    them: what a fit has wrong about their differences weighs more than what it has wrong about all.

    Args:
        rows: The layers.
        lanes: Floats in a register.
        caches: See :class:`Costs`.
        known: Times of units that the rows do not tell, such as those of kernels that they lack.
        leans_on_predictions: Whether the costs that predicted the rows' times count as well, the
            more the better they did: for rows that are few.
    """
    ns = dict(known)
    errors = []
    for group, units in GROUPS:
        own = [row for row in rows if _group_of(row.work) == group]
        if not own:
            if group == "bfloat16_multiply_add" and group not in ns:
                # No layer was rounded in vectors: the instruction adds two products.
                ns |= {group: ns["multiply_add"] / 2, "rounded": ns["multiply_add"]}
            continue
        fixed = np.array([_time(row.work, ns, without=units) for row in own])
        counts = np.array([[row.work.get(unit, 0.0) for unit in units] for row in own])
        times = np.array([row.ns for row in own])
        layers = [*dict.fromkeys(row.shape for row in own)]
        places = np.array([layers.index(row.shape) for row in own])
        a, b = counts / times[:, None], (times - fixed) / times
        parts = [
            (a, b),
            (_TOGETHER * _from_the_mean(a, places), _TOGETHER * _from_the_mean(b, places)),
        ]
        if leans_on_predictions and len(units) > _FEW:
            parts.append(_prior(counts, times, np.array([row.predicted_ns for row in own])))
        found = _fitted(np.vstack([a for a, _ in parts]), np.concatenate([b for _, b in parts]))
        # What no row does keeps its time. A layer that reads stored bfloat16 rounds nothing.
        for unit, value, seen in zip(units, found, counts.sum(0) > 0, strict=True):
            ns.setdefault(unit, ns.get(UNSEEN_AS.get(unit, ""), 0.0))
            if seen:
                ns[unit] = float(f"{value:.{_DIGITS}g}")
        for unit, other in IN_PLACE_OF.items():
            if unit in units and not ns[unit]:
                ns[unit] = ns[other]
        off = np.abs(np.array([_time(row.work, ns) for row in own]) / times - 1)
        errors.append(Error(group, len(own), float(np.median(off)), float(np.quantile(off, 0.95))))
    return Costs(lanes, caches, ns, errors)


def _time(work: Mapping[str, float], ns: Mapping[str, float], without: Sequence[str] = ()) -> float:
    return sum(count * ns[unit] for unit, count in work.items() if unit not in without)


def _group_of(work: Mapping[str, float]) -> str:
    """Return the last group whose unit the work has."""
    return [group for group, _ in GROUPS if group in work][-1]


def _prior(
    counts: np.ndarray[Any, Any], times: np.ndarray[Any, Any], predicted: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return rows that want the costs behind predictions.

    Those are found from the predictions, which are sums of them, and are all stretched alike, as
    for a CPU of another clock.
    """
    used = _least_squares(counts / predicted[:, None], np.ones(len(predicted)))
    ratios = times / predicted
    wanted = used * np.median(ratios)
    error = np.abs(np.log(ratios / np.median(ratios))).mean()
    shares = np.linalg.norm(counts * wanted / times[:, None], axis=0)
    weights = _TRUST / max(error, _NOISE) ** 2 * shares
    return np.diag(weights / np.where(wanted > 0, wanted, 1.0)), weights


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
