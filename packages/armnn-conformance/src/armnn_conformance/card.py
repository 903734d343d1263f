# SPDX-License-Identifier: MIT
"""The conformance card: findings about a backend as JSON.

Programs read it. It has no date and no order that depends on the run: two runs of the same versions
write the same.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from armnn import __version__
from armnn.backends import BACKEND_API_VERSION, Capability
from armnn.errors import InvalidArgumentError
from armnn.layers import LAYERS
from armnn.types import DataType
from armnn_conformance.checks.correctness import CaseResult, Cell
from armnn_conformance.subject import Subject

FORMAT = 1
LEVELS = ("loads", "correct", "robust", "quiet")

CELL = "conformance_cell"
"""The property in which a test records the outcome of a layer type and a data type."""

REFUSED = "conformance_refused"
"""The property of a test that says which required cases are refused."""

GRAPHS = "conformance_graphs"
"""The property by which a test says which graphs of several layers passed, by family."""

Document = dict[str, Any]


def cell_document(cell: Cell) -> Document:
    """Return a card's entry for a cell."""
    return {
        "layer": cell.layer,
        "data_type": cell.data_type.arm_name,
        "verdict": str(cell.result),
        "passed": sorted(cell.details(CaseResult.PASSED)),
        "failed": dict(sorted(cell.details(CaseResult.FAILED).items())),
        "not_supported": dict(sorted(cell.details(CaseResult.NOT_SUPPORTED).items())),
    }


def subject_document(subject: Subject) -> Document:
    """Return the part of a card about the backend itself."""
    disturbed = subject.backend.capabilities.get(Capability.DISTURBS)
    return {
        "id": subject.id,
        "api_version": str(subject.backend.api_version),
        "distribution": subject.entry.distribution or None,
        "version": subject.entry.version or None,
        **({} if disturbed is None else {"disturbs": disturbed}),
    }


def make_card(
    backend: Mapping[str, Any],
    cells: Iterable[Mapping[str, Any]],
    levels: Mapping[str, Iterable[str]],
    graphs: Mapping[str, Iterable[str]] | None = None,
) -> Document:
    """Return a card.

    Args:
        backend: From :func:`subject_document`.
        cells: From :func:`cell_document`, in any order.
        levels: For each level that was tested, the outcomes of its tests: passed, failed, skipped.
        graphs: For each family of graphs, those of several layers that passed.
    """
    layers: dict[str, dict[str, Document]] = {}
    for cell in sorted(cells, key=_place):
        row = {key: value for key, value in cell.items() if key not in ("layer", "data_type")}
        layers.setdefault(cell["layer"], {})[cell["data_type"]] = row
    return {
        "format": FORMAT,
        "backend": dict(backend),
        "versions": {
            "armnn-core": __version__,
            "backend_api": str(BACKEND_API_VERSION),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "platform": f"{platform.system()} {platform.machine()}",
        },
        "levels": {level: str(_worst(list(levels[level]))) for level in LEVELS if level in levels},
        "graphs": {family: sorted(found) for family, found in sorted((graphs or {}).items())},
        "layers": layers,
    }


def write_card(path: str, card: Document) -> None:
    """Write a card as a JSON file."""
    Path(path).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def read_card(path: str) -> Document:
    """Read a card.

    Raises:
        InvalidArgumentError: The file cannot be read, or is not a card of this format.
    """
    try:
        card = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(
            f"the card {path!r} cannot be read: {error}; expected a file of pytest --armnn-card"
        ) from error
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise InvalidArgumentError(
            f"{path!r} is not a conformance card of format {FORMAT}: write it anew with "
            "pytest --pyargs armnn_conformance --armnn-card"
        )
    return card


def _worst(results: Sequence[str]) -> CaseResult:
    for result in (CaseResult.FAILED, CaseResult.PASSED):
        if result in results:
            return result
    return CaseResult.NOT_SUPPORTED


def _place(cell: Mapping[str, Any]) -> tuple[int, int]:
    layers = list(LAYERS)
    return layers.index(cell["layer"]), DataType.from_arm_name(cell["data_type"]).value
