# SPDX-License-Identifier: MIT
"""``armnn run --profile`` and Arm NN's profile."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from armnn.cli.main import main
from armnn.cli.profiles import show_slowest
from armnn.profiling import LayerTime


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
