# SPDX-License-Identifier: MIT
"""Files that pass the probe and end the process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from armnn import CreationOptions, Runtime
from armnn.backends import BackendRegistry
from armnn.errors import BackendUnavailableError
from armnn_tools.cli.main import main

HOSTILE = Path(__file__).with_name("hostile_backend.c")
PROGRAMS = """\
import json, os, signal, sqlite3, sys
import numpy as np
import armnn.backends.native, armnn.optimizer.phases, armnn_dynamic_loader.probe
import armnn_dynamic_loader.source, subprocess, tempfile
from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.errors import BackendUnavailableError

def program(folder):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = CreationOptions(
        dynamic_backends_path=folder, enable_static_backends=False, probe_timeout=120.0
    )
    with Runtime(options) as runtime:
        (entry,) = [each for each in runtime.registry.entries() if not each.is_static]
        print(entry.stage, entry.reason or entry.isolation)
        if not entry.reason:
            network = Network("sum")
            x = network.add_input("x", TensorInfo((2,)))
            network.add_output("y", network.add_addition(x, x))
            try:
                model = runtime.load_model(network, [entry.id])
            except BackendUnavailableError as error:
                print(error)
            else:
                print(model.run({"x": np.ones(2, np.float32)})["y"])

for line in sys.stdin:
    folder, variables, outputs = json.loads(line)
    pid = os.fork()
    if not pid:
        for number, path in enumerate(outputs, start=1):
            os.dup2(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
        os.environ.update(variables)
        program(folder)
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
"""Each line is a program that loads all files of a folder; imports are shared by a fork."""

Start = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def programs() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PROGRAMS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process


@pytest.fixture
def start(programs: subprocess.Popen[str], tmp_path: Path) -> Start:
    """Return what runs programs on a file's folder."""

    def start_one(path: Path, *, ends: str = "") -> subprocess.CompletedProcess[str]:
        variables = {"XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"], "KILL": ends}
        outputs = [tmp_path / "stdout", tmp_path / "stderr"]
        assert programs.stdin is not None
        assert programs.stdout is not None
        row = [str(path.parent), variables, [str(each) for each in outputs]]
        programs.stdin.write(json.dumps(row) + "\n")
        programs.stdin.flush()
        status = int(programs.stdout.readline())
        return subprocess.CompletedProcess([], status, *[each.read_text() for each in outputs])

    return start_one


@pytest.fixture
def place(compiled: Callable[..., Path], tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that places a hostile file."""

    def place_one(name: str) -> Path:
        folder = tmp_path / "backends"
        folder.mkdir(mode=0o755, exist_ok=True)
        path = folder / f"Mock_{name}_backend.so"
        shutil.copyfile(compiled("-Wno-infinite-recursion", "-lm", source=HOSTILE), path)
        return path

    return place_one


@pytest.mark.parametrize(
    ("name", "status", "ending"),
    [
        ("AbortsBesideNumpy", -signal.SIGABRT, "SIGABRT"),
        ("CrashesBesideNumpy", -signal.SIGSEGV, "SIGSEGV"),
        ("ExitsBesideNumpy", 3, "exit code 3"),
        ("AbortsBesideSqlite", -signal.SIGABRT, "SIGABRT"),
    ],
)
def test_a_file_that_took_the_process_down_is_isolated_by_the_next(
    place: Callable[[str], Path], start: Start, name: str, status: int, ending: str
) -> None:
    path = place(name)
    assert start(path).returncode == status
    second = start(path)
    assert second.returncode == 0, second.stderr
    said, result = second.stdout.splitlines()
    assert said.startswith(" took a process down while it was loaded on 20")
    assert said.endswith(f": {ending}")
    assert "it runs in a worker process until it changes" in second.stderr
    if name == "AbortsBesideSqlite":
        assert result == "[2. 2.]", "no worker has that library"
    else:
        assert f"the worker of backend {name!r}" in result
        assert ending in result


def test_without_the_probe_such_a_file_needs_a_note_to_be_isolated(
    place: Callable[[str], Path],
    start: Start,
) -> None:
    path = place("ExitsBesideNumpy")
    assert start(path).returncode == 3
    options = CreationOptions(
        dynamic_backends_path=str(path.parent), enable_static_backends=False, probe="off"
    )
    (entry,) = [each for each in BackendRegistry(options).entries() if not each.is_static]
    assert (entry.stage, entry.isolation) == ("load", "")
    assert entry.remedy == (
        "tell its vendor, or leave the probe on: then it runs in a worker process"
    )


def test_doctor_says_which_files_run_in_a_worker_process(
    place: Callable[[str], Path], start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place("AbortsBesideSqlite")
    assert start(path).returncode == -signal.SIGABRT
    asked = ["--dynamic-backends-path", str(path.parent)]
    assert main(["doctor", "--json", *asked, "--backends", "AbortsBesideSqlite"]) == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = [row for row in document["backends"] if row["id"] == "AbortsBesideSqlite"]
    assert row["state"] == "loaded"
    assert row["isolation"].startswith("took a process down while it was loaded on 20")
    texts = [finding["text"] for finding in document["findings"]]
    assert any("It runs in a worker process until the file changes" in text for text in texts)
    assert main(["backends", *asked]) == 0
    assert "took a process" in capsys.readouterr().out
    assert main(["doctor", "--json", "--reprobe", *asked]) == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = [row for row in document["backends"] if row["id"] == "AbortsBesideSqlite"]
    assert row["isolation"] is None


def test_an_isolated_file_that_hangs_while_it_is_loaded_cannot_be_used(
    place: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armnn.backends.worker.connection.START_SECONDS", 3.0)
    options = CreationOptions(
        dynamic_backends_path=str(place("HangsBesideNumpy").parent),
        enable_static_backends=False,
        isolate="dynamic",
    )
    with (
        Runtime(options) as runtime,
        pytest.raises(BackendUnavailableError, match=r"HangsBesideNumpy.* did not answer within 3"),
    ):
        runtime.registry.get("HangsBesideNumpy")


def test_another_state_of_a_file_is_tried_again(place: Callable[[str], Path], start: Start) -> None:
    path = place("ExitsBesideNumpy")
    assert [start(path).returncode for _ in range(2)] == [3, 0]
    path.unlink()
    os.utime(place("ExitsBesideNumpy"), (1, 1))
    assert start(path).returncode == 3


@pytest.mark.parametrize(
    ("name", "status"),
    [("KilledInCreate", -signal.SIGKILL), ("InterruptedInCreate", -signal.SIGINT)],
)
def test_a_process_that_was_killed_or_interrupted_does_not_count(
    place: Callable[[str], Path], start: Start, name: str, status: int
) -> None:
    path = place(name)
    assert start(path, ends="now").returncode == status
    second = start(path)
    assert (second.returncode, second.stdout) == (0, " \n[2. 2.]\n")


def test_a_second_probe_beside_the_libraries_of_the_process_finds_it(
    place: Callable[[str], Path],
) -> None:
    path = place("AbortsBesideNumpy")
    for probe, stage in (("on", ""), ("twice", "dlopen"), ("twice", "dlopen")):
        options = CreationOptions(
            dynamic_backends_path=str(path.parent), enable_static_backends=False, probe=probe
        )
        (entry,) = [each for each in BackendRegistry(options).entries() if not each.is_static]
        assert entry.stage == stage
    assert entry.reason == (
        "crashed with SIGABRT while it was loaded, beside the libraries that this process has "
        "loaded"
    )


def test_a_good_file_passes_a_second_probe(place: Callable[[str], Path]) -> None:
    options = CreationOptions(
        dynamic_backends_path=str(place("Good").parent),
        enable_static_backends=False,
        probe="twice",
    )
    (entry,) = [each for each in BackendRegistry(options).entries() if not each.is_static]
    assert entry.reason == ""


def test_a_load_that_goes_well_leaves_no_note(
    place: Callable[[str], Path], start: Start, own_cache: Path
) -> None:
    path = place("Good")
    assert start(path).stdout == " \n[2. 2.]\n"
    assert list((own_cache.parent / "loads").iterdir()) == []


def test_notes_of_a_former_boot_do_not_count(
    place: Callable[[str], Path], start: Start, own_cache: Path
) -> None:
    path = place("AbortsBesideNumpy")
    assert start(path).returncode == -signal.SIGABRT
    (note,) = (own_cache.parent / "loads").glob("*.note")
    head, _, faults = note.read_text().partition("\n")
    note.write_text(json.dumps({**json.loads(head), "boot": "another"}) + "\n" + faults)
    assert start(path).returncode == -signal.SIGABRT


@pytest.mark.parametrize("content", ["", "no JSON", "[]", '{"path": 1}', "[" * 100000])
def test_a_damaged_note_keeps_no_runtime_from_starting(
    place: Callable[[str], Path], own_cache: Path, content: str
) -> None:
    folder = own_cache.parent / "loads"
    folder.mkdir(mode=0o700, parents=True)
    (folder / "1-1.note").write_text(content)
    (folder / "1.down").write_text(content)
    options = CreationOptions(
        dynamic_backends_path=str(place("Good").parent), enable_static_backends=False
    )
    with Runtime(options) as runtime:
        assert runtime.registry.get("Good").id == "Good"


def test_doctor_names_a_file_that_would_take_it_down(place: Callable[[str], Path]) -> None:
    path = place("AbortsBesideNumpy")
    command = [sys.executable, "-m", "armnn", "doctor", "--json"]
    asked = ["--dynamic-backends-path", str(path.parent)]
    ran = subprocess.run([*command, *asked], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    texts = [finding["text"] for finding in json.loads(ran.stdout)["findings"]]
    assert any("ends the process that loads it: SIGABRT" in text for text in texts), texts
