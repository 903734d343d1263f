# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from armnn.backends import BACKEND_API_VERSION, BackendVersion
from armnn.backends.capi import library as capi_library
from armnn.backends.capi.calls import guarded
from armnn.backends.capi.library import NativeObject
from armnn.backends.native import NativeLibrary, NativeLoadError
from armnn.errors import BackendUnavailableError

API = str(BACKEND_API_VERSION)

Build = Callable[..., Path]


def test_a_library_says_who_it_is(mock: NativeLibrary, build: Build) -> None:
    assert (mock.id, mock.version, mock.vendor) == ("Mock", "3.1", "Mock Makers")
    assert mock.api_version == BackendVersion(1, 0)
    assert mock.path == str(build())
    assert repr(mock) == f"<NativeLibrary 'Mock' {mock.path!r}>"


def test_the_same_file_is_the_same_object_by_any_name(
    mock: NativeLibrary, build: Build, tmp_path: Path
) -> None:
    link, hard = tmp_path / "link.so", tmp_path / "hard.so"
    link.symlink_to(build())
    os.link(build(), hard)
    assert NativeLibrary.open(link) is mock
    assert NativeLibrary.open(hard, id="Mock") is mock
    assert NativeLibrary.open(os.path.relpath(build())) is mock


def test_threads_that_open_at_once_get_one_object(build: Build) -> None:
    path = build("mock.c", '-DMOCK_ID="Crowd"')
    found: list[NativeLibrary] = []
    threads = [
        threading.Thread(target=lambda: found.append(NativeLibrary.open(path))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(library is found[0] for library in found)


TABLE = "expected 'ABKD'"
REFUSED = [
    ("-DMOCK_GET_ID=NULL", "id", "GetBackendId answers NULL, expected letters and digits"),
    ('-DMOCK_GET_ID=""', "id", "GetBackendId answers '', expected letters and digits"),
    ('-DMOCK_GET_ID="A b"', "id", "GetBackendId answers 'A b', expected letters and digits"),
    ('-DMOCK_GET_ID="\\xff"', "id", r"GetBackendId is b'\xff', expected UTF-8"),
    ('-DMOCK_GET_ID="A\\n"', "id", r"GetBackendId is 'A\n', expected printable characters"),
    ('-DMOCK_GET_ID="Unknown"', "id", "answers 'Unknown', expected another id, as"),
    (
        '-DMOCK_GET_ID="' + "x" * 300 + '"',
        "id",
        "GetBackendId has more than 256 bytes, expected a short text",
    ),
    ("-DMOCK_MAJOR=2", "version", f"it needs Backend API 2.0, this core provides {API}"),
    ("-DMOCK_MINOR=99", "version", f"it needs Backend API 1.99, this core provides {API}"),
    ("-DMOCK_MAJOR=0", "version", f"it needs Backend API 0.0, this core provides {API}"),
    ("-DMOCK_FACTORY=NULL", "factory", "BackendFactory returned NULL, expected the backend's"),
    (
        "-DMOCK_FACTORY=((char*)(uintptr_t)&table+1)",
        "table",
        "expected a multiple of 8",
    ),
    ("-DMOCK_STRUCT_ID=0x44434241", "table", "struct_id of the table is 'ABCD', expected 'ABKD'"),
    ("-DMOCK_STRUCT_SIZE=100", "table", "struct_size of the table is 100, expected at least 216"),
    ("-DMOCK_CHANGE=.execute=NULL,", "table", "the table has NULL for execute, expected a"),
    (
        "-DMOCK_CHANGE=.query=NULL,.destroy=NULL,",
        "table",
        "the table has NULL for destroy, query, expected a function for each of create, destroy",
    ),
    (
        '-DMOCK_CHANGE=.id={"Other",5},',
        "table",
        "id of the table is 'Other', expected 'Mock' as GetBackendId answers",
    ),
    (
        "-DMOCK_CHANGE=.version={NULL,3},",
        "table",
        "version of the table is NULL with size 3, expected a text",
    ),
    (
        "-DMOCK_CHANGE=.vendor={NULL,1u<<30},",
        "table",
        "vendor of the table has 1073741824 bytes, expected at most 256",
    ),
    (
        "-DMOCK_TABLE_MINOR=1",
        "table",
        "the table says Backend API 1.1, expected 1.0 as GetVersion answers",
    ),
    ("-DMOCK_NO_ID", "exports", "it does not export GetBackendId"),
]


@pytest.mark.parametrize(("flag", "stage", "reason"), REFUSED)
def test_a_defect_is_refused_at_its_stage(build: Build, flag: str, stage: str, reason: str) -> None:
    path = build("mock.c", flag)
    for _ in range(2):  # the outcome is kept
        with pytest.raises(NativeLoadError) as caught:
            NativeLibrary.open(path)
        assert caught.value.stage == stage
        assert reason in caught.value.reason
        assert caught.value.path == str(path)
        assert str(caught.value) == (
            f"{str(path)!r} cannot be used as a backend ({stage}): {caught.value.reason}."
        )


def test_a_table_without_optional_functions_will_do(build: Build) -> None:
    library = NativeLibrary.open(build("mock.c", "-DMOCK_MINIMAL"))
    assert library.function("shutdown") is None
    assert library.function("create") is not None


def test_a_table_that_ends_at_the_last_required_function_will_do(build: Build) -> None:
    size = "-DMOCK_STRUCT_SIZE=ARMNN_END(armnn_backend_api,execute)"
    library = NativeLibrary.open(build("mock.c", size))
    assert library.function("get_extension") is None  # it is there, but the size denies it
    assert library.function("serialize") is not None


def test_a_larger_table_of_a_younger_header_will_do(build: Build) -> None:
    library = NativeLibrary.open(build("mock.c", "-DMOCK_STRUCT_SIZE=ARMNN_BACKEND_API_SIZE+64"))
    assert library.function("shutdown") is not None


def test_an_id_that_is_not_the_expected_one_is_refused(mock: NativeLibrary) -> None:
    with pytest.raises(NativeLoadError, match="GetBackendId answers 'Mock', expected 'Acme'"):
        NativeLibrary.open(mock.path, id="Acme")


def test_what_is_no_library_is_refused_with_the_linker_s_words(tmp_path: Path) -> None:
    script = tmp_path / "Acme_Script_backend.so"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(NativeLoadError, match=r"\(dlopen\): .*Script_backend.so: (file t|inv)"):
        NativeLibrary.open(script)
    with pytest.raises(NativeLoadError, match=r"\(dlopen\): No such file or directory: /no/such"):
        NativeLibrary.open("/no/such.so")


def test_a_file_that_changed_after_it_was_opened_is_refused(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "Acme_New_backend.so"
    shutil.copy(build("mock.c", '-DMOCK_ID="Old"'), path)
    NativeLibrary.open(path)
    newer = tmp_path / "newer"
    shutil.copy(build("mock.c", '-DMOCK_ID="New"'), newer)
    newer.rename(path)
    with pytest.raises(NativeLoadError, match="has changed since this process opened it"):
        NativeLibrary.open(path)


def test_a_refusal_can_be_pickled_and_is_a_backend_error() -> None:
    error = NativeLoadError("/x.so", "id", "it is odd")
    again = pickle.loads(pickle.dumps(error))
    assert (again.path, again.stage, again.reason, str(again)) == (
        "/x.so",
        "id",
        "it is odd",
        "'/x.so' cannot be used as a backend (id): it is odd.",
    )
    assert isinstance(error, BackendUnavailableError)


def test_at_the_end_of_the_process_all_is_destroyed_and_shutdown_comes_last(
    build: Build, tmp_path: Path
) -> None:
    words = tmp_path / "words"
    script = f"""
import armnn, numpy as np
from armnn.backends import ArrayHandle, ModelContext
from armnn.backends.native import NativeBackend, NativeLibrary
library = NativeLibrary.open({str(build())!r})
first, second = NativeBackend(library), NativeBackend(library)
first.start(), second.start()
info = armnn.TensorInfo((2,))
network = armnn.Network("n")
layer = network.add_addition(network.add_input("a", info), network.add_input("b", info)).producer
handles = [ArrayHandle(info, np.ones(2, np.float32)) for _ in range(3)]
step = first.create_workload(layer, ModelContext({{}})).bind(handles[:2], handles[2:])
step()
"""
    environment = {**os.environ, "MOCK_LAST_WORDS": str(words)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    assert words.read_text() == "Mock backends 0 programs 0 contexts 0 violations 0\n"


def test_a_thread_that_still_executes_at_the_end_keeps_its_memory(
    build: Build, tmp_path: Path
) -> None:
    words = tmp_path / "words"
    script = f"""
import threading, time, armnn, numpy as np
from armnn.backends import ArrayHandle, ModelContext
from armnn.backends.contract import RunControl, current_control
from armnn.backends.native import NativeBackend, NativeLibrary
backend = NativeBackend(NativeLibrary.open({str(build())!r}))
info = armnn.TensorInfo((2,))
network = armnn.Network("n")
layer = network.add_addition(network.add_input("a", info), network.add_input("b", info)).producer
handles = [ArrayHandle(info, np.ones(2, np.float32)) for _ in range(3)]
workload = backend.create_workload(layer, ModelContext({{"Behavior": "wait"}}))
step = workload.bind(handles[:2], handles[2:])
threading.Thread(target=step, daemon=True).start()
while not step.__self__.context.is_running:
    time.sleep(0.001)
"""
    environment = {**os.environ, "MOCK_LAST_WORDS": str(words)}
    ran = subprocess.run([sys.executable, "-c", script], check=False, env=environment, timeout=60)
    assert ran.returncode == 0
    assert not words.exists()


def test_what_is_dropped_in_a_callback_is_destroyed_outside_of_it() -> None:
    library: Any = SimpleNamespace(has_ended=False)
    threads: list[int] = []
    destroyed = threading.Event()

    def destroy(_: int) -> None:
        threads.append(threading.get_ident())
        destroyed.set()

    cycle: list[object] = [NativeObject(library, 1, destroy, None)]
    cycle.append(cycle)
    cycles = [cycle]
    del cycle

    @guarded(None)
    def callback() -> None:
        cycles.clear()
        gc.collect()  # as it may happen in any callback, also on a thread of the backend

    callback()
    assert destroyed.wait(10)
    assert threads != [threading.get_ident()]


def test_a_parent_is_destroyed_behind_what_another_thread_destroys() -> None:
    library: Any = SimpleNamespace(has_ended=False)
    order: list[str] = []
    begun = threading.Event()

    def destroy(name: str, seconds: float) -> Callable[[int], None]:
        def end(_: int) -> None:
            begun.set()
            time.sleep(seconds)
            order.append(name)

        return end

    parent = NativeObject(library, 1, destroy("parent", 0), None)
    child = NativeObject(library, 2, destroy("child", 0.05), parent)
    thread = threading.Thread(target=child.end)
    thread.start()
    assert begun.wait(10)
    parent.end_with_children()
    thread.join()
    assert order == ["child", "parent"]


@pytest.mark.parametrize("patience", [10.0, 0.0], ids=["waits", "leaves it"])
def test_files_are_not_shut_down_while_another_thread_destroys(
    patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    begun, may_end = threading.Event(), threading.Event()

    def destroy(_: int) -> None:
        begun.set()
        may_end.wait(10)
        order.append("object")

    class File:
        has_ended = is_forked = False

        def function(self, _: str) -> Callable[[], None]:
            return lambda: order.append("file")

    library: Any = File()
    keeper = capi_library._Keeper()
    monkeypatch.setattr(capi_library, "_keeper", keeper)
    monkeypatch.setattr(capi_library, "_PATIENCE_SECONDS", patience)
    keeper._libraries[library] = None
    held = NativeObject(library, 1, destroy, None)
    thread = threading.Thread(target=held.end)
    thread.start()
    assert begun.wait(10)
    if patience:
        threading.Timer(0.05, may_end.set).start()
    keeper.end()
    may_end.set()
    thread.join()
    assert order == (["object", "file"] if patience else ["object"])
