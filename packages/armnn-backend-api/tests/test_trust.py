# SPDX-License-Identifier: MIT
"""Trust in files, by owner, mode and folders."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable

import pytest

from armnn_backend_api.trust import Distrust, distrust

OWN, STRANGER = 1234, 4321
FILE, FOLDER = stat.S_IFREG | 0o755, stat.S_IFDIR | 0o755


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes up files, users and groups."""
    rows: dict[str, tuple[int, int, int]] = {
        "/": (FOLDER, 0, 0),
        "/opt": (FOLDER, 0, 0),
        "/opt/acme": (FOLDER, OWN, OWN),
        "/opt/acme/a b.so": (FILE, OWN, OWN),
    }
    groups = {OWN: ("me", ["me"]), 50: ("staff", []), 0: ("root", [])}
    users = {OWN: "me", STRANGER: "nobody", 0: "root"}

    def status(path: str) -> os.stat_result:
        mode, owner, group = rows[path]
        return os.stat_result((mode, 1, 1, 1, owner, group, 1, 0, 0, 0))

    def named(rows: dict[int, str], number: int) -> str:
        return rows[number]

    monkeypatch.setattr(os, "geteuid", lambda: OWN)
    monkeypatch.setattr(
        pwd, "getpwuid", lambda n: pwd.struct_passwd((named(users, n), "", n, n, "", "", ""))
    )
    monkeypatch.setattr(
        grp, "getgrgid", lambda n: grp.struct_group((groups[n][0], "", n, groups[n][1]))
    )

    def change(path: str, mode: int, owner: int = OWN, group: int = OWN) -> None:
        rows[path] = mode, owner, group
        monkeypatch.setattr(os, "stat", status)

    change("/opt/acme", FOLDER)
    return change


PATH = "/opt/acme/a b.so"


def test_a_file_of_ours_is_trusted(system: Callable[..., None]) -> None:
    assert distrust(PATH) is None


def test_a_file_of_root_is_trusted(system: Callable[..., None]) -> None:
    system(PATH, FILE, 0, 0)
    assert distrust(PATH) is None


def test_a_file_of_another_user_is_not(system: Callable[..., None]) -> None:
    system(PATH, FILE, STRANGER)
    assert distrust(PATH) == Distrust(
        "it belongs to 'nobody', expected 'me' or 'root'", "chown me '/opt/acme/a b.so'"
    )


def test_root_does_not_load_files_of_others(
    system: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert distrust(PATH) == Distrust(
        "it belongs to 'me', expected 'root' or 'root'", "chown root '/opt/acme/a b.so'"
    )


@pytest.mark.parametrize("path", [PATH, "/opt/acme"])
def test_the_umask_002_is_no_fault_with_a_private_group(
    system: Callable[..., None], path: str
) -> None:
    system(path, (FILE if path == PATH else FOLDER) | 0o020)
    assert distrust(PATH) is None


def test_a_group_with_others_is_a_fault(system: Callable[..., None]) -> None:
    system(PATH, FILE | 0o020, OWN, 50)
    assert distrust(PATH) == Distrust("its group may write it", "chmod go-w '/opt/acme/a b.so'")


@pytest.mark.parametrize(
    ("path", "what"), [("/opt/acme", "its folder"), ("/opt", "the folder '/opt'")]
)
def test_every_folder_on_the_way_counts(system: Callable[..., None], path: str, what: str) -> None:
    system(path, FOLDER | 0o002)
    assert distrust(PATH) == Distrust(f"others may write {what}", f"chmod go-w {path}")
    system(path, FOLDER, STRANGER)
    assert distrust(PATH) == Distrust(
        f"{what} belongs to 'nobody', expected 'me' or 'root'", f"chown me {path}"
    )


def test_in_a_sticky_folder_others_replace_nothing(system: Callable[..., None]) -> None:
    system("/opt", stat.S_IFDIR | stat.S_ISVTX | 0o777, 0, 0)
    assert distrust(PATH) is None
