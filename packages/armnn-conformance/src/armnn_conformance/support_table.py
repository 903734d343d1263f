# SPDX-License-Identifier: MIT
"""The table of supported layers, from a backend's own answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from armnn.backends.calling import explained
from armnn.layers import LAYERS
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, cases_of, data_types_of, samples_of
from armnn_conformance.checks.correctness import CaseResult
from armnn_conformance.running import layer_of
from armnn_conformance.subject import Subject

Rows = dict[str, dict[str, dict[str, Any]]]
"""The answers by layer type and data type, in the form of a card."""


def layers_with_kernels() -> tuple[str, ...]:
    """Return the layer types that a backend may compute."""
    return tuple(name for name, spec in LAYERS.items() if not spec.no_kernel)


def support_rows(
    subject: Subject,
    layers: Iterable[str] | None = None,
    *,
    every_case: bool = True,
    advance: Callable[[], None] = lambda: None,
) -> Rows:
    """Ask a backend about the layers of conformance cases.

    Args:
        subject: The backend.
        layers: The layer types; all that have kernels if left out.
        every_case: Whether it is asked about every case; else about the first one of each kind,
            which takes a tenth of the time.
        advance: Called after each layer type.

    Returns:
        For each layer type and data type the names of the cases that are ``claimed``, and those
        that are ``not_supported`` with the reasons.
    """
    asked = cases_of if every_case else samples_of
    rows: Rows = {}
    for layer in layers_with_kernels() if layers is None else layers:
        rows[layer] = {
            data_type.arm_name: _answers(subject, asked(layer, data_type))
            for data_type in data_types_of(layer)
        }
        advance()
    return rows


def table(rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> tuple[list[str], list[list[str]]]:
    """Return a table's headings and its rows, by layer type.

    Args:
        rows: From :func:`support_rows`, or the ``layers`` of a card. The columns have the data
            types for which cases are supported ("Float16 2/3" if not all), those for which none
            is, and of a card those that failed. A group of them has a name, see :func:`legend`.
    """
    body = []
    for layer, cells in rows.items():
        found: dict[str, dict[str, str]] = {answer: {} for answer in _ANSWERS}
        for name, cell in cells.items():
            answer, note = _answer(cell)
            found[answer][name] = note
        body.append([layer, *(_named(found[answer], cells) for answer in _ANSWERS)])
    used = [not index or any(row[index] for row in body) for index in range(len(_ANSWERS) + 1)]
    return (
        [name for name, is_used in zip(["layer", *_ANSWERS], used, strict=True) if is_used],
        [[c for c, is_used in zip(row, used, strict=True) if is_used] for row in body],
    )


def legend() -> dict[str, list[str]]:
    """Return the data types of each group of the table."""
    return {name: [each.arm_name for each in members] for name, members in _GROUPS.items()}


_ANSWERS = ("supported", "not supported", "failed")
_COMPUTED = [each for each in DataType if not each.is_storage_only]
_GROUPS = {
    "floats": [each for each in _COMPUTED if each.is_float],
    "quantized": [each for each in _COMPUTED if each.is_quantized],
    "signed": [each for each in _COMPUTED if each.arm_name.startswith("Signed")],
    "unsigned": [each for each in _COMPUTED if each.arm_name.startswith("Unsigned")],
    "packed": [each for each in DataType if each.is_storage_only],
}


def _named(chosen: Mapping[str, str], asked: Iterable[str]) -> str:
    """Return data types as text, with groups as one word."""
    asked = list(asked)
    whole: dict[str, str] = {}
    for group, members in legend().items():
        here = [name for name in members if name in asked]
        if len(here) > 1 and len({chosen.get(name) for name in here}) == 1:
            whole.update(dict.fromkeys(here, group))
    words = (f"{whole.get(name, name)} {note}".rstrip() for name, note in chosen.items())
    return ", ".join(dict.fromkeys(words))


def _answers(subject: Subject, cases: Iterable[LayerCase]) -> dict[str, Any]:
    claimed: list[str] = []
    refused: dict[str, str] = {}
    for case in cases:
        try:
            answer = subject.supports(layer_of(case))
        except Exception as error:  # a backend may fail in any way
            refused[case.name] = explained(error)
            continue
        if answer:
            claimed.append(case.name)
        else:
            refused[case.name] = answer.reason
    return {"claimed": claimed, "not_supported": refused}


def _answer(cell: Mapping[str, Any]) -> tuple[str, str]:
    """Return a cell's column and its count of supported cases."""
    if cell.get("verdict") == CaseResult.FAILED:
        return "failed", ""
    yes = len(cell.get("claimed", cell.get("passed", ())))
    no = len(cell["not_supported"])
    if no and not yes:
        return "not supported", ""
    return "supported", f"{yes}/{yes + no}" if no else ""
