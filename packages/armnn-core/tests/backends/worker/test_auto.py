# SPDX-License-Identifier: MIT
"""Backends that took a process down are isolated later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import isolated_backends as samples
import numpy as np
import pytest
from crashing_program import network
from worker_in_thread import workers_in_threads

import armnn
from armnn import CreationOptions, Runtime
from armnn.backends.calling import blamed
from armnn.backends.crashes import (
    LostWorker,
    UseNote,
    blame,
    forget_lost_workers,
    lost_workers,
    this_process,
)
from armnn_backend_api.processes import Bounds, PythonCall, run

GONE = {"pid": 1, "began": "0", "boot": "an earlier one"}
ROWS = [{"backend": "Acme", "origin": "acme:Npu"}, {"backend": "Other", "origin": "other:Gpu"}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with armnn.register_backend("Hostile", samples.Hostile):
        yield tmp_path / "armnn" / "loads"


def isolated() -> bool:
    """Return whether a new runtime isolates the backend."""
    with workers_in_threads(), Runtime(CreationOptions(isolate="auto")) as runtime:
        model = runtime.load_model(network(), ["Hostile"])
        given = np.full((2, 2), -1, np.float32)
        np.testing.assert_array_equal(model.run({"x": given})["y"], np.zeros((2, 2)))
        return hasattr(runtime.registry.get("Hostile"), "supervisor")


def test_a_crash_in_a_call_isolates_the_backend(folder: Path) -> None:
    assert not isolated()
    assert str(run(PythonCall("crashing_program:main", ["SIGSEGV"]), Bounds(60))) == "SIGSEGV"
    assert len(list(folder.iterdir())) == 1
    assert isolated()
    (fault,) = lost_workers()
    assert (fault.backend, fault.origin) == ("Hostile", "isolated_backends:Hostile")
    assert "ended its process with SIGSEGV in 'rectified', at " in fault.text
    assert "isolated_backends.py:" in fault.text
    forget_lost_workers()
    assert not isolated()


@pytest.mark.parametrize("ending", ["", "SIGKILL", "SIGINT"])
def test_other_endings_do_not_count(folder: Path, ending: str) -> None:
    ended = run(PythonCall("crashing_program:main", [ending]), Bounds(60))
    assert ended.is_success == (not ending)
    assert len(list(folder.iterdir())) == (ending == "SIGKILL")
    blame()
    assert list(folder.iterdir()) == []


def frames(*names: str, thread: str = "Thread") -> str:
    lines = [
        f"  File \"<backend {name[1:]}>\", line 106 in 'layer'"
        if name[0] == "@"
        else f'  File "/{name}", line 7 in step'
        for name in names
    ]
    return "\n".join([f"{thread} 0x00007f340247ab80 (most recent call first):", *lines])


CURRENT = "Current thread"


@pytest.mark.parametrize(
    ("threads", "blamed", "where"),
    [
        ([frames("a.py", "@Acme", "b.py", thread=CURRENT)], "Acme", ", at /a.py:7 in step"),
        ([frames("@Other"), frames("@Acme", thread=CURRENT)], "Acme", ""),
        ([frames("@Other", "@Acme", thread=CURRENT)], "Other", ""),
        ([frames("<no Python frame>", thread=CURRENT), frames("a.py", "@Other")], "Other", None),
        ([frames(thread=CURRENT), frames("@Other"), frames("@Acme")], "", None),
        ([frames("a.py", thread=CURRENT)], "", None),
        ([frames("@Nobody", thread=CURRENT)], "", None),
    ],
)
def test_the_innermost_backend_is_blamed(
    folder: Path, threads: list[str], blamed: str, where: str | None
) -> None:
    folder.mkdir(parents=True)
    head = "\n".join(json.dumps(each) for each in [GONE, *ROWS])
    trace = "\n\n".join(["Fatal Python error: Bus error", *threads, "Extension modules: a (1)"])
    (folder / "1-0.use").write_text(f"{head}\n{trace}\n")
    blame()
    found = lost_workers()
    assert [each.backend for each in found] == ([blamed] if blamed else [])
    if blamed:
        assert "ended its process with SIGBUS in 'layer'" in found[0].text
    if where is not None:
        assert found[0].text.endswith(f"in 'layer'{where}")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", json.dumps(GONE) + "\n[1]\nFatal Python "])
def test_damaged_notes_blame_nothing(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "1-0.use").write_text(text)
    blame()
    assert lost_workers() == []


def test_a_note_of_a_living_process_is_left(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "1-0.use").write_text(json.dumps(this_process()) + "\nFatal Python error: Aborted\n")
    blame()
    assert len(list(folder.iterdir())) == 1


def test_where_faults_are_watched_already_a_warning_says_so(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    note = UseNote()  # pytest uses faulthandler
    note.add("Acme", "acme:Npu")
    assert "faulthandler is in use already" in caplog.text
    assert blamed(frames, "Acme", "layer") is frames
    note.close()
    assert not folder.exists()


def test_a_lost_worker_counts_too() -> None:
    forget_lost_workers()
    with Runtime(CreationOptions(isolate=["Hostile"])) as runtime:
        model: Any = runtime.load_model(network(), ["Hostile", "CpuRef"])
        given = np.full((2, 2), samples.CODES["exit code 0"], np.float32)
        model.run({"x": given})
        assert "exit code 0" in model.faults[-1]
    (fault,) = lost_workers()
    assert isinstance(fault, LostWorker)
    assert isolated()
