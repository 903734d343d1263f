# SPDX-License-Identifier: MIT
"""The libraries mapped with a file: found, hashed, trusted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from compiling import gcc

from armnn import CreationOptions
from armnn.backends import BackendEntry, BackendRegistry, BackendState
from armnn.backends.locking import sha256_of
from armnn_backend_api.linker import LinkError
from armnn_dynamic_loader.files import needed_files
from armnn_tools.cli.main import main

Link = Callable[..., Path]


def found_by(registry: BackendRegistry) -> list[BackendEntry]:
    return [entry for entry in registry.entries() if not entry.is_static]


def entry_of(path: Path, **options: object) -> BackendEntry:
    asked = CreationOptions(
        dynamic_backends_path=str(path.parent), enable_static_backends=False, **options
    )
    (entry,) = found_by(BackendRegistry(asked))
    return entry


def test_libraries_are_found_by_rpath_and_those_of_the_system_left_out(link: Link) -> None:
    backend = link("One")
    (needed,) = needed_files(str(backend))
    assert (needed.name, needed.path) == ("libhelp.so", str(backend.parent / "lib" / "libhelp.so"))
    assert entry_of(backend).state is BackendState.KNOWN


def test_libraries_of_libraries_are_found(link: Link, tmp_path: Path) -> None:
    backend = link("Two")
    lib = backend.parent / "lib"
    source = tmp_path / "deeper.c"
    source.write_text("int deeper(void) { return 1; }")
    gcc("-o", lib / "libdeeper.so", source, "-Wl,-soname,libdeeper.so")
    source.write_text("extern int deeper(void); int help_me(void) { return deeper(); }")
    gcc(
        "-o", lib / "libhelp.so", source, lib / "libdeeper.so", "-Wl,-soname,libhelp.so",
        "-Wl,-rpath,$ORIGIN",
    )  # fmt: skip
    assert [each.name for each in needed_files(str(backend))] == ["libhelp.so", "libdeeper.so"]


def test_a_library_of_the_variable_is_found(
    link: Link, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = link("Three", rpath="/nowhere")
    assert needed_files(str(backend)) == ()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(backend.parent / "lib"))
    assert [each.name for each in needed_files(str(backend))] == ["libhelp.so"]


def test_a_changed_library_asks_for_a_new_verdict_and_keeps_the_file_from_loading(
    link: Link,
) -> None:
    backend = link("Four")
    asked = CreationOptions(dynamic_backends_path=str(backend.parent), enable_static_backends=False)
    registry = BackendRegistry(asked)
    (entry,) = found_by(registry)
    assert entry.state is BackendState.KNOWN
    (backend.parent / "lib" / "libhelp.so").write_bytes(b"no library any more")
    with pytest.raises(Exception, match=r"libhelp\.so. has changed since"):
        registry.get("Four")
    assert entry_of(backend).stage == "dlopen"


def test_the_lock_file_lists_every_mapped_library_and_a_swapped_one_is_refused(
    link: Link, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = link("Five")
    lock = tmp_path / "acme.lock"
    asked = ["--dynamic-backends-path", str(backend.parent), "--output", str(lock)]
    assert main(["backends", "lock", "--json", *asked]) == 0
    helper = backend.parent / "lib" / "libhelp.so"
    listed = {row["name"]: row["sha256"] for row in json.loads(capsys.readouterr().out)["locked"]}
    assert {path: listed[path] for path in map(str, (backend, helper))} == {
        str(path): sha256_of(str(path)) for path in (backend, helper)
    }
    options = {"require_locked": True, "lock_file": str(lock)}
    assert entry_of(backend, **options).reason == ""
    marker = tmp_path / "ran"
    source = tmp_path / "swapped.c"
    source.write_text(
        "#include <stdio.h>\nint help_me(void) { return 0; }\n"
        f'__attribute__((constructor)) static void run(void) {{ fopen("{marker}", "w"); }}\n'
    )
    gcc("-o", helper, source, "-Wl,-soname,libhelp.so")
    refused = entry_of(backend, **options)
    assert refused.stage == "lock"
    assert refused.reason.startswith(f"is linked with {str(helper)!r}, which has changed since it")
    assert not marker.exists()


@pytest.mark.parametrize("rpath", ["lib", ".", "lib:$ORIGIN"])
def test_a_relative_rpath_is_refused(link: Link, rpath: str) -> None:
    with pytest.raises(LinkError) as caught:
        needed_files(str(link("Six", rpath=rpath)))
    first = rpath.partition(":")[0]
    assert caught.value.reason == (
        f"has the relative folder {first!r} in its RPATH, which is another one in each process"
    )


def test_an_rpath_that_others_may_write_is_refused(link: Link) -> None:
    backend = link("Seven")
    lib = backend.parent / "lib"
    lib.chmod(0o777)
    entry = entry_of(backend)
    assert (entry.stage, entry.remedy) == ("linked", f"chmod go-w {lib}")
    assert entry.reason.startswith("has the folder '$ORIGIN/lib' in its RPATH, but ")


def test_a_helper_that_others_may_write_is_refused(link: Link) -> None:
    backend = link("Eight")
    helper = backend.parent / "lib" / "libhelp.so"
    helper.chmod(0o777)
    entry = entry_of(backend)
    assert (entry.stage, entry.remedy) == ("linked", f"chmod go-w {helper}")
    assert entry.reason.startswith(f"is linked with {str(helper)!r}, but ")


def test_a_library_that_is_nowhere_is_left_to_the_linker(link: Link) -> None:
    backend = link("Nine")
    (backend.parent / "lib" / "libhelp.so").unlink()
    assert needed_files(str(backend)) == ()
    assert "libhelp.so: cannot open shared object file" in entry_of(backend).reason
