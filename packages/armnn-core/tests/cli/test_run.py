# SPDX-License-Identifier: MIT
"""``armnn run`` on toy plug-ins: results and errors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image


def test_the_outputs_are_what_the_network_makes_of_the_inputs(
    model: Callable[..., str], document: Callable[..., dict[str, Any]]
) -> None:
    np.save("x.npy", np.array([[0, 1, -2, 0.25]], np.float32))
    found = document(model(), "--input", "x=x.npy", "--output", "out_x=y.npy")
    assert found["outputs"] == [
        {"name": "out_x", "data_type": "Float32", "shape": [1, 4], "values": [[1, 3, -3, 1.5]]}
    ]
    np.testing.assert_array_equal(np.load("y.npy"), np.array([[1, 3, -3, 1.5]], np.float32))
    assert found["files"] == {"output out_x": "y.npy"}
    assert found["inputs"] == [
        {"name": "x", "data_type": "Float32", "shape": [1, 4], "source": "x.npy", "notes": []}
    ]


def test_nan_and_infinity_pass_through(
    model: Callable[..., str],
    document: Callable[..., dict[str, Any]],
    text: Callable[..., str],
) -> None:
    np.save("x.npy", np.array([[np.nan, np.inf, -np.inf, 1]], np.float32))
    found = document(model(), "--input", "x.npy", "--top-k", "4", "--output", "y.npy")
    assert found["outputs"][0]["values"] == [["NaN", "Infinity", "-Infinity", 3]]
    assert [one["index"] for one in found["outputs"][0]["top"]] == [1, 3, 2, 0]
    np.testing.assert_array_equal(np.load("y.npy"), [[np.nan, np.inf, -np.inf, 3]])
    assert "[[ nan  inf -inf   3.]]" in text(model(), "--input", "x.npy")


def test_inputs_that_are_not_given_are_random_and_the_output_says_so(
    model: Callable[..., str], text: Callable[..., str]
) -> None:
    path = model({"x": [[1, 4], "Float32"], "mask": [["n", 2], "Boolean"]})
    arguments = ("--backends", "Toy", "--input", "mask=zeros", "--seed", "5")
    lines = text(path, *arguments).splitlines()
    assert lines[:2] == [
        "Input x: Float32[1,4] from random; not given; seed 5",
        "Input mask: Boolean[1,2] from zeros; unknown dimensions of [n,2] taken as 1",
    ]
    assert "Layers: 4 on Toy" in lines


def test_the_same_seed_gives_the_same_outputs(
    model: Callable[..., str], document: Callable[..., dict[str, Any]]
) -> None:
    outputs = [document(model(), "--seed", seed)["outputs"] for seed in ("1", "1", "2")]
    assert outputs[0] == outputs[1] != outputs[2]


def test_a_large_output_is_summarised(
    model: Callable[..., str],
    document: Callable[..., dict[str, Any]],
    text: Callable[..., str],
) -> None:
    values = np.arange(100, dtype=np.float32)
    values[50] = np.nan
    np.save("x.npy", values)
    path = model({"x": [[100], "Float32"]})
    (output,) = document(path, "--input", "x.npy")["outputs"]
    assert output == {
        "name": "out_x", "data_type": "Float32", "shape": [100], "min": 1, "max": 199,
        "mean": (10000 - 101) / 99, "not_finite": 1, "first": [1, 3, 5, 7, 9, 11],
    }  # fmt: skip
    printed = text(path, "--input", "x.npy")
    assert "min 1, max 199, mean 99.9899, 1 NaN or infinite, begins with 1." in printed


def test_outputs_need_not_be_printed(
    model: Callable[..., str],
    document: Callable[..., dict[str, Any]],
    text: Callable[..., str],
) -> None:
    assert "outputs" not in document(model(), "--no-print-output")
    assert "out_x" not in text(model(), "--no-print-output")


def test_a_quantised_output_is_shown_in_real_values_and_written_as_stored(
    model: Callable[..., str], document: Callable[..., dict[str, Any]]
) -> None:
    np.save("x.npy", np.array([3, 5], np.uint8))
    path = model({"x": [[2], "QAsymmU8", 0.5, 4]})
    found = document(path, "--input", "x.npy", "--output", "y.npy")
    assert np.load("y.npy").tolist() == [7, 11]
    assert found["outputs"][0]["values"] == [1.5, 3.5]  # 0.5 * (stored - 4)


def test_the_latency_counts_the_measured_runs_only(
    model: Callable[..., str],
    document: Callable[..., dict[str, Any]],
    text: Callable[..., str],
) -> None:
    latency = document(model(), "--iterations", "5", "--warmup", "2")["latency"]
    assert (latency["iterations"], latency["warmup"]) == (5, 2)
    assert 0 < latency["min_ms"] <= latency["median_ms"]
    assert "(5 runs after 2 to warm up)" in text(model(), "--iterations", "5", "--warmup", "2")
    assert "(1 run); loaded in" in text(model(), "--warmup", "0")


def test_a_cache_folder_keeps_the_prepared_model(
    model: Callable[..., str], document: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    first, second = (document(model(), "--cache-dir", str(tmp_path / "kept")) for _ in range(2))
    assert list((tmp_path / "kept").iterdir())
    assert second["outputs"] == first["outputs"]
    assert 1 < first["peak_memory_mb"] < 10_000


def test_skipped_backends_are_told_with_their_reasons(
    model: Callable[..., str],
    document: Callable[..., dict[str, Any]],
    text: Callable[..., str],
) -> None:
    arguments = (model(), "--backends", "GpuAcc?,Toy")
    (skipped,) = document(*arguments)["skipped_backends"]
    assert skipped["id"] == "GpuAcc"
    assert skipped["reason"].startswith("There is no backend 'GpuAcc' (known here:")
    assert "Skipped GpuAcc: There is no backend 'GpuAcc'" in text(*arguments)
    assert document(model(), "--backends", "Toy")["skipped_backends"] == []


def test_the_report_says_who_refused_and_why(
    model: Callable[..., str],
    document: Callable[..., dict[str, Any]],
    text: Callable[..., str],
) -> None:
    arguments = (model(), "--backends", "Half,Toy", "--report")
    found = document(*arguments)
    assert found["layers_by_backend"] == {"Half": 1, "Toy": 1}
    rows = {row["layer"]: (row["backend"], row["refusals"]) for row in found["report"]}
    assert rows == {
        "double_x": ("Half", []),
        "plus_x": ("Toy", [{"backend": "Half", "reason": "it cannot add"}]),
    }
    table = [line.split() for line in text(*arguments).splitlines()]
    assert ["plus_x", "Activation", "Toy", "Half:", "it", "cannot", "add"] in table
    assert ["double_x", "Activation", "Half"] in table


def test_a_report_of_all_layers_needs_no_other_option(
    model: Callable[..., str],
    document: Callable[..., dict[str, Any]],
    text: Callable[..., str],
) -> None:
    assert [row["layer"] for row in document(model(), "--report-all")["report"]] == [
        "double_x",
        "plus_x",
    ]
    table = [line.split() for line in text(model(), "--report-all").splitlines()]
    assert ["plus_x", "Activation", "Half", "Half:"] not in table
    assert ["double_x", "Activation", "Half"] in table


def test_the_report_of_open_shapes_says_for_which_it_holds(
    model: Callable[..., str], text: Callable[..., str]
) -> None:
    path = model({"x": [["n", 4], "Float32"]})
    for option in ("--report", "--report-all"):
        assert "Layers for x=[3,4]" in text(path, "--shape", "x=3x4", option)


def test_strict_refuses_to_fall_back(model: Callable[..., str], error: Callable[..., str]) -> None:
    message = error(model(), "--backends", "Half,Toy", "--strict")
    assert "'plus_x'" in message
    assert "it cannot add" in message


def test_a_layer_can_be_given_to_a_backend(
    model: Callable[..., str], document: Callable[..., dict[str, Any]]
) -> None:
    found = document(model(), "--backends", "Toy,Half", "--layer-backend", "double_x=Half")
    assert found["layers_by_backend"] == {"Half": 1, "Toy": 1}


def test_options_reach_their_backend(
    model: Callable[..., str],
    document: Callable[..., dict[str, Any]],
    error: Callable[..., str],
) -> None:
    texts = ("Toy.Speed=3", "Toy.Safe=true", "Toy.Word=a=b", "Toy.Ratio=0.5")
    options = [part for text in texts for part in ("--option", text)]
    assert document(model(), "--backends", "Toy", *options)["layers_by_backend"] == {"Toy": 2}
    assert "got options {'Speed': 4}" in error(
        model(), "--backends", "Toy", "--option", "Toy.Speed=4"
    )


def test_the_best_classes_are_labelled_from_a_file(
    model: Callable[..., str],
    document: Callable[..., dict[str, Any]],
    text: Callable[..., str],
) -> None:
    np.save("x.npy", np.array([[0, 3, 1, 3]], np.float32))
    Path("names.txt").write_text("cat\ndog\nbird\nfish\n")
    arguments = (model(), "--input", "x.npy", "--labels", "names.txt")
    found = document(*arguments, "--top-k", "3")
    assert found["labels"] == "names.txt"
    assert found["outputs"][0]["top"] == [
        {"row": 0, "rank": 1, "index": 1, "label": "dog", "score": 7},
        {"row": 0, "rank": 2, "index": 3, "label": "fish", "score": 7},
        {"row": 0, "rank": 3, "index": 2, "label": "bird", "score": 3},
    ]
    lines = text(*arguments).splitlines()
    assert "Best classes of out_x, labels from names.txt" in lines
    assert "1 dog 7.000000" in [" ".join(line.split()) for line in lines]


def test_labels_are_found_in_the_models_metadata(
    model: Callable[..., str], document: Callable[..., dict[str, Any]]
) -> None:
    metadata = {"author": "me", "classes": "cat\ndog\nbird\nfish"}
    found = document(model(metadata=metadata), "--input", "zeros")
    assert found["labels"] == "the model's metadata entry 'classes'"
    assert [one["label"] for one in found["outputs"][0]["top"]] == ["cat", "dog", "bird", "fish"]
    plain = document(model(metadata={"author": "me"}), "--input", "zeros")
    assert "top" not in plain["outputs"][0]


def test_a_picture_goes_in_and_what_was_assumed_comes_out(
    model: Callable[..., str], text: Callable[..., str]
) -> None:
    Image.new("RGB", (8, 4), (255, 0, 0)).save("red.png")
    path = model({"x": [["n", 3, 1, 2], "Float32"]})
    printed = text(path, "--input", "x=red.png", "--mean", "0.5", "--std", "0.5", "--color", "bgr")
    assert printed.splitlines()[0] == (
        "Input x: Float32[1,3,1,2] from red.png; 8x4 RGB; layout nchw (guessed from [n,3,1,2]); "
        "stretched to 2x1 (assumed); pixels divided by 255 (assumed)"
    )
    # (0 - 0.5) / 0.5 and (1 - 0.5) / 0.5, doubled and one added; blue and green come first.
    values = printed[printed.index("[[[[") : printed.index("]]]]")]
    assert [float(word) for word in values.replace("[", " ").replace("]", " ").split()] == [
        -1, -1, -1, -1, 3, 3,
    ]  # fmt: skip


def test_the_profile_has_an_event_per_phase_and_layer_that_add_up(
    model: Callable[..., str], document: Callable[..., dict[str, Any]]
) -> None:
    path = model({"x": [["n", 2_000_000], "Float32"]})
    found = document(path, "--profile", "trace.json", "--iterations", "3", "--no-print-output")
    assert found["files"] == {"profile": "trace.json"}
    trace = json.loads(Path("trace.json").read_text())
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    names = [event["name"] for event in events]
    assert {"parse", "load", "assign backends", "run"} <= set(names)
    assert (names.count("run"), names.count("double_x"), names.count("plus_x")) == (3, 3, 3)
    layer = next(event for event in events if event["name"] == "plus_x")
    assert layer["args"] == {"type": "Activation", "backend": "Toy"}
    for run in (event for event in events if event["name"] == "run"):
        inside = [
            event["dur"]
            for event in events
            if event["cat"] == "layer" and 0 <= event["ts"] - run["ts"] <= run["dur"]
        ]
        assert len(inside) == 2
        assert 0 < sum(inside) <= run["dur"]


def test_several_inputs_come_out_of_one_npz(
    model: Callable[..., str], document: Callable[..., dict[str, Any]]
) -> None:
    path = model({"a": [[2], "Float32"], "b": [[1], "Signed32"]})
    np.savez("both.npz", a=np.array([1.0, 2.0]), b=np.array([5]))
    found = document(path, "--input", "both.npz")
    assert [output["values"] for output in found["outputs"]] == [[3, 5], [11]]
    assert found["inputs"][0]["notes"] == ["float64 converted to float32"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.toy"], "There is no model file 'none.toy'"),
        (["folder.toy"], "it is a folder, expected a model file"),
        (["model.abc"], "there is no parser for the suffix '.abc'"),
        (["bad.toy"], "'bad.toy' is not a toy file"),
        (["unsupported.toy"], "uses the operator 'Magic'"),
        (["model.toy", "--backends", "Tyo"], "'Tyo'"),
        (["model.toy", "--backends", "Tyo"], "Half"),
        (["model.toy", "--layer-backend", "duoble_x=Toy"], "double_x"),
        (["model.toy", "--layer-backend", "double_x"], "expected NAME=ID as in conv1=CpuRef"),
        (["model.toy", "--option", "Toy.Speed"], "expected ID.NAME=VALUE"),
        (["model.toy", "--option", "Other.Speed=1"], "'Other'"),
        (["model.toy", "--input", "y=zeros"], "--input got the name 'y', expected one of 'x'"),
        (["model.toy", "--input", "x=none.npy"], "cannot read 'none.npy': No such file"),
        (["model.toy", "--input", "wide.npy"], "got shape [1,5], expected [1,4]"),
        (["model.toy", "--input", "words.npy"], "'words.npy' holds <U3, expected plain numbers"),
        (["model.toy", "--input", "long.npy"], "got int64, expected float32, which cannot hold"),
        (["model.toy", "--input", "data.bin"], "expected a file ending in .npy"),
        (["model.toy", "--shape", "1x5"], "--shape got [1,5] for the input 'x', expected [1,4]"),
        (["model.toy", "--resize", "big", "--input", "zeros"], "--resize got 'big'"),
        (["model.toy", "--output", "y=y.npy"], "got the name 'y', expected one of 'out_x'"),
        (["model.toy", "--output", "out_x=y.txt"], "expected a file ending in .npy"),
        (["model.toy", "--output", "none/y.npy"], "'none/y.npy', which cannot be written"),
        (["model.toy", "--profile", "none/t.json"], "'none/t.json', which cannot be written"),
        (["model.toy", "--profile", "folder.json"], "'folder.json', which cannot be written"),
        (
            ["model.toy", "--event-based-profiling", "none/p.json"],
            "--event-based-profiling got 'none/p.json', which cannot be written",
        ),
        (["model.toy", "--output-network-details"], "adds to the profile of --event-based-prof"),
        (["model.toy", "--labels", "none.txt"], "cannot read the labels 'none.txt': No such"),
        (["model.toy", "--labels", "two.txt"], "'two.txt' has 2 labels, expected as many as"),
        (["model.toy", "--labels", "words.npy"], "the labels 'words.npy' are no UTF-8 text"),
        (["model.toy", "--labels", "empty.txt"], "the labels 'empty.txt' are empty"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_bad_input_gets_a_clear_error(
    arguments: list[str], message: str, model: Callable[..., str], error: Callable[..., str]
) -> None:
    model()
    Path("folder.toy").mkdir()
    Path("folder.json").mkdir()
    Path("model.abc").write_text("")
    Path("bad.toy").write_text("nonsense")
    Path("unsupported.toy").write_text('{"operator": "Magic"}')
    np.save("wide.npy", np.zeros((1, 5), np.float32))
    np.save("words.npy", np.array(["abc"]))
    np.save("long.npy", np.full((1, 4), 2**40 + 1))
    Path("two.txt").write_text("a\nb\n")
    Path("empty.txt").write_text("")
    assert message in error(*arguments)


def test_a_file_that_turns_out_not_to_be_writable_is_named(
    model: Callable[..., str], error: Callable[..., str]
) -> None:
    Path("full.npy").symlink_to("/dev/full")
    message = error(model(), "--output", "out_x=full.npy")
    assert message == "cannot write 'full.npy': No space left on device\n"


def test_control_characters_of_a_model_do_not_reach_the_terminal(
    model: Callable[..., str], text: Callable[..., str]
) -> None:
    printed = text(model({"x\x1b[2J": [[1], "Float32"]}), "--report")
    assert "\x1b" not in printed
    assert "x\\x1b[2J" in printed


def in_a_process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "armnn", "run", *arguments],
        cwd=folder,
        env={"PYTHONPATH": ":".join([str(folder), *sys.path]), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_runs_in_a_process_of_its_own(model: Callable[..., str], toy: Path) -> None:
    run = in_a_process(toy, model(), "--backends", "Toy", "--input", "zeros", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout)["outputs"][0]["values"] == [[1, 1, 1, 1]]


def test_an_error_in_a_process_is_one_line_without_a_traceback(
    model: Callable[..., str], toy: Path
) -> None:
    run = in_a_process(toy, model(), "--backends", "Toy", "--input", "x=none.npy")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "armnn: error: cannot read 'none.npy': No such file or directory\n"


STAGES = ["import", "read", "parse", "infer", "passes", "assign", "compile", "pack", "verify"]


def test_times_are_those_of_the_load_and_the_first_run(
    model: Callable[..., str], document: Callable[..., dict[str, Any]]
) -> None:
    path = model({"x": [["n", 4], "Float32"]})
    found = document(path, "--shape", "2x4", "--times")
    times = found["times_ms"]
    assert list(times) == ["start of the process", *STAGES, "first run", "rest", "total"]
    del times["start of the process"]
    total = times.pop("total")
    assert sum(times.values()) == pytest.approx(total)
    assert min(times["compile"], times["first run"]) > 0
    assert "times_ms" not in document(path)


def test_the_table_of_times_has_a_row_per_stage(
    model: Callable[..., str], text: Callable[..., str]
) -> None:
    lines = text(model(), "--times").splitlines()
    rows = dict(line.rsplit(maxsplit=1) for line in lines[lines.index("Times") + 4 :][:13])
    expected = ["start of the process", *STAGES, "first run", "rest", "total"]
    assert [name.strip() for name in rows] == expected
    assert all(float(milliseconds) >= 0 for milliseconds in rows.values())
