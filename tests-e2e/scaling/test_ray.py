# SPDX-License-Identifier: MIT
"""The programs of examples/scaling/ on a local Ray."""

from __future__ import annotations

import csv
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scaling.programs import ENVIRONMENT, PATIENCE, PROGRAMS

import armnn

HERE = Path(__file__).parent
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]

# Runs a program with its arguments, and returns what it printed.
Run = Callable[..., str]


def rows_of(file: Path) -> list[dict[str, str]]:
    """Return a table without the folders of its pictures."""
    with file.open() as table:
        return [{**row, "path": Path(row["path"]).name} for row in csv.DictReader(table)]


def answers_of(file: Path) -> list[tuple[str, str, str]]:
    """Return picture, class and score of each row, as texts."""
    return [(row["path"], row["class"], row["score"]) for row in rows_of(file)]


@pytest.fixture(scope="module")
def expected(turned: Path, folder: Path) -> dict[str, tuple[int, float]]:
    """Return class and score by picture, without Ray."""
    from PIL import Image

    found = {}
    with armnn.load_model(turned, ["CpuAcc", "CpuRef"]) as model:
        for path in folder.iterdir():
            with Image.open(path) as image:
                pixels = np.asarray(image.convert("RGB").resize((224, 224)), np.float32)
            given = ((pixels / 255 - np.float32(MEAN)) / np.float32(STD)).transpose(2, 0, 1)
            (scores,) = model.run({"x": given[np.newaxis]}).values()
            found[path.name] = int(scores.argmax()), float(scores.max())
    return found


def check(file: Path, expected: dict[str, tuple[int, float]]) -> None:
    """Compare a table with results made without Ray."""
    rows = rows_of(file)
    assert sorted(row["path"] for row in rows) == sorted(expected)
    for row in rows:
        of_class, score = expected[row["path"]]
        assert int(row["class"]) == of_class
        assert float(row["score"]) == pytest.approx(score, rel=1e-4)


def test_one_worker_and_two_give_the_same_classes(
    run: Run, turned: Path, folder: Path, tmp_path: Path, expected: dict[str, tuple[int, float]]
) -> None:
    printed = []
    for workers in (1, 2):
        table = tmp_path / f"{workers}.csv"
        options = ["--workers", str(workers), "--cache", tmp_path / "prepared", "-o", table]
        printed.append(run(PROGRAMS / "pictures.py", turned, folder, *options))
        check(table, expected)
    assert answers_of(tmp_path / "1.csv") == answers_of(tmp_path / "2.csv")
    assert "32 pictures by 1 workers" in printed[0]
    assert "Total Progress: " in printed[0]


def test_a_worker_that_is_killed_loses_no_picture(
    run: Run, turned: Path, folder: Path, tmp_path: Path, expected: dict[str, tuple[int, float]]
) -> None:
    printed = run(HERE / "lose_a_worker.py", turned, folder, tmp_path / "made.csv")
    assert "killed" in printed
    check(tmp_path / "made.csv", expected)


def test_a_worker_gets_the_names_of_files_not_weights(
    run: Run, turned: Path, tmp_path: Path
) -> None:
    printed = run(HERE / "sent.py", turned, tmp_path / "prepared")
    found = json.loads(printed.splitlines()[-1])
    assert found["bytes"] < 2000 < turned.stat().st_size
    assert found["cold"]["parse"] > 0
    assert found["cold"]["compile"] > 0
    assert found["worker"]["read"] > 0
    assert found["worker"]["parse"] == found["worker"]["compile"] == 0


@pytest.fixture(scope="module")
def service(turned: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a service with two replicas."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    cache = tmp_path_factory.mktemp("service") / "prepared"
    options = ["--port", str(port), "--cache", str(cache), "--replicas", "2"]
    process = subprocess.Popen(
        [sys.executable, PROGRAMS / "service.py", turned, *options],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    seen = ""
    while "is ready at" not in seen:
        line = lines.get(timeout=PATIENCE)
        assert line is not None, seen
        seen += line
    yield f"http://127.0.0.1:{port}"
    process.send_signal(signal.SIGINT)
    try:
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()


def ask(service: str, picture: Path) -> Any:
    with urllib.request.urlopen(service, picture.read_bytes(), timeout=PATIENCE) as answer:
        return json.loads(answer.read())


def test_a_replica_that_is_killed_loses_no_answer(
    service: str, folder: Path, expected: dict[str, tuple[int, float]]
) -> None:
    killed = ask(service, folder / "05.png")["worker"]
    os.kill(killed, signal.SIGKILL)
    for path in [*folder.iterdir()][:16]:
        answer = ask(service, path)
        of_class, score = expected[path.name]
        assert answer["class"] == of_class
        assert answer["score"] == pytest.approx(score, rel=1e-4)
        assert answer["worker"] != killed


def test_what_is_no_picture_is_refused(service: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400") as caught:
        urllib.request.urlopen(service, b"no picture", timeout=PATIENCE)
    assert b"cannot identify image file" in caught.value.read()
