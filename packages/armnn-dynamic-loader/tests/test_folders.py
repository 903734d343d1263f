# SPDX-License-Identifier: MIT
"""The scanned folders: sources, order, and reasons against others."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from armnn.backends import CreationOptions
from armnn.backends.sources import SearchedFolder
from armnn_backend_api import trust
from armnn_dynamic_loader.folders import search_path, warn_of
from fakes import Plugin, installed

VARIABLE = "ARMNN_DYNAMIC_BACKENDS_PATH"


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> object:
    tmp_path.chmod(0o755)
    with installed(tmp_path_factory.mktemp("nothing"), alone=True):
        yield


def scanned(options: CreationOptions | None = None) -> list[str]:
    folders = search_path(CreationOptions() if options is None else options)
    return [folder.path for folder in folders if not folder.problem]


def make(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / name).mkdir(mode=0o755)
    return [str(folder / name) for name in names]


def test_without_a_path_nothing_is_scanned() -> None:
    assert search_path(CreationOptions()) == ()


def test_the_option_is_one_folder_and_overrides_all_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make(tmp_path, "a", "b")
    monkeypatch.setenv(VARIABLE, second)
    assert scanned(CreationOptions(dynamic_backends_path=first)) == [first]
    (only,) = search_path(CreationOptions(dynamic_backends_path=f"{first}:{second}"))
    assert only.problem == "does not exist"


def test_an_invalid_option_scans_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (valid,) = make(tmp_path, "a")
    monkeypatch.setenv(VARIABLE, valid)
    assert scanned(CreationOptions(dynamic_backends_path="InvalidPath")) == []


def test_the_switch_turns_everything_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (valid,) = make(tmp_path, "a")
    monkeypatch.setenv(VARIABLE, valid)
    options = CreationOptions(dynamic_backends_path=valid, enable_dynamic_backends=False)
    assert search_path(options) == ()


def test_the_variable_keeps_its_order_and_each_folder_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b, a, c = make(tmp_path, "b", "a", "c")
    monkeypatch.setenv(VARIABLE, f"{b}:{a}:{b}:{c}:{a}")
    assert scanned() == [b, a, c]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "is empty: expected the absolute path of a folder"),
        ("relative/folder", "is not absolute: a backend must not depend on where a program is"),
        ("/nowhere/at/all", "does not exist"),
        (__file__, "is a file, expected the folder that holds it"),
        ("/a\0b", "has a NUL character in its path"),
        (f"{__file__}/x", "cannot be read: Not a directory"),
    ],
)
def test_each_invalid_folder_is_one_warning(
    path: str, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    folders = search_path(CreationOptions(dynamic_backends_path=path))
    with caplog.at_level(logging.WARNING):
        warn_of(folders)
    (message,) = (record.getMessage() for record in caplog.records)
    assert message.startswith(
        f"The folder {path!r} of dynamic backends (dynamic_backends_path) {problem}"
    )
    assert message.endswith("; it is not scanned.")


@pytest.mark.parametrize(
    ("mode", "who"), [(0o775, "its group"), (0o757, "others"), (0o777, "its group and others")]
)
def test_a_folder_that_others_may_write_is_not_scanned(
    tmp_path: Path, mode: int, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "_is_private", lambda _: False)  # the group has others in it
    (path,) = make(tmp_path, "a")
    os.chmod(path, mode)
    (folder,) = search_path(CreationOptions(dynamic_backends_path=path))
    assert folder.problem == f"is not trusted: {who} may write it; fix: chmod go-w {path}"


def test_other_systems_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = make(tmp_path, "a")
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    (folder,) = search_path(CreationOptions(dynamic_backends_path=path))
    assert folder.problem == "cannot be used: dynamic backends need Linux, this is Darwin"


@pytest.mark.parametrize("flag", ["-I", "-E"])
def test_python_in_isolation_ignores_the_variable(tmp_path: Path, flag: str) -> None:
    (path,) = make(tmp_path, "a")
    code = (
        "from armnn.backends import CreationOptions; "
        "from armnn_dynamic_loader.folders import search_path; "
        "print([f.path for f in search_path(CreationOptions())])"
    )
    environment = {**os.environ, VARIABLE: path}
    runs = [
        subprocess.run([sys.executable, *flags, "-c", code], env=environment, stdout=-1, check=True)
        for flags in ((), (flag,))
    ]
    assert [path in run.stdout.decode() for run in runs] == [True, False]


def test_a_process_with_the_rights_of_another_ignores_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = make(tmp_path, "a")
    monkeypatch.setenv(VARIABLE, path)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert scanned() == []


def vendor(name: str, package: str, *modules: str) -> Plugin:
    entry_points = {"armnn.backend_paths": {name: package}}
    return Plugin(name, "1.2", (), entry_points, dict.fromkeys(modules, "raise SystemExit\n"))


def test_distributions_declare_folders_which_come_after_those_of_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (asked,) = make(tmp_path, "asked")
    monkeypatch.setenv(VARIABLE, asked)
    site = tmp_path / "site"
    plugins = [
        vendor("b-vendor", "b_vendor.libs", "b_vendor.libs.x", "b_vendor.y"),
        vendor("a-vendor", "a_vendor", "a_vendor.x"),
        vendor("c-vendor", "c_vendor"),
    ]
    with installed(site, *plugins, alone=True):
        for folder in (site, *site.rglob("*_vendor*"), *site.rglob("libs")):
            folder.chmod(0o755)
        folders = search_path(CreationOptions())
        assert not {name for name in sys.modules if re.match("[abc]_vendor", name)}
    assert folders == (
        SearchedFolder(asked, VARIABLE),
        SearchedFolder(str(site / "a_vendor"), "a-vendor 1.2"),
        SearchedFolder(str(site / "b_vendor" / "libs"), "b-vendor 1.2"),
        SearchedFolder(
            "c_vendor",
            "c-vendor 1.2",
            "cannot be found: c-vendor 1.2 declares it, but has no package 'c_vendor'",
        ),
    )
