# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable

from armnn.testing import fakes
from armnn.testing.fakes import misbehaving
from armnn.testing.subject import Subject
from armnn.testing.support_table import layers_with_kernels, support_rows, table

MakeSubject = Callable[[type], Subject]


def test_the_rows_are_the_answers_of_the_backend(make_subject: MakeSubject) -> None:
    rows = support_rows(make_subject(misbehaving.SmallBackend), ["Softmax", "Floor"])
    assert rows["Softmax"]["Float32"]["claimed"]
    assert rows["Softmax"]["Float32"]["not_supported"] == {}
    halves = rows["Softmax"]["Float16"]
    assert halves["claimed"] == []
    assert set(halves["not_supported"].values()) == {"tensor 0 is Float16, expected Float32"}
    assert rows["Floor"]["Float32"]["claimed"] == []


def test_a_backend_that_fails_to_answer_does_not_end_the_table(make_subject: MakeSubject) -> None:
    class FailingBackend(fakes.FailingBackend):
        def __init__(self) -> None:
            super().__init__(stage="supports")

    rows = support_rows(make_subject(FailingBackend), ["Softmax"])
    reasons = list(rows["Softmax"]["Float32"]["not_supported"].values())
    assert "told to fail in supports" in reasons[0]


def test_all_layers_that_may_have_a_kernel_have_a_row(make_subject: MakeSubject) -> None:
    assert set(support_rows(make_subject(misbehaving.SmallBackend))) == set(layers_with_kernels())
    assert "Softmax" in layers_with_kernels()
    assert "Input" not in layers_with_kernels()


def test_a_table_has_a_column_per_data_type_and_a_mark_per_cell() -> None:
    rows = {
        "Addition": {
            "Float32": {"claimed": ["a", "b"], "not_supported": {}},
            "Float16": {"claimed": [], "not_supported": {"a": "no"}},
        },
        "Softmax": {"Float32": {"claimed": ["a"], "not_supported": {"b": "no", "c": "no"}}},
    }
    assert table(rows) == (
        ["layer", "Float16", "Float32"],
        [["Addition", "no", "yes"], ["Softmax", "-", "1/3"]],
    )


def test_a_card_is_shown_in_the_same_form() -> None:
    cells = {
        "Float32": {"verdict": "passed", "passed": ["a"], "failed": {}, "not_supported": {}},
        "QAsymmU8": {
            "verdict": "failed",
            "passed": ["a"],
            "failed": {"b": "wrong"},
            "not_supported": {},
        },
    }
    assert table({"Softmax": cells}) == (
        ["layer", "Float32", "QAsymmU8"],
        [["Softmax", "yes", "failed"]],
    )
