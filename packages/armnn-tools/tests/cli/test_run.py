# SPDX-License-Identifier: MIT
"""``armnn run`` on the toy plug-ins: inputs, outputs, options and errors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import armnn
from armnn_parser_armnn.reader import parse
from armnn_tools.cli.inputs import InputOptions
from armnn_tools.cli.main import main, parser
from armnn_tools.cli.pictures import PictureOptions, Resize
from armnn_tools.cli.run import input_options
from fakes import Plugin, backend_plugin, installed


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
        "Input mask: Boolean[1,2] from zeros; unknown dimensions of [n,2] assumed to be 1",
    ]
    assert "Layers: 4 on Toy" in lines


def test_the_same_seed_gives_the_same_outputs(
    model: Callable[..., str], document: Callable[..., dict[str, Any]]
) -> None:
    outputs = [document(model(), "--seed", seed)["outputs"] for seed in ("1", "1", "2")]
    assert outputs[0] == outputs[1] != outputs[2]


def test_a_large_output_is_summarized(
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


def test_a_quantized_output_is_shown_in_real_values_and_written_as_stored(
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


def test_the_best_classes_are_labeled_from_a_file(
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
        (["model.toy", "--labels", "words.npy"], "the labels 'words.npy' are not UTF-8 text"),
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
    assert run.stderr == (
        "armnn: error: the input 'x': cannot read 'none.npy': No such file or directory\n"
    )


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


def test_what_is_not_said_is_left_open() -> None:
    options = input_options(parser().parse_args(["run", "model.toy"]))
    assert options == InputOptions([], [], 0, PictureOptions())


def test_everything_that_is_said_of_the_inputs_arrives() -> None:
    arguments = ["--input", "x=a.png", "--input", "y=zeros", "--shape", "y=1x2", "--seed", "7"]
    arguments += ["--layout", "nhwc", "--resize", "shortest:8+crop", "--color", "bgr"]
    arguments += ["--mean", "1,2.5,3", "--std=0.5", "--scale", "2"]
    assert input_options(parser().parse_args(["run", "model.toy", *arguments])) == InputOptions(
        ["x=a.png", "y=zeros"],
        ["y=1x2"],
        7,
        PictureOptions("nhwc", Resize(shortest=8, crop=True), (1, 2.5, 3), (0.5,), 2, "bgr"),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--iterations", "0"], "got '0', expected a whole number from 1 to 999999999"),
        (["--warmup", "-1"], "got '-1', expected a whole number from 0 to 999999999"),
        (["--seed", "x"], "got 'x', expected a whole number from 0 to 999999999"),
        (["--mean", "1,a"], "got 'a', expected a number"),
        (["--mean", "nan"], "got 'nan', expected a number"),
        (["--std", "0"], "got '0', expected numbers above zero"),
        (["--scale", "inf"], "got 'inf', expected a number"),
        (["--layout", "abcd"], "invalid choice: 'abcd'"),
        (["--backends", "A,,B"], "got 'A,,B', expected ids as in CpuAcc,CpuRef"),
    ],
)
def test_malformed_options_are_wrong_usage(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "model.toy", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_inputs_and_outputs_have_second_names(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    path = model({"x": [[None, 2], "Float32"]})
    options = ("--shape", "tensor:0=2x2", "--input", "tensor:0=1,2,3,4")
    found = document(path, *options, "--output", "made:0=y.npy")
    assert [given["name"] for given in found["inputs"]] == ["x"]
    assert found["outputs"][0]["values"] == [[3, 5], [7, 9]]
    np.testing.assert_array_equal(np.load(toy / "y.npy"), [[3, 5], [7, 9]])


def test_a_misspelt_second_name_is_suggested(
    error: Callable[..., str], model: Callable[..., str]
) -> None:
    message = error(model(), "--input", "tensr:0=zeros")
    assert "expected one of 'x', 'tensor:0'; did you mean 'tensor:0'?" in message


def test_the_parser_is_told_which_part_of_a_file_to_read(
    document: Callable[..., dict[str, Any]], model: Callable[..., str]
) -> None:
    inputs = {"x": [[1, 4], "Float32"], "serve": [[1, 4], "Float32"]}
    found = document(model(inputs), "--signature", "serve", "--input", "tensor:0=zeros")
    assert [given["source"] for given in found["inputs"]] == ["random", "zeros"]
    assert main(["inspect", "model.toy", "--subgraph", "2", "--shape", "tensor:0=1x4"]) == 0


GIVEN = ("--input", "x=1025,1,2,3")


def test_intermediate_tensors_are_written(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    document(model(), *GIVEN, "--print-intermediate-layers-to-file", "shown")
    arrays = [np.load(file) for file in sorted((toy / "shown").rglob("*.npy"))]
    assert any(np.array_equal(array, [[2050, 2, 4, 6]]) for array in arrays)


def test_intermediate_tensors_are_shown_once_beside_the_document(
    model: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", model(), *GIVEN, "--print-intermediate-layers", "--json"]) == 0
    printed = capfd.readouterr()
    found = json.loads(printed.out)
    assert found["outputs"][0]["values"] == [[2051, 3, 5, 7]]
    assert found["latency"]["warmup"] == 0
    assert printed.err.count("double_x (0): float32[1, 4] from 2 to 2050") == 1


def test_a_model_becomes_a_file_of_arm_nn(
    text: Callable[..., str],
    model: Callable[..., str],
    toy: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert text(model(), "--serialize-to", "net.armnn") == "Wrote network to net.armnn\n"
    written, read = armnn.parse("model.toy"), parse(toy / "net.armnn")
    assert [str(layer.descriptor) for layer in read.layers] == [
        str(layer.descriptor) for layer in written.layers
    ]
    assert main(["run", "model.toy", "--serialize-to", "again.armnn", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"model": "model.toy", "files": {"network": "again.armnn"}}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("net.bin", "--serialize-to got 'net.bin', expected a file ending in .armnn"),
        ("none/net.armnn", "--serialize-to got 'none/net.armnn', which cannot be written"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused(
    error: Callable[..., str], model: Callable[..., str], path: str, message: str
) -> None:
    assert message in error(model(), "--serialize-to", path)


@pytest.fixture
def three_inputs(toy: Path) -> Path:
    """Make a folder with three inputs."""
    (toy / "in=puts").mkdir()
    for number, name in enumerate(("c", "a", "b")):
        np.save(toy / "in=puts" / f"{name}.npy", np.full((1, 4), number, np.float32))
    (toy / "in=puts" / "notes.txt").write_text("no input")
    return toy / "in=puts"


# Of the files a, b and c, which hold 1, 2 and 0.
RIGHT_BY_SET = [[[3.0] * 4], [[5.0] * 4], [[1.0] * 4]]


@pytest.mark.parametrize("source", ["x=in=puts", "tensor:0=in=puts", "in=puts"])
def test_a_folder_has_a_set_in_each_file(
    document: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    three_inputs: Path,
    source: str,
) -> None:
    found = document(model(), "--input", source, "--iterations", "2", "--output", "y.npy")
    assert [each["inputs"][0]["source"] for each in found["sets"]] == [
        f"in=puts/{name}.npy" for name in "abc"
    ]
    assert [each["outputs"][0]["values"] for each in found["sets"]] == RIGHT_BY_SET
    assert found["files"] == {f"output out_x of set {n}": f"y_{n}.npy" for n in range(3)}
    for number, right in enumerate(RIGHT_BY_SET):
        np.testing.assert_array_equal(np.load(three_inputs.parent / f"y_{number}.npy"), right)
    assert found["latency"]["iterations"] == 6
    assert "inputs" not in found


def test_the_sets_are_numbered_in_text(
    text: Callable[..., str], model: Callable[..., str], three_inputs: Path
) -> None:
    assert three_inputs.is_dir()
    lines = text(model(), "--input", "in=puts").splitlines()
    starts = [lines.index(f"Set {number}:") for number in range(3)]
    assert starts == sorted(starts)
    assert lines[starts[1] + 1].endswith("from in=puts/b.npy")
    assert lines[starts[1] + 3] == "[[5. 5. 5. 5.]]"


def test_other_inputs_are_the_same_in_all_sets(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], three_inputs: Path
) -> None:
    assert three_inputs.is_dir()
    path = model({name: [[1, 4], "Float32"] for name in ("x", "z")})
    found = document(path, "--input", "x=in=puts", "--input", "z=1,2,3,4")
    others = [each["outputs"][1]["values"] for each in found["sets"]]
    assert others == [[[3, 5, 7, 9]]] * 3


def test_each_set_is_compared_with_its_stored_output(
    document: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    three_inputs: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stored = three_inputs.parent / "stored"
    stored.mkdir()
    for number, right in enumerate(RIGHT_BY_SET):
        np.save(stored / f"{number}.npy", np.float32(right))
    options = ("--input", "in=puts", "--compare-output", "out_x=stored")
    found = document(model(), *options, "--compare-output-with-backend", "Half,Toy")
    for each in found["sets"]:
        assert [one["agrees"] for one in each["comparisons"]] == [True, True]
    np.save(stored / "1.npy", np.float32(RIGHT_BY_SET[0]))
    assert main(["run", "model.toy", *options, "--json"]) == 1
    sets = json.loads(capsys.readouterr().out)["sets"]
    assert [each["comparisons"][0]["agrees"] for each in sets] == [True, False, True]


def test_folders_that_do_not_fit_get_a_clear_error(
    error: Callable[..., str], model: Callable[..., str], three_inputs: Path
) -> None:
    (three_inputs.parent / "empty").mkdir()
    (three_inputs.parent / "one").mkdir()
    np.save(three_inputs.parent / "one" / "z.npy", np.zeros((1, 4), np.float32))
    path = model({name: [[1, 4], "Float32"] for name in ("x", "z")})
    message = error(path, "--input", "x=empty")
    assert "--input got the folder 'empty', which has no file ending in .npy" in message
    message = error(path, "--input", "x=in=puts", "--input", "z=one")
    assert "different numbers of files: 'x=in=puts' with 3, 'z=one' with 1" in message
    message = error(path, "--input", "x=in=puts", "--compare-output", "out_x=one")
    assert "--compare-output got 1 file for an output, expected 3: one for each set" in message
    message = error(path, "--compare-output", "out_x=in=puts")
    assert "--compare-output got 3 files for an output, expected 1" in message


def test_real_values_are_quantized_and_back(
    document: Callable[..., dict[str, Any]],
    error: Callable[..., str],
    model: Callable[..., str],
    toy: Path,
) -> None:
    path = model({"x": [[1, 3], "QAsymmU8", 0.5, 10]})
    np.save(toy / "x.npy", np.float32([[0, 1, -5]]))
    message = error(path, "--input", "x.npy")
    assert "got float32, expected the numbers that QAsymmU8[1,3] with scale 0.5 " in message
    assert "--quantize-input takes real numbers" in message
    assert "got float64, expected the numbers that QAsymmU8[1,3] with scale 0.5" in error(
        path, "--input", "x=0,1,-5.0"
    )
    options = ("--input", "x.npy", "--quantize-input", "--output", "y.npy")
    document(path, *options)
    # Stored are 10, 12 and 0; the layers compute 2 * x + 1 on what is stored.
    np.testing.assert_array_equal(np.load(toy / "y.npy"), np.uint8([[21, 25, 1]]))
    document(path, *options, "--dequantize-output")
    np.testing.assert_array_equal(np.load(toy / "y.npy"), np.float32([[5.5, 7.5, -4.5]]))
    document(path, "--input", "x=0,1,-5.0", *options[2:])
    np.testing.assert_array_equal(np.load(toy / "y.npy"), np.uint8([[21, 25, 1]]))


# The number in the file is what height and width must be multiples of, in both inputs alike.
BLOCKS_SOURCE = """\
from armnn import Network, TensorInfo
from armnn.layers.reshaping import SpaceToDepthDescriptor

def parse(path):
    size, *imgsz = path.read_text().split()
    network = Network("blocks", {"imgsz": imgsz[0]} if imgsz else {})
    blocks = SpaceToDepthDescriptor(block_size=int(size))
    for name in ("x", "mask"):
        value = network.add_input(name, TensorInfo(("n", "height", "width", 1)))
        value = network.add("SpaceToDepth", [value], blocks, name=f"fold {name}").output
        network.add_output(f"y {name}", value)
    return network
"""
BLOCKS = Plugin(
    "armnn-blocks",
    "0.1",
    entry_points={"armnn.parsers": {"blocks": "armnn_blocks:parse"}},
    modules={"armnn_blocks": BLOCKS_SOURCE},
)
TAKEN = "unknown dimensions of [n,height,width,1] assumed to be"


@pytest.fixture
def blocks(tmp_path: Path) -> Iterator[Path]:
    """Enter a folder with a parser and a backend.

    They are all that is installed.
    """
    with (
        installed(tmp_path, BLOCKS, backend_plugin("Null"), alone=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.chdir(tmp_path)
        yield tmp_path


def fed(
    capsys: pytest.CaptureFixture[str], model: str, *arguments: str
) -> dict[str, tuple[list[int], str]]:
    """Shape and last note of each input of a run."""
    Path("model.blocks").write_text(model)
    assert main(["run", "model.blocks", "--json", "--no-print-output", *arguments]) == 0
    rows = json.loads(capsys.readouterr().out)["inputs"]
    return {row["name"]: (row["shape"], "".join(row["notes"][-1:])) for row in rows}


@pytest.mark.usefixtures("blocks")
def test_made_up_data_has_a_shape_that_the_layers_agree_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    why = "the first of 1, 8, 16, 32, 64, 224, 256, 320, 640 that fits"
    both = ([1, 16, 16, 1], f"{TAKEN} [1,16,16,1], {why}")
    assert fed(capsys, "16") == {"x": both, "mask": both}
    assert fed(capsys, "1")["x"] == ([1, 1, 1, 1], f"{TAKEN} 1")
    both = ([1, 32, 48, 1], f"{TAKEN} [1,32,48,1], imgsz in the model's metadata")
    assert fed(capsys, "16 [32,48]") == {"x": both, "mask": both}


@pytest.mark.usefixtures("blocks")
def test_made_up_data_goes_with_data_that_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.zeros((2, 32, 64, 1), np.float32))
    found = fed(capsys, "16", "--input", "x=x.npy")
    why = "as the other inputs have them"
    assert found["mask"] == ([2, 32, 64, 1], f"{TAKEN} [2,32,64,1], {why}")


@pytest.mark.usefixtures("blocks")
def test_a_made_up_shape_that_does_not_fit_is_said_to_be_made_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("model.blocks").write_text("1000")
    assert main(["run", "model.blocks"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("armnn: error: layer 'fold x' (SpaceToDepth): ")
    taken = "assumed to be [1,640,640,1]"
    assert message.endswith(
        f"; the input 'x' was {taken}: --shape sets its shape; the input 'mask' was {taken}: "
        "--shape sets its shape\n"
    )
    # What the user said is not called made up.
    said = ["--shape", "x=1x1x1x1", "--shape", "mask=1x1x1x1"]
    assert main(["run", "model.blocks", *said]) == 1
    assert "--shape sets its shape" not in capsys.readouterr().err


CRASH = """\
import signal
from armnn.backends import Workload as Base
from fakes import NullBackend

class Workload(Base):
    def bind(self, inputs, outputs):
        # Not os.kill: the main thread may get that signal, and this step would end before.
        return lambda: signal.raise_signal(signal.SIGSEGV)

class backend(NullBackend):
    id = "Crash"

    def create_workload(self, layer, model):
        return Workload()
"""


def test_the_report_names_the_backend_that_ran_the_last_call(
    two_layers: armnn.Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    armnn.save(two_layers, tmp_path / "m.armnn")
    options = [str(tmp_path / "m.armnn"), "--backends", "Crash,CpuRef", "--isolate", "Crash"]
    options += ["--report", "--iterations", "1", "--warmup", "0", "--no-print-output"]
    with installed(tmp_path / "site", backend_plugin("Crash", source=CRASH)):
        assert main(["run", *options, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert main(["run", *options]) == 0
        shown = capsys.readouterr().out
    assert found["layers_by_backend"] == {"CpuRef": 2}
    assert found["planned_layers_by_backend"] == {"Crash": 2}
    assert {row["backend"] for row in found["planned_report"]} == {"Crash"}
    assert "ended with SIGSEGV" in found["report"][0]["refusals"][0]["reason"]
    assert "\nLayers: 2 on CpuRef\nPlanned: 2 on Crash\n" in shown
