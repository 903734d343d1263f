# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import fakes
from armnn.types import DataType
from armnn_conformance.cases import cases_of, samples_of
from armnn_conformance.subject import Subject
from armnn_conformance.support_table import layers_with_kernels, legend, support_rows, table
from fakes import misbehaving

if TYPE_CHECKING:
    from armnn.backends import ModelContext, Support
    from armnn.graph import Layer

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
    class FailingBackend(fakes.NullBackend):
        def supports(self, layer: Layer, model: ModelContext) -> Support:
            raise ValueError("told to fail")

    rows = support_rows(make_subject(FailingBackend), ["Softmax"])
    reasons = list(rows["Softmax"]["Float32"]["not_supported"].values())
    assert reasons[0].startswith("ValueError: told to fail (raised by supports of layer ")


def test_all_layers_that_may_have_a_kernel_have_a_row(make_subject: MakeSubject) -> None:
    rows = support_rows(make_subject(misbehaving.SmallBackend), every_case=False)
    assert set(rows) == set(layers_with_kernels())
    assert "Softmax" in layers_with_kernels()
    assert "Input" not in layers_with_kernels()


def test_the_first_case_of_each_kind_is_enough_for_a_survey(make_subject: MakeSubject) -> None:
    subject = make_subject(misbehaving.SmallBackend)
    seen: list[None] = []
    rows = support_rows(
        subject, ["Softmax", "Pad"], every_case=False, advance=lambda: seen.append(None)
    )
    assert len(seen) == 2
    every = support_rows(subject, ["Softmax", "Pad"])
    for layer, cells in rows.items():
        for name, cell in cells.items():
            kinds = [*samples_of(layer, DataType.from_arm_name(name))]
            asked = [*cell["claimed"], *cell["not_supported"]]
            assert sorted(asked) == sorted(case.name for case in kinds)
            assert 0 < len(asked) <= sum(map(len, every[layer][name].values()))
    assert sum(map(len, rows["Pad"]["Float32"].values())) < sum(
        map(len, every["Pad"]["Float32"].values())
    )


def test_the_samples_have_one_case_of_each_generator() -> None:
    cases = [case.name for case in cases_of("Resize", DataType.FLOAT32)]
    samples = [case.name for case in samples_of("Resize", DataType.FLOAT32)]
    assert samples[0] == cases[0]
    assert 1 < len(samples) < len(cases)
    assert set(samples) <= set(cases)
    assert not [*samples_of("Resize", DataType.BOOLEAN)]


YES = {"claimed": ["a", "b"], "not_supported": {}}
SOME = {"claimed": ["a"], "not_supported": {"b": "no", "c": "no"}}
NO: dict[str, Any] = {"claimed": [], "not_supported": {"a": "no"}}


def test_a_table_has_a_row_per_layer_and_a_column_per_answer() -> None:
    rows = {
        "Addition": {"Float16": NO, "Float32": YES, "Signed32": SOME},
        "Softmax": {"Float32": SOME},
    }
    assert table(rows) == (
        ["layer", "supported", "not supported"],
        [["Addition", "Float32, Signed32 1/3", "Float16"], ["Softmax", "Float32 1/3", ""]],
    )


def test_columns_that_nothing_is_in_are_left_out() -> None:
    assert table({"Floor": {"Float32": YES}})[0] == ["layer", "supported"]
    assert table({"Floor": {"Float32": NO}})[0] == ["layer", "not supported"]


def test_data_types_that_are_answered_alike_go_by_the_name_of_their_group() -> None:
    rows = {
        "all": {"Float16": YES, "Signed8": NO, "Float32": YES, "Boolean": YES, "Signed64": NO},
        "alike": {"QAsymmU8": SOME, "QSymmS8": SOME},
        "mixed": {"QAsymmU8": SOME, "QSymmS8": YES, "Unsigned8": YES},
    }
    assert table(rows)[1] == [
        ["all", "floats, Boolean", "signed"],
        ["alike", "quantized 1/3", ""],
        ["mixed", "QAsymmU8 1/3, QSymmS8, Unsigned8", ""],
    ]


def test_the_legend_has_every_data_type_once_but_boolean() -> None:
    named = [name for members in legend().values() for name in members]
    assert sorted([*named, "Boolean"]) == sorted(each.arm_name for each in DataType)


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
        ["layer", "supported", "failed"],
        [["Softmax", "Float32", "QAsymmU8"]],
    )
