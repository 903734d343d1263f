# SPDX-License-Identifier: MIT
"""Layers compiled together share a row of the report."""

from __future__ import annotations

import pytest

from armnn.cli.measuring import Latency
from armnn.cli.report_rows import all_rows, folded_rows
from armnn.cli.run_result import RunResult, SetResult
from armnn.optimizer import Border, Part, Refusal, Report, ReportRow


def row(name: str, part: str = "", why: str = "", kind: str = "Floor") -> ReportRow:
    refusals = (Refusal("First", why),) if why else ()
    return ReportRow(name, kind, "Acme", refusals, part)


def test_layers_of_one_part_are_one_row_that_counts_them() -> None:
    kinds = ["Floor", "Softmax", "Floor", "Reshape", "Addition", "Floor"]
    rows = [row(f"l{i}", "main part", kind=kind) for i, kind in enumerate(kinds)]
    assert folded_rows(rows) == [
        (
            "l0 to l5 (6 layers)",
            "3 Floor, 1 Softmax, 1 Reshape, 1 more",
            "Acme",
            "compiled into 'main part'",
        )
    ]


def test_a_part_that_is_named_after_its_ends_is_not_named_again() -> None:
    ((_, _, _, why),) = folded_rows([row("a", "a to b"), row("b", "a to b")])
    assert why == "compiled into one part"


def test_what_differs_has_a_row_of_its_own() -> None:
    rows = [
        row("a", "P"),
        row("b", "P"),
        row("c"),
        row("d"),
        row("e", "P"),
        row("f", "P", "no Boolean"),
        row("g", "P", "no Boolean"),
        row("h", "Q"),
    ]
    assert [(layer, why) for layer, _, _, why in folded_rows(rows)] == [
        ("a to b (2 layers)", "compiled into 'P'"),
        ("c", ""),
        ("d", ""),
        ("e", "compiled into 'P'"),
        ("f to g (2 layers)", "compiled into 'P'; First: no Boolean"),
        ("h", "compiled into 'Q'"),
    ]


def test_all_rows_has_every_layer() -> None:
    rows = [row("a", "P"), row("b", "P", "no Boolean")]
    assert all_rows(rows) == [
        ("a", "Floor", "Acme", "compiled into 'P'"),
        ("b", "Floor", "Acme", "compiled into 'P'; First: no Boolean"),
    ]


def result_of(report: Report, *, all_layers: bool = False) -> RunResult:
    return RunResult(
        model="m.onnx",
        load_seconds=1.0,
        sets=(SetResult((), None),),
        output_infos={},
        labels=None,
        top_k=None,
        latency=Latency((1.0,), 0),
        report=report,
        show_report=True,
        all_layers=all_layers,
        peak_memory_mb=1.0,
        files={},
    )


@pytest.mark.parametrize(
    ("all_layers", "shown"),
    [(False, ["a to b (2 layers)"]), (True, ["a ", "b "])],
)
def test_the_command_shows_either_and_its_json_has_every_layer(
    capsys: pytest.CaptureFixture[str], all_layers: bool, shown: list[str]
) -> None:
    result = result_of(Report((row("a", "P"), row("b", "P"))), all_layers=all_layers)
    result.show()
    lines = capsys.readouterr().out.splitlines()
    rule = next(index for index, line in enumerate(lines) if "──" in line)
    below = lines[rule + 1 : rule + 1 + len(shown)]
    assert [line[1 : 1 + len(name)] for line, name in zip(below, shown, strict=True)] == shown
    assert lines[rule + 1 + len(shown)] == ""
    assert [each["layer"] for each in result.as_dict()["report"]] == ["a", "b"]


def test_the_command_shows_what_crosses_the_borders_between_parts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    borders = (Border("a", "Npu", 2048, copied=True), Border("x", "Npu", 512, copied=False))
    parts = (Part("a", "Npu", 2, "", ()), Part("b", "CpuRef", 1, "", borders))
    result = result_of(Report((row("a", "P"),), parts=parts))
    result.show()
    lines = capsys.readouterr().out.splitlines()
    title = lines.index("2 parts, 2 borders, 2.5 KiB over them, 2.0 KiB copied")
    assert [line.split() for line in lines[title + 4 : title + 6]] == [
        ["a", "Npu", "2", "0", "0.0", "0.0"],
        ["b", "CpuRef", "1", "2", "2.5", "2.0"],
    ]
    assert result.as_dict()["parts"] == [part.as_dict() for part in parts]


def test_one_part_has_no_borders_to_show(capsys: pytest.CaptureFixture[str]) -> None:
    result_of(Report((row("a", "P"),), parts=(Part("a", "Npu", 2, "", ()),))).show()
    assert "border" not in capsys.readouterr().out
