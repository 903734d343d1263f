# SPDX-License-Identifier: MIT
"""Whatever happens to the files, a runtime starts, and soon."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from armnn import CreationOptions
from armnn.backends import BackendEntry, BackendRegistry
from armnn_backend_api import BackendVersion
from armnn_dynamic_loader import source
from armnn_dynamic_loader.probe import Outcome

Build = Callable[..., Path]
HOSTILE = Path(__file__).with_name("hostile_backend.c")


def options(folder: Path, **given: object) -> CreationOptions:
    return CreationOptions(dynamic_backends_path=str(folder), enable_static_backends=False, **given)


def entries(folder: Path, **given: object) -> dict[str, BackendEntry]:
    found = BackendRegistry(options(folder, **given)).entries()
    return {Path(entry.origin).name: entry for entry in found if not entry.is_static}


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file pass without a process."""

    def pass_all(paths: Iterable[str], _: float) -> dict[str, Outcome]:
        return {
            path: Outcome(id="Any", api_version=BackendVersion(1, 0), version="1") for path in paths
        }

    monkeypatch.setattr(source, "try_out", pass_all)


@pytest.mark.usefixtures("untried")
def test_a_hundred_starts_while_files_come_change_and_go(build: Build) -> None:
    good = build("Mock_Good_backend.so")
    folder, content = good.parent, good.read_bytes()
    names = [folder / f"Mock_N{number}_backend.so" for number in range(6)]
    is_over = threading.Event()

    def churn() -> None:
        turn = 0
        while not is_over.is_set():
            turn += 1
            path = names[turn % len(names)]
            if turn % 3 == 0:
                path.unlink(missing_ok=True)
            elif turn % 3 == 1:
                path.write_bytes(content[: turn * 997 % len(content)])
            else:
                spare = path.with_suffix(".new")
                spare.write_bytes(content)
                spare.rename(path)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(100):
            assert entries(folder, probe="again")[good.name].reason == ""
    finally:
        is_over.set()
        thread.join()


@pytest.mark.usefixtures("untried")
def test_a_file_that_vanishes_while_it_is_hashed_is_told(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = build("Mock_A_backend.so"), build("Mock_B_backend.so")
    hash_file = source.sha256_of

    def vanish(path: str) -> str:
        gone.unlink(missing_ok=True)
        return hash_file(path)

    monkeypatch.setattr(source, "sha256_of", vanish)
    found = entries(gone.parent)
    assert found[gone.name].reason == "cannot be read any more: No such file or directory"
    assert found[stays.name].reason == ""


@pytest.mark.usefixtures("untried")
def test_large_files_are_not_hashed(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = build("Mock_A_backend.so"), build("Mock_B_backend.so")
    os.truncate(large, (1 << 30) + 1)
    found = entries(small.parent)
    assert found[large.name].reason == "has 1073741825 bytes, expected at most 1073741824"
    os.truncate(large, 300 << 20)
    monkeypatch.setattr(source, "HASH_BUDGET", 200 << 20)
    found = entries(small.parent, probe="again")
    assert found[large.name].reason == (
        "was not examined: its 300 MiB exceed the 200 MiB that a start reads of all files"
    )
    assert found[small.name].reason == ""


def test_a_path_that_is_not_utf8_is_shown_with_escapes(
    compiled: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from armnn_tools.cli.main import main

    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir(mode=0o755)
    shutil.copyfile(compiled("-DNEEDS_SYMBOL"), folder / "Mock_A_backend.so")
    (entry,) = entries(folder).values()
    assert "undefined symbol" in entry.reason
    assert main(["backends", "--dynamic-backends-path", str(folder)]) == 0
    output = capsys.readouterr().out
    output.encode("utf-8")
    assert "\\udce9" in output


def test_a_symbol_that_is_not_utf8_is_told(compiled: Callable[..., Path], tmp_path: Path) -> None:
    content = compiled("-DNEEDS_SYMBOL").read_bytes()
    tmp_path.chmod(0o755)
    (tmp_path / "Mock_A_backend.so").write_bytes(
        content.replace(b"symbol_of_nobody", b"symbol_of_\xff\xfebody")
    )
    (entry,) = entries(tmp_path).values()
    assert "undefined symbol: symbol_of_" in entry.reason


@pytest.mark.parametrize("timeout", [float("inf"), 1e9, float("nan"), 0])
def test_a_time_out_without_end_is_refused(build: Build, timeout: float) -> None:
    with pytest.raises(Exception, match="expected seconds above 0 and at most 3600"):
        entries(build("Mock_A_backend.so").parent, probe_timeout=timeout)


def test_a_process_without_interpreter_starts_without_dynamic_backends(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build("Mock_A_backend.so")
    monkeypatch.setattr(sys, "executable", None)
    assert entries(path.parent)[path.name].reason == (
        "cannot be tried out, as no process can be started: sys.executable is not set, so there is "
        "no interpreter to start"
    )


def test_a_frozen_application_uses_cached_verdicts_and_refuses_other_files(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = build("Mock_A_backend.so")
    assert entries(known.parent)[known.name].reason == ""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    other = build("Mock_B_backend.so", '-DID="Other"')
    found = entries(known.parent)
    assert found[known.name].reason == ""
    assert found[other.name].reason == (
        "cannot be tried out, as no process can be started: this is a frozen application that does "
        "not call armnn.freeze_support() first"
    )


HOST = """\
import ctypes, json, signal, sys
import numpy as np
from armnn import CreationOptions, Network, Runtime, TensorInfo
libm = ctypes.CDLL("libm.so.6")
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
net = Network("sum")
a, b = (net.add_input(name, TensorInfo((2,))) for name in "ab")
net.add_output("sum", net.add_addition(a, b))
def state():
    tiny = np.full(1000, 1e-40, np.float32)
    with np.errstate(all="ignore"):
        quotient = float((np.ones(1, np.float32) / np.zeros(1, np.float32))[0])
    return [bool((tiny + tiny).all()), libm.fegetround(), libm.fegetexcept(), quotient]
found = {"before": state()}
options = CreationOptions(dynamic_backends_path=sys.argv[1], enable_static_backends=False)
with Runtime(options) as runtime:
    for entry in [each for each in runtime.registry.entries() if not each.is_static]:
        model = runtime.load_model(net, backends=[entry.id])
        loaded = state()
        one = np.ones(2, np.float32)
        model.run({"a": one, "b": one})
        found[entry.id] = [loaded, state()]
print(json.dumps(found))
"""


def test_the_floating_point_environment_of_the_host_is_kept(
    compiled: Callable[..., Path], tmp_path: Path
) -> None:
    library = compiled("-Wno-infinite-recursion", "-lm", source=HOSTILE)
    tmp_path.chmod(0o755)
    names = ["SetsFtz", "RoundsUp", "Traps", "RoundsInExecute"]
    for name in names:
        shutil.copyfile(library, tmp_path / f"Mock_{name}_backend.so")
    ran = subprocess.run(
        [sys.executable, "-c", HOST, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    before = found.pop("before")
    assert before == [True, 0, 0, float("inf")]
    assert found == {name: [before, before] for name in names}
