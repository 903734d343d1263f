# SPDX-License-Identifier: MIT
"""Isolation keeps faults of files from the program."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_in_use import fed, loaded

from armnn import CreationOptions, LoadedNetwork, Runtime
from armnn.backends.crashes import blame, lost_workers
from armnn.errors import BackendUnavailableError
from armnn_backend_api.processes import Bounds, PythonCall, run

SOURCE = Path(__file__).with_name("faulty_execute.c")
ENDING = {
    1: "SIGSEGV",
    2: "SIGBUS",
    3: "SIGABRT",
    4: "exit code 0",
    5: "exit code 0",
    6: "did not answer within 0.5 s",
    7: "did not answer within 0.5 s",
    8: "SIGABRT",
    9: "wrote outside of its outputs",
    10: "wrote outside of its outputs",
    11: "SIGSEGV",
    12: "SIGSEGV",
}
"""How the worker ends, by the number of the fault."""
QUIET = {13: "closes descriptors", 14: "rounds up", 15: "signal handlers and folder"}
"""Faults that change the worker only."""


@pytest.fixture(scope="module")
def folder(compiled: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faulty") / "backends"
    folder.mkdir(mode=0o755)
    path = folder / "Acme_Faulty_backend.so"
    shutil.copyfile(compiled("-lm", source=SOURCE), path)
    path.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def runtime(folder: Path) -> Iterator[Runtime]:
    options = CreationOptions(
        dynamic_backends_path=str(folder),
        isolate="dynamic",
        isolate_timeout=0.5,
        isolate_memory=1 << 30,
    )
    with Runtime(options) as made:
        yield made


@pytest.fixture(scope="module")
def model(runtime: Runtime) -> LoadedNetwork:
    return loaded(runtime)


def check(model: LoadedNetwork, code: int) -> None:
    given = fed(code)
    np.testing.assert_array_equal(model.run(given)["y"], np.maximum(given["x"], 0))


def supervisor_of(runtime: Runtime) -> Any:
    backend: Any = runtime.registry.get("Faulty")
    assert backend.supervisor.wait(20), "no worker is started again"
    return backend.supervisor


@pytest.mark.parametrize("code", ENDING)
def test_a_fault_of_a_file_costs_no_answer(
    runtime: Runtime, model: LoadedNetwork, code: int
) -> None:
    supervisor_of(runtime)
    check(model, code)
    assert ENDING[code] in model.faults[-1]
    assert "Acme_Faulty_backend.so" in model.faults[-1]
    assert "of 'rectified'" in model.faults[-1]
    supervisor_of(runtime)
    check(model, 0)


@pytest.mark.parametrize("code", QUIET, ids=QUIET.values())
def test_what_a_file_changes_is_changed_in_its_worker(
    runtime: Runtime, model: LoadedNetwork, code: int
) -> None:
    starts, before = supervisor_of(runtime).starts, os.getcwd()
    check(model, code)
    check(model, 0)
    assert (supervisor_of(runtime).starts, os.getcwd()) == (starts, before)
    assert np.float32(1) + np.float32(2**-24) == 1, "this process rounds to nearest"


def test_a_file_that_is_swapped_after_the_scan_runs_in_no_worker(
    compiled: Callable[..., Path], tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "Acme_Faulty_backend.so"
    shutil.copyfile(compiled("-lm", source=SOURCE), path)
    with Runtime(CreationOptions(dynamic_backends_path=str(tmp_path), isolate="dynamic")) as made:
        assert made.registry.entries()
        os.utime(path, (1, 1))
        with pytest.raises(BackendUnavailableError, match="has changed since it was examined"):
            made.registry.get("Faulty")


def test_a_file_that_ended_its_process_is_isolated_from_then_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ended = run(PythonCall("file_in_use:main", [str(folder), 1]), Bounds(60))
    assert str(ended) == "SIGSEGV", ended.errors
    blame()
    (fault,) = lost_workers()
    assert "Acme_Faulty_backend.so) ended its process with SIGSEGV in 'rectified'" in fault.text
    options = CreationOptions(dynamic_backends_path=str(folder), isolate="auto")
    with Runtime(options) as runtime:
        model = loaded(runtime)
        check(model, 1)
        assert "Acme_Faulty_backend.so) ended with SIGSEGV in call 1 of" in model.faults[-1]
