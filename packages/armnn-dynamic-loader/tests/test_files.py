# SPDX-License-Identifier: MIT
"""The checks that run nothing: order, links, kinds, rights."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn.backends.sources import SearchedFolder
from armnn_backend_api import trust
from armnn_dynamic_loader import files
from armnn_dynamic_loader.files import FileRecord, FileState, examine_folders

Build = Callable[..., Path]
NAME = "Arm_A_backend.so"


def examine(*folders: Path) -> list[FileRecord]:
    return examine_folders(SearchedFolder(str(folder), "test") for folder in folders)


def stages(records: list[FileRecord]) -> list[tuple[str, str]]:
    return [(os.path.basename(record.entry), record.stage) for record in records]


def test_files_come_in_the_order_of_the_folders_then_of_the_bytes_of_their_names(
    build: Build,
) -> None:
    names = ["b_x_backend.so", "a_x_backend.so", "B_x_backend.so", "a_x_backend.so.2"]
    paths = [build(name, folder="second") for name in names]
    first = build("z_x_backend.so", folder="first")
    records = examine(first.parent, paths[0].parent, first.parent)
    assert [name for name, _ in stages(records)] == [
        "z_x_backend.so",
        "B_x_backend.so",
        "a_x_backend.so",
        "a_x_backend.so.2",
        "b_x_backend.so",
        "z_x_backend.so",
    ]


def test_what_is_known_unopened_is_in_the_record(build: Build) -> None:
    path = build(
        NAME, '-DNOTE="{\\"id\\": \\"Acme\\", \\"api\\": \\"1.0\\", \\"version\\": \\"7\\"}"'
    )
    (record,) = examine(path.parent)
    assert (record.id, record.noted_id, record.version) == ("Acme", "Acme", "7")
    assert str(record.api_version) == "1.0"
    assert record.path == str(path)
    assert record.state == FileState.of(path.stat())
    assert record.passed_static_checks


def test_a_chain_of_links_is_one_file_of_which_the_first_entry_counts(build: Build) -> None:
    target = build("Arm_A_backend.so.1.2.3")
    folder = target.parent
    for name, to in ((NAME, f"{NAME}.1"), (f"{NAME}.1", f"{NAME}.1.2"), (f"{NAME}.1.2", target)):
        (folder / name).symlink_to(to)
    records = examine(folder)
    assert stages(records) == [
        (NAME, ""),
        (f"{NAME}.1", "duplicate"),
        (f"{NAME}.1.2", "duplicate"),
        (f"{NAME}.1.2.3", "duplicate"),
    ]
    assert {record.path for record in records} == {str(target)}
    assert records[3].reason == f"is the same file as {str(folder / NAME)!r}"


def test_a_hard_link_is_the_same_file(build: Build) -> None:
    path = build(NAME)
    os.link(path, path.with_name("Arm_B_backend.so"))
    assert stages(examine(path.parent)) == [(NAME, ""), ("Arm_B_backend.so", "duplicate")]


def test_a_folder_reached_twice_brings_its_files_once(build: Build, tmp_path: Path) -> None:
    path = build(NAME)
    (tmp_path / "link").symlink_to(path.parent)
    records = examine(path.parent, tmp_path / "link")
    assert [record.stage for record in records] == ["", "duplicate"]


def test_the_same_name_in_another_folder_is_another_file(build: Build) -> None:
    paths = [build(NAME, folder=folder) for folder in ("first", "second")]
    records = examine(*(path.parent for path in paths))
    assert [(record.path, record.stage) for record in records] == [(str(p), "") for p in paths]


def test_a_link_counts_by_its_own_name_whatever_it_leads_to(build: Build) -> None:
    target = build("anything", folder="elsewhere")
    link = build("Arm_B_backend.so").with_name(NAME)
    link.symlink_to(target)
    records = examine(link.parent)
    assert stages(records) == [(NAME, ""), ("Arm_B_backend.so", "")]
    assert records[0].path == str(target)


def test_a_link_that_leads_nowhere_or_in_a_circle_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "Arm_A_backend.so").symlink_to("nothing")
    (tmp_path / "Arm_B_backend.so").symlink_to("Arm_B_backend.so")
    reasons = [record.reason for record in examine(tmp_path)]
    assert reasons == [
        "is a link to 'nothing', which leads nowhere: No such file or directory",
        "is a link to 'Arm_B_backend.so', which leads nowhere: Too many levels of symbolic links",
    ]


def test_pipes_and_folders_of_a_good_name_are_told_and_not_opened(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    os.mkfifo(tmp_path / "Arm_A_backend.so")
    (tmp_path / "Arm_B_backend.so").mkdir()
    (tmp_path / "plain folder").mkdir()
    records = examine(tmp_path)
    assert [(record.stage, record.reason) for record in records] == [
        ("file", "is not a regular file"),
        ("file", "is not a regular file"),
    ]


def test_an_empty_file_is_not_opened(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / NAME).touch(0o755)
    (tmp_path / "Arm_B_backend.so").symlink_to("/proc/self/maps")  # has content, but no size
    records = examine(tmp_path)
    assert [(record.stage, record.reason) for record in records] == [("file", "is empty")] * 2


def test_a_file_too_large_to_be_a_library_is_not_read(build: Build) -> None:
    path = build(NAME)
    os.truncate(path, files.LARGEST_FILE + 1)  # sparse: it takes no place
    (record,) = examine(path.parent)
    assert (record.stage, record.reason) == (
        "file",
        f"has {files.LARGEST_FILE + 1} bytes, expected at most {files.LARGEST_FILE}",
    )


def test_a_folder_that_vanishes_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert examine(tmp_path / "gone") == []
    assert "gone' of dynamic backends cannot be read: [Errno 2]" in caplog.text


@pytest.mark.parametrize(
    ("mode", "who"), [(0o775, "its group"), (0o757, "others"), (0o777, "its group and others")]
)
def test_a_file_that_others_may_write_is_not_trusted(
    build: Build, mode: int, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "_is_private", lambda _: False)  # the group has others in it
    path = build(NAME)
    path.chmod(mode)
    (record,) = examine(path.parent)
    assert (record.stage, record.reason, record.remedy) == (
        "permissions",
        f"is not trusted: {who} may write it",
        f"chmod go-w {path}",
    )


def test_the_folder_that_a_link_leads_to_must_be_trusted_too(build: Build) -> None:
    target = build(NAME, folder="open")
    target.parent.chmod(0o777)
    link = build("Arm_B_backend.so", folder="closed").with_name(NAME)
    link.symlink_to(target)
    record = examine(link.parent)[0]
    assert record.reason.endswith("others may write its folder")
    assert record.remedy == f"chmod go-w {target.parent}"


@pytest.mark.parametrize("api", ["one", "1", "1.0.0", " 1.0"])
def test_a_note_with_an_unreadable_version_is_told(build: Build, api: str) -> None:
    path = build(NAME, f'-DNOTE="{{\\"id\\": \\"Acme\\", \\"api\\": \\"{api}\\"}}"')
    (record,) = examine(path.parent)
    assert record.stage == "note"
    assert record.reason.startswith("has a note that cannot be used: Cannot read a Backend API")
