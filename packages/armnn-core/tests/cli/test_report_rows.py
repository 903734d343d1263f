# SPDX-License-Identifier: MIT
"""Layers compiled together share a row of the report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from armnn.backends.cache import Footprint
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


def test_parts_like_those_above_are_one_row() -> None:
    rows = [row(f"l{i}", f"p{i}", "no Boolean" if i % 2 else "", "Floor") for i in range(9)]
    assert folded_rows(rows) == [
        ("l0", "Floor", "Acme", "compiled into 'p0'"),
        ("l1", "Floor", "Acme", "compiled into 'p1'; First: no Boolean"),
        ("l2 to l8 (7 layers)", "7 Floor", "Acme", "compiled into 7 parts, as above"),
    ]


def test_layers_of_one_part_with_known_reasons_are_counted_as_one_part() -> None:
    whys = ["", "no Boolean", "no rank 5"]
    rows = [row(f"l{i}", "P", whys[i % 3]) for i in range(12)]
    assert folded_rows(rows)[3:] == [
        ("l3 to l11 (9 layers)", "9 Floor", "Acme", "compiled into one part, as above")
    ]
    rows += [row(f"m{i}", "Q", whys[i % 3]) for i in range(6)]
    assert folded_rows(rows)[3:] == [
        ("l3 to m5 (15 layers)", "15 Floor", "Acme", "compiled into 2 parts, as above")
    ]


def test_two_parts_like_those_above_and_a_new_reason_are_not_folded() -> None:
    reasons = ["", "no Boolean", "", "no Boolean", "no rank 5", "", "no Boolean"]
    rows = [row(f"l{i}", f"p{i}", why) for i, why in enumerate(reasons)]
    assert [name for name, *_ in folded_rows(rows)] == [f"l{i}" for i in range(7)]


def test_layers_that_run_one_by_one_are_not_taken_for_parts() -> None:
    rows = [row(f"l{i}", why="no Boolean") for i in range(5)]
    assert len(folded_rows(rows)) == 5


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
        planned=report,
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


def test_many_parts_are_a_row_for_each_backend_unless_all_are_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    backends = ["Npu", "CpuRef"]
    border = (Border("a", "Npu", 1024, copied=True),)
    parts = tuple(Part(f"l{i}", backends[i % 2], 2, "", border) for i in range(13))
    memory = Footprint(2048, 1024, 512)
    rows = [replace(row(f"l{i}", f"p{i // 2}"), footprint=memory) for i in range(26)]
    report = Report(rows, parts=parts)
    result_of(report).show()
    printed = capsys.readouterr().out
    assert "\nAll rows: --report-all\n" in printed
    lines = [line.split() for line in printed.splitlines()]
    assert ["7", "parts", "Npu", "14", "7", "7.0", "7.0"] in lines
    assert ["6", "parts", "CpuRef", "12", "6", "6.0", "6.0"] in lines
    assert ["13", "parts", "Acme", "26", "26.0", "13.0", "6.5"] in lines
    result_of(report, all_layers=True).show()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["l12", "Npu", "2", "1", "1.0", "1.0"] in lines
    assert ["p12", "Acme", "2", "2.0", "1.0", "0.5"] in lines
    assert not any("--report-all" in line for line in lines)


def test_one_part_has_no_borders_to_show(capsys: pytest.CaptureFixture[str]) -> None:
    result_of(Report((row("a", "P"),), parts=(Part("a", "Npu", 2, "", ()),))).show()
    assert "border" not in capsys.readouterr().out
