# SPDX-License-Identifier: MIT
"""Which layers a backend says it supports, for which data types: its own answers, nothing run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from armnn.errors import BackendError
from armnn.layers import LAYERS
from armnn.testing.cases import cases_of, data_types_of
from armnn.testing.running import layer_of
from armnn.testing.suite import Verdict
from armnn.types import DataType

if TYPE_CHECKING:
    from armnn.testing.subject import Subject

Rows = dict[str, dict[str, dict[str, Any]]]
"""From layer type to data type to what is said of the two; the form that a card has."""


def layers_with_kernels() -> tuple[str, ...]:
    """Return the layer types that a backend may have a kernel for, in the order of the table."""
    return tuple(name for name, spec in LAYERS.items() if not spec.no_kernel)


def support_rows(subject: Subject, layers: Iterable[str] | None = None) -> Rows:
    """Ask a backend about the layers of all conformance cases.

    Args:
        subject: The backend.
        layers: The layer types; all that have kernels if left out.

    Returns:
        For each layer type and data type the names of the cases that are ``claimed``, and those
        that are ``not_supported`` with the reasons.
    """
    rows: Rows = {}
    for layer in layers_with_kernels() if layers is None else layers:
        rows[layer] = {
            data_type.arm_name: _answers(subject, layer, data_type)
            for data_type in data_types_of(layer)
        }
    return rows


def table(rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of a table, layer by data type.

    Args:
        rows: From :func:`support_rows`, or the ``layers`` of a card. A cell is "yes", "no", or
            "2/3" where some cases are; of a card also "failed". It is "-" where there is no case.
    """
    found = dict.fromkeys(name for columns in rows.values() for name in columns)
    columns = [data_type.arm_name for data_type in DataType if data_type.arm_name in found]
    body = [
        [layer, *(_mark(cells[name]) if name in cells else "-" for name in columns)]
        for layer, cells in rows.items()
    ]
    return ["layer", *columns], body


def _answers(subject: Subject, layer: str, data_type: DataType) -> dict[str, Any]:
    claimed: list[str] = []
    refused: dict[str, str] = {}
    for case in cases_of(layer, data_type):
        try:
            answer = subject.supports(layer_of(case))
        except BackendError as error:
            refused[case.name] = str(error)
            continue
        if answer:
            claimed.append(case.name)
        else:
            refused[case.name] = answer.reason
    return {"claimed": claimed, "not_supported": refused}


def _mark(cell: Mapping[str, Any]) -> str:
    if cell.get("verdict") == Verdict.FAILED:
        return str(Verdict.FAILED)
    yes = len(cell.get("claimed", cell.get("passed", ())))
    no = len(cell["not_supported"])
    if not no:
        return "yes"
    return f"{yes}/{yes + no}" if yes else "no"
