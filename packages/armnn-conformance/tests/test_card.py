# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from armnn.errors import InvalidArgumentError
from armnn.types import DataType
from armnn_conformance.card import cell_document, make_card, read_card, write_card
from armnn_conformance.checks.correctness import CaseResult, Cell, Outcome

if TYPE_CHECKING:
    from pathlib import Path

PASSED = Outcome(CaseResult.PASSED)
BACKEND = {"id": "Acme", "api_version": "1.0", "distribution": "acme", "version": "2.1"}


def cell(layer: str, data_type: DataType, **outcomes: Outcome) -> Cell:
    return Cell(layer, data_type, dict(outcomes))


GOOD = cell("Softmax", DataType.FLOAT32, b=PASSED, a=PASSED)
MIXED = cell(
    "Softmax", DataType.QASYMM_U8, ok=PASSED, wrong=Outcome(CaseResult.FAILED, "off by one")
)
REFUSED = cell("Addition", DataType.FLOAT16, sum=Outcome(CaseResult.NOT_SUPPORTED, "no halves"))


def test_a_cell_says_what_came_of_each_case() -> None:
    assert cell_document(GOOD) == {
        "layer": "Softmax",
        "data_type": "Float32",
        "verdict": "passed",
        "passed": ["a", "b"],
        "failed": {},
        "not_supported": {},
    }
    assert cell_document(MIXED)["failed"] == {"wrong": "off by one"}
    assert cell_document(REFUSED)["verdict"] == "not supported"


def test_a_card_does_not_depend_on_the_order_of_the_tests() -> None:
    cells = [cell_document(each) for each in (MIXED, GOOD, REFUSED)]
    levels = {"robust": ["skipped"], "correct": ["passed", "failed"], "loads": ["passed"]}
    card = make_card(BACKEND, cells, levels)
    assert json.dumps(card) == json.dumps(make_card(BACKEND, cells[::-1], dict(levels)))
    assert list(card["layers"]) == ["Addition", "Softmax"]
    assert list(card["layers"]["Softmax"]) == ["Float32", "QAsymmU8"]
    verdicts = {"loads": "passed", "correct": "failed", "robust": "not supported"}
    assert card["levels"] == verdicts
    assert list(card["levels"]) == list(verdicts)
    assert card["backend"] == BACKEND
    assert set(card["versions"]) == {"armnn-core", "backend_api", "python", "numpy", "platform"}


def test_a_card_is_read_as_it_was_written(tmp_path: Path) -> None:
    card = make_card(BACKEND, [cell_document(GOOD)], {"correct": ["passed"]})
    write_card(str(tmp_path / "card.json"), card)
    assert read_card(str(tmp_path / "card.json")) == card


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read: .*No such file"),
        ("{", "cannot be read: "),
        ("[]", "is not a conformance card of format 1: write it anew"),
        ('{"format": 2}', "is not a conformance card of format 1"),
    ],
)
def test_a_file_that_is_no_card_is_refused(tmp_path: Path, text: str | None, problem: str) -> None:
    path = tmp_path / "card.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidArgumentError, match=problem):
        read_card(str(path))
