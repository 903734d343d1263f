# SPDX-License-Identifier: MIT
"""The tables of load times, and the processes behind them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from armnn.errors import ModelFileError
from benchmarks.models import load_times
from benchmarks.models.load_time_tables import CACHED, COLD, OTHER, Row, tables
from benchmarks.models.load_times import Model, Task, least
from tools.models import fetch

X = Model("/models/x.onnx", {})
Y = Model("/models/y.onnx", {})
Z = Model("/models/z.onnx", {})


def row(load_ms: float, free: float | None = None, **stages: float) -> Row:
    made: Row = {"import_ms": 1.0, "load_ms": load_ms, "wall_ms": load_ms + 2, "peak_mb": 40.0}
    made |= {} if free is None else {"import_free_ms": free}
    return made | ({"stages": stages} if stages else {})


def test_the_tables_show_all_figures() -> None:
    found = {
        "x.onnx": {
            COLD: row(30.0, 6.0, parse=20.0, **{"first run": 2.0, OTHER: 10.0}),
            CACHED: row(10.0, 2.0, parse=0.0, **{"first run": 1.0, OTHER: 11.0}),
            "onnxruntime": row(20.0, 4.0),
            "OpenVINO": row(50.0, 40.0),
        },
        "y.tflite": {COLD: row(8.0, parse=4.0, other=6.0), "LiteRT": row(4.0)},
    }
    assert tables(found).splitlines() == [
        "With imports:",
        "",
        "| model | runtime | import | load and first run | both | wall | peak memory |",
        "|---|---|---:|---:|---:|---:|---:|",
        "| x.onnx | CpuAcc | 1.0 ms | 30.0 ms | 31.0 ms | 32.0 ms | 40 MB |",
        "| x.onnx | CpuAcc cached | 1.0 ms | 10.0 ms | 11.0 ms | 12.0 ms | 40 MB |",
        "| x.onnx | onnxruntime | 1.0 ms | 20.0 ms | 21.0 ms | 22.0 ms | 40 MB |",
        "| x.onnx | OpenVINO | 1.0 ms | 50.0 ms | 51.0 ms | 52.0 ms | 40 MB |",
        "| y.tflite | CpuAcc | 1.0 ms | 8.0 ms | 9.0 ms | 10.0 ms | 40 MB |",
        "| y.tflite | LiteRT | 1.0 ms | 4.0 ms | 5.0 ms | 6.0 ms | 40 MB |",
        "",
        "Stages:",
        "",
        "| model, ms | runtime | parse | first run | other | wall |",
        "|---|---|---:|---:|---:|---:|",
        "| x.onnx | CpuAcc | 20.0 | 2.0 | 10.0 | 32.0 |",
        "| x.onnx | CpuAcc cached | 0.0 | 1.0 | 11.0 | 12.0 |",
        "| y.tflite | CpuAcc | 4.0 | - | 6.0 | 10.0 |",
        "",
        "Without imports:",
        "",
        "| model | CpuAcc | CpuAcc cached | peer | its time | CpuAcc / peer |",
        "|---|---:|---:|---|---:|---:|",
        "| x.onnx | 6.0 ms | 2.0 ms | onnxruntime | 4.0 ms | 1.50 |",
    ]
    assert "Without imports" not in tables({"y.tflite": found["y.tflite"]})


def test_stages_are_those_of_the_fastest_process() -> None:
    slow, fast = row(9.0, 1.0, parse=7.0), row(5.0, 3.0, parse=8.0)
    expected = {**fast, "import_free_ms": 1.0}
    assert least(slow, fast) == least(fast, slow) == expected
    assert least(row(4.0), row(3.0)) == row(3.0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Answer for the processes; return what they were to do."""
    tasks: list[Task] = []

    def answer(task: Task, _: Path) -> Row:
        tasks.append(task)
        if task.runtime == "OpenVINO":
            raise subprocess.CalledProcessError(1, "python")
        return row(float(len(tasks)))

    monkeypatch.setattr(load_times, "_ask", answer)
    return tasks


def test_runtimes_take_turns_behind_each_of_the_other_models(asked: list[Task]) -> None:
    found = load_times.measured(X, [Y, Z], rounds=3)
    assert list(found) == [COLD, CACHED, "onnxruntime"]  # a peer that refuses the model is left out
    filling, rounds = asked[:4], [task for task in asked[4:] if task.runtime != "OpenVINO"]
    assert [(task.model, task.cache is None) for task in filling] == [
        (X, False), (X, False), (Y, False), (Z, False),
    ]  # fmt: skip
    assert [task.runtime for task in rounds] == [COLD, COLD, COLD, COLD, *["onnxruntime"] * 2] * 3
    assert {task.model.path for task in rounds} == {X.path}
    assert [task.cache is not None for task in rounds] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ] * 3
    assert [task.before for task in rounds[::2]] == [None] * 9
    assert [task.before for task in rounds[1::2]] == [Y, Y, Y, Z, Z, Z, Y, Y, Y]
    assert (found[COLD]["load_ms"], found[COLD]["import_free_ms"]) == (5.0, 6.0)


def test_our_own_failure_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Row:
        raise subprocess.CalledProcessError(1, "python")

    monkeypatch.setattr(load_times, "_ask", fail)
    with pytest.raises(subprocess.CalledProcessError):
        load_times.measured(X, [], rounds=1)


def test_other_models_of_the_format_come_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, list[str]] = {}

    def fake(model: Model, before: list[Model], rounds: int) -> dict[str, Row]:
        seen[model.path] = [each.path for each in before]
        return {COLD: row(float(rounds), parse=1.0)}

    monkeypatch.setattr(load_times, "model_of", lambda name: Model(name, {}))
    monkeypatch.setattr(load_times, "measured", fake)
    assert load_times.main(["a.onnx", "b.onnx", "c.tflite", "--rounds", "4", "--json"]) == 0
    assert seen == {"a.onnx": ["b.onnx"], "b.onnx": ["a.onnx"], "c.tflite": []}
    assert json.loads(capsys.readouterr().out)["c.tflite"] == {COLD: row(4.0, parse=1.0)}
    load_times.main(["a.onnx", "--before", "d.onnx", "e.tflite"])
    assert seen["a.onnx"] == ["d.onnx"]


def test_a_model_that_fails_is_named_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fake(model: Model, *_: object) -> dict[str, Row]:
        if model.path == "b.onnx":
            raise subprocess.CalledProcessError(1, "python", stderr="Traceback\nno memory\n")
        return {COLD: row(4.0, parse=1.0)}

    def known(name: str) -> Model:
        if name == "a.onnx":
            raise ModelFileError("it is empty")
        return Model(name, {})

    monkeypatch.setattr(load_times, "model_of", known)
    monkeypatch.setattr(load_times, "measured", fake)
    assert load_times.main(["a.onnx", "b.onnx", "c.onnx", "--json"]) == 1
    said = capsys.readouterr()
    assert list(json.loads(said.out)) == ["c.onnx"]
    assert said.err.splitlines()[-2:] == ["a.onnx: it is empty", "b.onnx: no memory"]


def test_a_public_model_has_the_inputs_of_the_catalogue(
    model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model("silero_vad")
    monkeypatch.setattr(fetch, "default_cache", lambda: path.parent)
    given = load_times.model_of("silero_vad")
    assert given == Model(
        str(path),
        {
            "input": ((1, 576), "float32", 0.0),
            "state": ((2, 1, 128), "float32", 0.0),
            "sr": ((), "int64", 16000.0),
        },
    )
    given = load_times.model_of(str(path))  # a file says less
    assert given.inputs["input"] == ((1, 64), "float32", 0.0)


def test_in_a_process_the_stages_are_all_of_the_time(
    model: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    given = load_times.model_of(str(model("face_detection")))
    task = Task(COLD, given, before=given)
    assert load_times.main(["--child", json.dumps(asdict(task))]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["wall_ms"] == pytest.approx(sum(found["stages"].values()))
    assert 0 <= found["stages"][OTHER] < found["wall_ms"] / 4
    assert min(found["stages"][name] for name in ("parse", "compile", "first run")) > 0
