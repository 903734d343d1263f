# SPDX-License-Identifier: MIT
"""What ``armnn run`` shows: outputs, labels, comparisons, times and reports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from armnn import DataType, TensorInfo
from armnn.backends.cache import Footprint
from armnn.errors import InvalidArgumentError, MemoryImportError
from armnn.optimizer import Border, Part, Refusal, Report, ReportRow
from armnn.profiling import LayerTime
from armnn.runtime import LoadedNetwork
from armnn_tools.cli import results as module
from armnn_tools.cli.main import main
from armnn_tools.cli.results import (
    Labels,
    Latency,
    RunResult,
    SetResult,
    all_rows,
    best_classes,
    check_labels,
    class_counts,
    folded_rows,
    labels_in_metadata,
    read_labels,
    real_values,
    show_slowest,
    summary,
    written,
)


def ranking(values: object, count: int) -> list[tuple[int, int, int]]:
    return [(one.row, one.rank, one.index) for one in best_classes(np.array(values), count, None)]


def test_the_highest_values_come_first_and_equal_ones_in_order() -> None:
    assert ranking([1.0, 5.0, 3.0, 5.0], 3) == [(0, 1, 1), (0, 2, 3), (0, 3, 2)]


def test_nan_comes_last_and_infinity_first() -> None:
    assert ranking([np.nan, -np.inf, 1.0, np.inf], 4) == [
        (0, 1, 3),
        (0, 2, 2),
        (0, 3, 1),
        (0, 4, 0),
    ]


def test_there_are_never_more_classes_than_values() -> None:
    assert ranking([2, 1], 10) == [(0, 1, 0), (0, 2, 1)]
    assert ranking([[7]], 10) == [(0, 1, 0)]


def test_each_row_is_ranked_up_to_a_limit() -> None:
    assert ranking([[0, 1], [1, 0]], 1) == [(0, 1, 1), (1, 1, 0)]
    assert len(best_classes(np.zeros((100, 3)), 1, None)) == module.ROW_LIMIT


def test_large_integers_keep_their_order() -> None:
    assert ranking(np.array([3, 200, 100], np.uint8), 2) == [(0, 1, 1), (0, 2, 2)]


def test_labels_are_one_a_line_in_utf8(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes("\ufeffKätzchen\r\nHund\n".encode())
    assert read_labels(path) == Labels(("Kätzchen", "Hund"), str(path))


def test_a_file_of_labels_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LABELS_BYTES_LIMIT", 5)
    path = tmp_path / "labels.txt"
    path.write_text("a\nb\nc\n")
    with pytest.raises(InvalidArgumentError, match=r"labels.txt' are 6 bytes, expected at most 5"):
        read_labels(path)


def test_metadata_with_a_line_for_each_class_is_labels() -> None:
    metadata = {"author": "me", "character": "0\n90\n180", "other": "a\nb\nc"}
    labels = labels_in_metadata(metadata, [7, 3])
    assert labels == Labels(("0", "90", "180"), "the model's metadata entry 'character'")
    assert labels_in_metadata(metadata, [4]) is None
    assert labels_in_metadata({"author": "me"}, [1]) is None


def test_labels_must_go_with_an_output() -> None:
    labels = Labels(("a", "b"), "names.txt")
    check_labels(labels, {"scores": 2, "boxes": 4})
    with pytest.raises(InvalidArgumentError, match=r"has 2 labels.*classes: 3 of 'scores'"):
        check_labels(labels, {"scores": 3})
    with pytest.raises(InvalidArgumentError, match="no output has any"):
        check_labels(labels, {})


def test_scalars_and_empty_outputs_have_no_classes() -> None:
    outputs = {"s": np.zeros(()), "e": np.zeros((0, 5)), "x": np.zeros((2, 5))}
    assert class_counts(outputs) == {"x": 5}


def test_quantized_outputs_become_real_values() -> None:
    info = TensorInfo((2,), DataType.QASYMM_U8, 0.5, 10)
    assert real_values(np.array([10, 14], np.uint8), info).tolist() == [0.0, 2.0]
    plain = np.array([1.0])
    assert real_values(plain, TensorInfo((1,), DataType.FLOAT64)) is plain


def test_a_small_output_is_told_in_full() -> None:
    assert summary(np.array([[1, 2]], np.int64)) == {"values": [[1, 2]]}
    assert summary(np.array(True)) == {"values": True}
    assert summary(np.array([0.5], ml_dtypes.bfloat16)) == {"values": [0.5]}
    assert summary(np.zeros((0, 2))) == {"values": []}
    assert written(np.array([1, 2])) == "[1 2]"


def test_a_large_output_is_told_in_figures() -> None:
    assert summary(np.arange(1000)) == {
        "min": 0, "max": 999, "mean": 499.5, "not_finite": 0, "first": [0, 1, 2, 3, 4, 5],
    }  # fmt: skip
    assert written(np.arange(1000)) == "min 0, max 999, mean 499.5, begins with 0 1 2 3 4 5"


def test_an_output_without_a_finite_value_has_no_figures() -> None:
    found = summary(np.full(100, np.nan))
    assert set(found) == {"not_finite", "first"}
    assert found["not_finite"] == 100
    assert written(np.full(100, np.nan)).startswith("100 NaN or infinite, begins with nan")


GIVEN = ("--input", "x=1,2,3,4")
RIGHT = np.float32([[3, 5, 7, 9]])


@pytest.fixture
def differing(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Return a function for an ``armnn run`` that fails."""

    def run(*arguments: str) -> dict[str, Any]:
        assert main(["run", *arguments, "--json"]) == 1
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run


def test_stored_outputs_that_agree(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    np.save(toy / "y.npy", RIGHT + np.float32(0.005))  # the range is 6
    np.savez(toy / "all.npz", out_x=RIGHT)
    for source in ("out_x=y.npy", "y.npy", "made:0=y.npy", "all.npz"):
        (found,) = document(model(), *GIVEN, "--compare-output", source)["comparisons"]
        assert (found["source"], found["agrees"]) == ("stored outputs", True)


def test_the_first_number_that_differs_is_shown(
    differing: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    toy: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save(toy / "y.npy", np.float32([[3, 5, 7.5, np.nan]]))
    options = (model(), *GIVEN, "--compare-output", "y.npy")
    (found,) = differing(*options)["comparisons"]
    (output,) = found["outputs"]
    assert output["first"] == [0, 2]
    assert (output["count"], output["got"], output["expected"]) == (2, 7.0, 7.5)
    assert main(["run", *options]) == 1
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("Compared with stored outputs, within 0.001 of the range, 1 step")
    cells = lines[start + 4].split()
    assert cells[:2] == ["out_x", "differs"]
    assert lines[start + 4].endswith("2 of 4   [0, 2]   7, 7.5")
    assert any(line.startswith("'armnn compare model.toy' says whether a layer") for line in lines)
    assert main(["run", *options, "--tolerance", "0.2"]) == 1  # NaN is never near


def test_the_tolerances_are_options(
    document: Callable[..., dict[str, Any]],
    differing: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    toy: Path,
) -> None:
    np.save(toy / "y.npy", RIGHT + np.float32([0, 0, 0, 0.5]))
    differing(model(), *GIVEN, "--compare-output", "y.npy")
    document("model.toy", *GIVEN, "--compare-output", "y.npy", "--tolerance", "0.1")
    quantized = model({"x": [[1, 4], "QAsymmS8", 1.0, 0]})
    np.save(toy / "q.npy", np.int8([[3, 5, 7, 12]]))
    differing(quantized, *GIVEN, "--compare-output", "q.npy")
    document(quantized, *GIVEN, "--compare-output", "q.npy", "--step-tolerance", "3")


def test_other_shapes_and_types_differ(
    differing: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    np.save(toy / "y.npy", RIGHT[0])
    np.save(toy / "d.npy", RIGHT.astype(np.float64))
    for name, problem in (
        ("y.npy", "another shape: got [1,4], expected [4]"),
        ("d.npy", "got float32, expected float64"),
    ):
        (found,) = differing(model(), *GIVEN, "--compare-output", name)["comparisons"]
        assert found["outputs"][0]["problem"] == problem
    assert main(["run", "model.toy", *GIVEN, "--compare-output", "y.npy"]) == 1


def test_several_outputs_are_compared_with_one_archive(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    path = model({name: [[1, 4], "Float32"] for name in ("x", "z")})
    np.savez(toy / "all.npz", out_z=np.ones((1, 4), np.float32), out_x=RIGHT)
    given = (*GIVEN, "--input", "z=zeros", "--compare-output", "all.npz")
    (found,) = document(path, *given)["comparisons"]
    assert [output["name"] for output in found["outputs"]] == ["out_x", "out_z"]


def test_the_same_model_on_other_backends(
    document: Callable[..., dict[str, Any]], model: Callable[..., str]
) -> None:
    options = ("--backends", "Toy", "--compare-output-with-backend", "Half,Toy")
    (found,) = document(model(), *options)["comparisons"]
    assert (found["source"], found["agrees"]) == ("Half, Toy", True)
    assert found["outputs"][0]["total"] == 4


def test_a_run_may_take_no_longer_than_the_threshold(
    differing: Callable[..., dict[str, Any]],
    document: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    latency = differing(model(), "--threshold-time", "0")["latency"]
    assert (latency["threshold_ms"], latency["exceeds_threshold"]) == (0, True)
    assert latency["max_ms"] > 0
    assert document("model.toy", "--threshold-time", "1e6")["latency"]["exceeds_threshold"] is False
    assert main(["run", "model.toy", "--threshold-time", "0"]) == 1
    assert " ms, expected 0 ms\n" in capsys.readouterr().out


def test_several_threads_run_at_once(
    document: Callable[..., dict[str, Any]], text: Callable[..., str], model: Callable[..., str]
) -> None:
    options = ("--concurrent", "3", "--iterations", "4", "--warmup", "2")
    found = document(model(), *GIVEN, *options)
    latency = found["latency"]
    assert (latency["iterations"], latency["concurrent"], latency["warmup"]) == (12, 3, 2)
    assert latency["runs_per_second"] > 0
    assert found["outputs"][0]["values"] == RIGHT.tolist()
    assert "(12 runs, 3 at once, " in text("model.toy", *options)


def test_inputs_are_imported_where_their_memory_allows_it(
    document: Callable[..., dict[str, Any]],
    text: Callable[..., str],
    model: Callable[..., str],
    toy: Path,
) -> None:
    options = ("--import-inputs-if-aligned", "--iterations", "3")
    found = document(model(), *GIVEN, *options)
    assert found["latency"]["imports"] == "inputs are imported"
    assert found["outputs"][0]["values"] == RIGHT.tolist()
    assert "imports" not in document("model.toy")["latency"]
    folder = toy / "sets"
    folder.mkdir()
    for number in range(2):
        np.save(folder / f"{number}.npy", np.full((1, 4), number, np.float32))
    sets = document("model.toy", "--input", "sets", *options)["sets"]
    assert [each["outputs"][0]["values"] for each in sets] == [[[1] * 4], [[3] * 4]]
    assert "Memory: inputs are " in text("model.toy", *options)


def test_inputs_that_cannot_be_imported_are_copied_with_the_reason(
    document: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MemoryImportError("not aligned to 64 bytes")

    monkeypatch.setattr(LoadedNetwork, "import_inputs", refuse)
    found = document(model(), *GIVEN, "--import-inputs-if-aligned")
    assert found["latency"]["imports"] == "inputs are copied: not aligned to 64 bytes"
    assert found["outputs"][0]["values"] == RIGHT.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--compare-output", "out_y=y.npy"], "'out_y', expected one of 'out_x', 'made:0'"),
        (["--compare-output", "y.txt"], "'y.txt' for 'out_x', expected a file ending in .npy"),
        (["--compare-output", "none.npy"], "cannot read 'none.npy': No such file"),
        (["--compare-with", "onnxruntime"], "onnxruntime cannot run 'model.toy': expected a file"),
        (["--compare-output-with-backend", "Npu"], "There is no backend 'Npu'"),
        (["--tolerance", "-1"], "the tolerance of_range"),
        (["--import-inputs-if-aligned", "--profile"], "is for one thread without profile"),
        (["--import-inputs-if-aligned", "--concurrent", "2"], "is for one thread without profile"),
    ],
)
def test_what_cannot_be_compared_gets_a_clear_error(
    error: Callable[..., str], model: Callable[..., str], arguments: list[str], message: str
) -> None:
    assert message in error(model(), *arguments)


def test_the_slowest_layers_are_a_table(
    text: Callable[..., str], model: Callable[..., str]
) -> None:
    lines = text(model(), "--backends", "Half,Toy", "--profile", "--iterations", "2").splitlines()
    start = lines.index("Slowest layers")
    assert lines[start + 2].split() == [
        "layer", "type", "backend", "ms", "share", "multiply-adds", "GFLOP/s",
    ]  # fmt: skip
    rows = [line.split() for line in lines[start + 4 : start + 6]]
    assert sorted(row[:3] for row in rows) == [
        ["double_x", "Activation", "Half"],
        ["plus_x", "Activation", "Toy"],
    ]
    assert float(rows[0][3]) >= float(rows[1][3]) > 0
    assert [row[5:] for row in rows] == [["0"], ["0"]]


def test_many_layers_end_in_a_row_of_the_others(
    text: Callable[..., str], model: Callable[..., str]
) -> None:
    path = model({f"x{number}": [[1, 4], "Float32"] for number in range(6)})
    lines = text(path, "--profile", "--no-print-output").splitlines()
    start = lines.index("Slowest layers")
    last = lines[start + 4 : lines.index("", start + 4)][-1].split()
    assert last[:2] == ["2", "others"]
    shares = [float(line.split("%")[0].split()[-1]) for line in lines[start + 4 : start + 15]]
    assert 0 < sum(shares) <= 100.6  # each is rounded to a tenth


def test_json_has_all_layers(
    document: Callable[..., dict[str, Any]], model: Callable[..., str]
) -> None:
    found = document(model(), "--profile")
    assert found["files"] == {}
    for time in found["layer_times"]:
        assert set(time) == {
            "layer", "type", "backend", "milliseconds", "share", "multiply_adds",
            "predicted_milliseconds", "gflops",
        }  # fmt: skip
        assert 0 < time["share"] < 1
        assert (time["multiply_adds"], time["gflops"]) == (0, None)
    assert "layer_times" not in document("model.toy")


def test_what_profiling_costs_is_told(
    text: Callable[..., str], document: Callable[..., dict[str, Any]], model: Callable[..., str]
) -> None:
    found = document(model(), "--profile", "trace.json", "--iterations", "3")
    plain, profiled = found["latency"], found["profiled_latency"]
    assert (plain["iterations"], profiled["iterations"]) == (3, 3)
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    runs = [round(each["dur"] / 1e3, 6) for each in events if each.get("cat") == "plain run"]
    assert sorted(runs)[1] <= plain["median_ms"]
    took = [each["dur"] / 1e3 for each in events if each.get("cat") == "run"]
    assert len(runs) == len(took) == 3
    assert max(took) <= profiled["max_ms"]
    assert "profiled_latency" not in document("model.toy")
    shown = re.search(
        r"^Latency: median (.*?) ms.*\nProfiled: median (.*) ms; recording took (.*) ms of it$",
        text("model.toy", "--profile"),
        re.MULTILINE,
    )
    assert shown is not None
    without, with_it, cost = map(float, shown.groups())
    assert cost == pytest.approx(max(with_it - without, 0), abs=0.0011)


def test_runs_that_show_tensors_are_not_repeated(
    document: Callable[..., dict[str, Any]], model: Callable[..., str]
) -> None:
    options = ("--profile", "--print-intermediate-layers-to-file", "shown")
    assert "profiled_latency" not in document(model(), *options)


def test_predicted_times_stand_beside_measured_ones(capsys: pytest.CaptureFixture[str]) -> None:
    told = LayerTime("conv", "Convolution2d", "A", 3.0, 0.75, 5, predicted_milliseconds=2.5)
    show_slowest([told, LayerTime("pad", "Pad", "B", 1.0, 0.25, 0)])
    head, conv, pad = (line for line in capsys.readouterr().out.splitlines() if "  " in line)
    assert head.split()[-2:] == ["predicted", "ms"]
    assert conv.split()[-1] == "2.500"
    assert "2.500" not in pad


def test_arm_nns_profile_has_runs_and_details(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    options = ("--event-based-profiling", "profile.json", "--iterations", "3")
    found = document(model(), *options, "--output-network-details")
    assert found["files"] == {"Arm NN profile": "profile.json"}
    assert "layer_times" not in found
    profile = json.loads((toy / "profile.json").read_text())["ArmNN"]
    (execute,) = (
        inner
        for key, value in profile.items()
        if key.startswith("inference_measurements_#")
        for name, inner in value.items()
        if name.startswith("Execute_#")
    )
    names = [name for name in execute if "Workload" in name]
    assert [name.partition("_#")[0] for name in names] == [
        "double_x_HalfActivationWorkload_Execute", "plus_x_ToyActivationWorkload_Execute",
    ]  # fmt: skip
    for name in names:
        (times,) = (v["raw"] for k, v in execute[name].items() if k.startswith("Wall clock time_#"))
        assert len(times) == 3
        assert min(times) > 0
    details = profile["layer_details"]
    assert [layer["Name"] for layer in details] == ["double_x", "plus_x"]
    assert details[0]["A"] == "2.0"
    document("model.toy", *options)
    assert "layer_details" not in json.loads((toy / "profile.json").read_text())["ArmNN"]


def test_a_model_behind_the_option_is_not_taken_for_its_file(
    model: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["run", "--profile", model()])
    assert "got 'model.toy', expected a file ending in .json" in capsys.readouterr().err


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


def test_blocks_of_layers_are_folded_to_the_first() -> None:
    kinds = ("Floor", "Softmax", "Floor", "Addition", "Reshape")
    block = [f"layers.{{}}/part{i}" for i in range(5)]
    rows = [row("embed"), row("layers.0/mask")]
    for number in range(30):
        names = zip(block, kinds, strict=True)
        rows += [row(name.format(number), kind=kind) for name, kind in names]
    rows.append(row("head"))
    assert [(name, why) for name, _, _, why in folded_rows(rows)] == [
        ("embed", ""),
        ("layers.0/mask", ""),
        *((name.format(0), "") for name in block),
        (
            "layers.1/part0 to layers.29/part4 (145 layers)",
            "29 blocks like the 5 rows above",
        ),
        ("head", ""),
    ]


def test_a_block_that_differs_ends_the_folding() -> None:
    rows = [
        row(f"l{number}.{part}", why="no rank 5" if (number, part) == (4, 2) else "", kind=kind)
        for number in range(9)
        for part, kind in enumerate(("Floor", "Softmax", "Reshape", "Addition"))
    ]
    names = [(name, why) for name, _, _, why in folded_rows(rows)]
    assert ("l4.2", "First: no rank 5") in names
    assert names[4] == ("l1.0 to l3.3 (12 layers)", "3 blocks like the 4 rows above")
    assert names[-2] == ("l5.3 to l8.2 (12 layers)", "3 blocks like the 4 rows above")


def test_two_equal_blocks_are_not_folded() -> None:
    rows = [row(f"l{number}.{kind}", kind=kind) for number in (0, 1) for kind in "abcd"]
    assert len(folded_rows(rows)) == 8
