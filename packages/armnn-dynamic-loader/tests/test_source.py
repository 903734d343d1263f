# SPDX-License-Identifier: MIT
"""The source as a whole: files probed and files loaded.

Any number of runtimes may load one.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import logging
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.backends import BackendEntry, BackendRegistry, BackendState
from armnn.backends.locking import Lock
from armnn.errors import (
    BackendUnavailableError,
    ClosedError,
    IncompatibleBackendError,
    InvalidArgumentError,
    UnknownBackendError,
)
from armnn_dynamic_loader import source
from armnn_dynamic_loader.source import DynamicBackends
from armnn_tools.cli.main import main
from fakes import backend_plugin, installed

Build = Callable[..., Path]
NAME = "Mock_Add_backend.so"


def note(text: str) -> str:
    return '-DNOTE="' + text.replace('"', '\\"') + '"'


def options(folder: Path, **more: object) -> CreationOptions:
    basis = CreationOptions(dynamic_backends_path=str(folder), enable_static_backends=False)
    return dataclasses.replace(basis, **more)  # type: ignore[arg-type]  # any of its fields


def entries(folder: Path, **more: object) -> list[BackendEntry]:
    found = BackendRegistry(options(folder, **more)).entries()
    return [entry for entry in found if not entry.is_static]


def states(folder: Path, **more: object) -> list[tuple[str, str, str]]:
    return [(entry.id, entry.state.value, entry.stage) for entry in entries(folder, **more)]


def addition() -> Network:
    net = Network("sum")
    a, b = (net.add_input(name, TensorInfo((2, 3))) for name in "ab")
    net.add_output("sum", net.add_addition(a, b))
    return net


def feeds() -> dict[str, np.ndarray]:
    return {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones((2, 3), np.float32)}


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record the names of the files that are probed."""
    names: list[str] = []
    original = source.try_out

    def recording(paths: object, timeout: float) -> object:
        names.extend(Path(path).name for path in paths)  # type: ignore[attr-defined]  # a dict
        return original(paths, timeout)  # type: ignore[arg-type]  # as above

    monkeypatch.setattr(source, "try_out", recording)
    return names


def test_a_dropped_file_runs_layers(build: Build) -> None:
    folder = build(NAME).parent
    with Runtime(options(folder)) as runtime:
        model = runtime.load_model(addition(), backends=["MockAdd"])
        np.testing.assert_array_equal(model.run(feeds())["sum"], [[1, 2, 3], [4, 5, 6]])
        (entry,) = [e for e in runtime.registry.entries() if not e.is_static]
    assert (entry.state, entry.version, str(entry.api_version)) == ("loaded", "3.2.1", "1.0")


def test_a_dynamic_backend_takes_part_only_when_it_is_named(build: Build) -> None:
    folder = build(NAME).parent
    with (
        Runtime(options(folder)) as runtime,
        pytest.raises(BackendUnavailableError, match="No backend can be used"),
    ):
        runtime.optimize(addition())


def test_a_file_is_tried_out_once_while_its_bytes_are_the_same(
    build: Build, tried: list[str]
) -> None:
    path = build(NAME)
    for _ in range(3):
        assert states(path.parent) == [("MockAdd", "known", "")]
        path.touch()
    assert tried == [NAME]
    with path.open("ab") as file:
        file.write(b"x")  # behind what is mapped
    assert states(path.parent) == [("MockAdd", "known", "")]
    assert tried == [NAME, NAME]


def test_a_bad_verdict_is_remembered_as_well(build: Build, tried: list[str]) -> None:
    folder = build(NAME, "-DAT_LOAD=abort()").parent
    first, second = entries(folder), entries(folder)
    assert first == second
    assert first[0].reason == "crashed with SIGABRT while it was loaded"
    assert tried == [NAME]


def test_again_tries_out_what_is_known(build: Build, tried: list[str]) -> None:
    folder = build(NAME).parent
    entries(folder)
    entries(folder, probe="again")
    assert main(["doctor", "--reprobe", "--dynamic-backends-path", str(folder)]) == 0
    assert tried == [NAME] * 3


def test_a_missing_library_is_looked_for_again(build: Build, tried: list[str]) -> None:
    folder = build(NAME, "-DNEEDS_SYMBOL").parent
    (entry,) = entries(folder)
    assert "undefined symbol: symbol_of_nobody" in entry.reason
    assert entry.remedy == f"install what it needs: 'ldd {folder / NAME}' shows what is missing"
    entries(folder)
    assert tried == [NAME, NAME]


def test_those_who_trust_their_files_switch_the_probe_off(
    build: Build, tried: list[str], tmp_path: Path
) -> None:
    marker = tmp_path / "opened"
    mark = f'-DAT_LOAD=fclose(fopen("{marker}","a"))'
    folder = build(NAME, mark, note('{"id": "MockAdd", "api": "1.0"}')).parent
    registry = BackendRegistry(options(folder, probe="off"))
    assert [e.id for e in registry.entries() if not e.is_static] == ["MockAdd"]
    assert not marker.exists()  # the note says it all
    assert registry.get("MockAdd").id == "MockAdd"
    assert marker.exists()
    assert tried == []


def test_without_a_note_and_without_the_probe_a_file_is_opened_to_learn_its_id(
    build: Build,
) -> None:
    folder = build(NAME).parent
    build("Mock_B_backend.so", "-DNO_ID")
    assert states(folder, probe="off") == [("MockAdd", "known", ""), ("", "failed", "exports")]


def test_what_a_trusted_file_lacks_is_told_with_its_stage_when_it_is_opened(build: Build) -> None:
    folder = build(NAME, "-DNULL_FACTORY", note('{"id": "MockAdd", "api": "1.0"}')).parent
    registry = BackendRegistry(options(folder, probe="off"))
    with pytest.raises(BackendUnavailableError, match=r"cannot be opened: '.*NULL"):
        registry.get("MockAdd")
    (entry,) = [entry for entry in registry.entries() if not entry.is_static]
    assert (entry.state, entry.stage) == (BackendState.FAILED, "factory")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"probe": "maybe"}, "the probe is 'maybe': expected one of 'on', 'again', 'twice', 'off'"),
        ({"probe_timeout": 0.0}, "the probe_timeout is 0.0: expected seconds above 0"),
        ({"probe_timeout": float("nan")}, "the probe_timeout is nan: expected seconds above 0"),
    ],
)
def test_options_of_the_probe_are_checked(
    build: Build, more: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        BackendRegistry(options(build(NAME).parent, **more))


def test_the_first_of_an_id_wins_and_the_other_is_shown_with_both_origins(build: Build) -> None:
    first, second = build("Mock_A_backend.so"), build("Mock_B_backend.so", "-DAT_FACTORY=(void)1")
    assert states(first.parent) == [("MockAdd", "known", ""), ("MockAdd", "shadowed", "")]
    entry = entries(first.parent)[1]
    assert entry.reason == f"from {second} is shadowed by the one from {first}"


def test_static_backends_come_before_dynamic_ones(build: Build, tmp_path: Path) -> None:
    path = build(NAME)
    static = backend_plugin("MockAdd")
    loader_path = str(Path(source.__file__).parents[1])
    assert loader_path in sys.path
    with installed(tmp_path / "site", static):
        found = BackendRegistry(options(path.parent, enable_static_backends=True)).entries()
    ours = [entry for entry in found if entry.id == "MockAdd"]
    assert [(entry.is_static, entry.state.value) for entry in ours] == [
        (True, "known"),
        (False, "shadowed"),
    ]


def test_a_note_that_tells_another_id_is_refused(build: Build) -> None:
    folder = build(NAME, note('{"id": "Other", "api": "1.0"}')).parent
    (entry,) = entries(folder)
    assert entry.stage == "id"
    assert entry.reason == "calls itself 'Other' in its note, 'MockAdd' in GetBackendId"


def test_a_note_for_another_api_spares_the_probe(build: Build, tried: list[str]) -> None:
    folder = build(NAME, note('{"id": "MockAdd", "api": "2.0"}')).parent
    assert states(folder) == [("MockAdd", "incompatible", "version")]
    assert tried == []
    with pytest.raises(IncompatibleBackendError, match=r"needs Backend API 2.0, this core provid"):
        BackendRegistry(options(folder)).get("MockAdd")


def test_a_named_backend_whose_file_was_turned_down_raises_with_the_reason(build: Build) -> None:
    folder = build(NAME, "-DFAIL_EXECUTE").parent
    registry = BackendRegistry(options(folder))
    with pytest.raises(BackendUnavailableError, match=r"'MockAdd' \(.*\) claims Addition, but"):
        registry.get("MockAdd")
    with pytest.raises(UnknownBackendError, match=r"no backend 'Mock'"):
        registry.get("Mock")


def test_where_files_have_no_id_an_unknown_name_points_at_doctor(build: Build) -> None:
    folder = build(NAME, "-DAT_LOAD=abort()").parent
    with pytest.raises(UnknownBackendError, match="Some files were turned down: 'armnn doctor' wi"):
        BackendRegistry(options(folder)).get("MockAdd")


def test_each_turned_down_file_is_logged_once_and_strangers_are_not(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    folder = build(NAME, "-DAT_LOAD=abort()").parent
    (folder / "README.txt").write_text("hello")
    build("Mock_B_backend.so").with_name("Mock_C_backend.so").symlink_to("Mock_B_backend.so")
    with caplog.at_level(logging.WARNING):
        registry = BackendRegistry(options(folder))
        registry.entries()
        registry.entries()
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"File {str(folder / NAME)!r} crashed with SIGABRT while it was")
    assert [e.stage for e in registry.entries() if not e.is_static] == [
        "dlopen", "", "duplicate", "name",
    ]  # fmt: skip


# -- who may be run at all -------------------------------------------------------------------------


@pytest.mark.parametrize("probe", ["on", "off"])
def test_what_the_user_keeps_out_is_not_run_not_even_to_try_it_out(
    build: Build, tmp_path: Path, probe: str, tried: list[str]
) -> None:
    marker = tmp_path / "opened"
    mark = f'-DAT_LOAD=fclose(fopen("{marker}","a"))'
    folder = build(NAME, mark, note('{"id": "MockAdd", "api": "1.0"}')).parent
    found = states(folder, allowed_backends=["Another"], probe=probe)
    assert found == [("MockAdd", "blocked", "")]
    assert not marker.exists()
    assert tried == []


def test_with_switches_by_id_and_no_probe_a_file_must_say_its_id(
    build: Build, tmp_path: Path
) -> None:
    marker = tmp_path / "opened"
    folder = build(NAME, f'-DAT_LOAD=fclose(fopen("{marker}","a"))').parent
    (entry,) = entries(folder, allowed_backends=["MockAdd"], probe="off")
    assert (entry.state, entry.stage) == (BackendState.FAILED, "note")
    assert entry.reason.startswith("has no note that says its id, so it cannot be told whether")
    assert not marker.exists()


def test_an_audit_hook_sees_every_load_and_may_refuse_it(build: Build) -> None:
    path = build(NAME, note('{"id": "MockAdd", "api": "1.0"}'))
    build("Mock_B_backend.so", '-DID="MockB"')
    code = (
        "import json, sys\n"
        "from armnn.backends import BackendRegistry, CreationOptions\n"
        "seen = []\n"
        "def hook(event, arguments):\n"
        "    if event == 'armnn.backend.load':\n"
        "        seen.append(arguments)\n"
        "        if 'Mock_B' in arguments[1]: raise RuntimeError('not here')\n"
        "sys.addaudithook(hook)\n"
        "options = CreationOptions(dynamic_backends_path=sys.argv[1])\n"
        "registry = BackendRegistry(options)\n"
        "registry.get('MockAdd')\n"
        "entries = [(e.stage, e.reason) for e in registry.entries() if not e.is_static]\n"
        "print(json.dumps([seen, entries]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, path.parent], stdout=subprocess.PIPE, check=True
    )
    seen, found = json.loads(run.stdout)
    sha256 = source.sha256_of(str(path))
    assert [row for row in seen if row[1] == str(path)] == [["MockAdd", str(path), sha256]] * 2
    assert [row[0] for row in seen if row[1] != str(path)] == [None]
    assert found[1] == ["audit", "is refused by an audit hook: RuntimeError: not here"]


def locked(folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "locks" / "backends.lock"
    given = ["--dynamic-backends-path", str(folder), "--output", str(path)]
    assert main(["backends", "lock", *given]) == 0
    return path


def test_only_what_is_locked_may_be_run(
    build: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str], tried: list[str]
) -> None:
    path = build(NAME)
    lock = locked(path.parent, tmp_path)
    assert source.sha256_of(str(path)) in capsys.readouterr().out
    build("Mock_B_backend.so", '-DID="MockB"')
    more = {"require_locked": True, "lock_file": str(lock)}
    assert states(path.parent, **more) == [("MockAdd", "known", ""), ("", "failed", "lock")]
    assert tried == [NAME]
    assert entries(path.parent, **more)[1].reason == f"is not in the lock file {str(lock)!r}"


def test_a_locked_file_that_changed_is_refused(build: Build, tmp_path: Path) -> None:
    path = build(NAME)
    lock = locked(path.parent, tmp_path)
    before = source.sha256_of(str(path))
    path.write_bytes(path.read_bytes() + b"\0")
    (entry,) = entries(path.parent, require_locked=True, lock_file=str(lock))
    assert entry.reason == (
        f"has changed since it was locked: got sha256 {source.sha256_of(str(path))}, expected "
        f"{before}"
    )


@pytest.mark.parametrize("is_option", [True, False])
def test_who_follows_the_advice_about_a_changed_file_can_load_it(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_option: bool
) -> None:
    path = build(NAME, folder="its folder")
    lock = locked(path.parent, tmp_path)
    path.write_bytes(path.read_bytes() + b"\0")
    given = str(path.parent) if is_option else None
    if not is_option:
        monkeypatch.setenv("ARMNN_DYNAMIC_BACKENDS_PATH", str(path.parent))
    options = CreationOptions(dynamic_backends_path=given, lock_file=str(lock))
    (found,) = (e for e in BackendRegistry(options).entries() if e.origin == str(path))
    assert found.state is BackendState.FAILED
    advice = found.remedy.removeprefix("if you trust it, run '").removesuffix("'")
    program = f"{shlex.quote(sys.executable)} -m armnn "
    monkeypatch.delenv("ARMNN_DYNAMIC_BACKENDS_PATH", raising=False)
    subprocess.run(advice.replace("armnn ", program, 1), shell=True, check=True)
    if not is_option:
        monkeypatch.setenv("ARMNN_DYNAMIC_BACKENDS_PATH", str(path.parent))
    assert BackendRegistry(options).get("MockAdd").id == "MockAdd"


def test_a_locked_file_may_lie_elsewhere(build: Build, tmp_path: Path) -> None:
    lock = locked(build(NAME).parent, tmp_path)
    moved = build(NAME, folder="elsewhere")
    assert states(moved.parent, require_locked=True, lock_file=str(lock)) == [
        ("MockAdd", "known", "")
    ]


def test_without_a_lock_file_nothing_is_locked(build: Build, tmp_path: Path) -> None:
    folder = build(NAME).parent
    assert states(folder, require_locked=True) == [("", "failed", "lock")]
    assert Lock.read(tmp_path / "none").files == {}


# -- loading --------------------------------------------------------------------------------------


def test_a_file_that_changed_since_the_scan_is_not_loaded(build: Build) -> None:
    path = build(NAME)
    registry = BackendRegistry(options(path.parent))
    path.touch()
    with pytest.raises(BackendUnavailableError, match=r"has changed since it was examined; make a"):
        registry.get("MockAdd")


def test_a_file_that_is_gone_since_the_scan_is_told(build: Build) -> None:
    path = build(NAME)
    registry = BackendRegistry(options(path.parent))
    path.unlink()
    reason = r"cannot be opened: the file .* cannot be read any more: No such file .*; make a new"
    with pytest.raises(BackendUnavailableError, match=reason):
        registry.get("MockAdd")
    assert [entry.stage for entry in registry.entries() if not entry.is_static] == ["file"]


def test_a_record_of_someone_else_is_not_loaded(build: Build) -> None:
    loader = DynamicBackends()
    (record,) = loader.scan(options(build(NAME).parent))
    stranger = dataclasses.replace(record, state=None)  # type: ignore[call-arg]  # a FileRecord
    with pytest.raises(BackendUnavailableError, match="was not examined"):
        loader.load(stranger, object())


def test_several_runtimes_in_several_threads_load_the_same_file(
    build: Build, tried: list[str]
) -> None:
    folder = build(NAME).parent
    results: list[np.ndarray] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        with Runtime(options(folder)) as runtime:
            model = runtime.load_model(addition(), backends=["MockAdd"])
            results.append(model.run(feeds())["sum"])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for result in results:
        np.testing.assert_array_equal(result, [[1, 2, 3], [4, 5, 6]])
    assert tried == [NAME]


def test_closing_one_runtime_disturbs_no_other(build: Build) -> None:
    folder = build(NAME).parent
    first, second = Runtime(options(folder)), Runtime(options(folder))
    models = [each.load_model(addition(), backends=["MockAdd"]) for each in (first, second)]
    assert first.registry.get("MockAdd") is not second.registry.get("MockAdd")
    first.close()
    with pytest.raises(ClosedError):
        models[0].run(feeds())
    np.testing.assert_array_equal(models[1].run(feeds())["sum"], [[1, 2, 3], [4, 5, 6]])
    second.close()
    with Runtime(options(folder)) as third:
        model = third.load_model(addition(), backends=["MockAdd"])
        np.testing.assert_array_equal(model.run(feeds())["sum"], [[1, 2, 3], [4, 5, 6]])


def test_the_lint_needs_no_folder(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    path = build(NAME)
    assert main(["doctor", "--lint", str(path)]) == 1
    assert "It has no note .note.armnn" in capsys.readouterr().out


def test_many_runtimes_leave_nothing_behind(build: Build) -> None:
    folder = build(NAME).parent

    def cycle() -> None:
        with Runtime(options(folder)) as runtime:
            runtime.load_model(addition(), backends=["MockAdd"]).run(feeds())

    def left() -> tuple[int, int, int]:
        gc.collect()
        threads = len(os.listdir("/proc/self/task"))
        return len(os.listdir("/proc/self/fd")), threads, len(gc.get_objects())

    for _ in range(20):  # caches of NumPy and ctypes fill
        cycle()
    grown = []
    # Some things are made once, for the hundredth use: a leak grows each time.
    while len(grown) < 3 and min(grown, default=200) >= 200:
        descriptors, threads, objects = left()
        for _ in range(200):
            cycle()
        after = left()
        assert after[:2] == (descriptors, threads)
        grown.append(after[2] - objects)
    assert min(grown) < 200  # less than one object for each runtime


def test_threads_that_run_while_the_runtime_closes_end_with_a_clean_error(build: Build) -> None:
    folder = build(NAME).parent
    runtime = Runtime(options(folder))
    model = runtime.load_model(addition(), backends=["MockAdd"])
    barrier, ends, wrong = threading.Barrier(9), [], []

    def work() -> None:
        barrier.wait()
        try:
            while True:
                if model.run(feeds())["sum"].tolist() != [[1, 2, 3], [4, 5, 6]]:
                    wrong.append(1)
        except ClosedError:
            ends.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    barrier.wait()
    runtime.close()
    for thread in threads:
        thread.join()
    assert (len(ends), wrong) == (8, [])
