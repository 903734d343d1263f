# SPDX-License-Identifier: MIT
"""The state of a file, and who may change it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from armnn_backend_api.files import FileState, who_else_may_write


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (0o700, ""),
        (0o755, ""),
        (0o775, "its group"),
        (0o722, "its group and others"),
        (0o702, "others"),
        (0o1777, "its group and others"),
    ],
)
def test_the_rights_of_group_and_others_count(tmp_path: Path, mode: int, expected: str) -> None:
    tmp_path.chmod(mode)
    assert who_else_may_write(tmp_path.stat()) == expected


def test_any_change_of_a_file_is_another_state(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    before = FileState.of(path.stat())
    path.write_bytes(b"abcd")
    os.utime(path, ns=(before.mtime_ns, before.mtime_ns))
    after = FileState.of(path.stat())
    assert (before.size, after.size) == (3, 4)
    assert after != before
    assert after.content == (before.device, before.inode, 4, before.mtime_ns)


def test_a_further_link_to_a_file_leaves_its_content_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    before = FileState.of(path.stat())
    os.link(path, tmp_path / "link")
    assert FileState.of(path.stat()).content == before.content
    assert FileState.of((tmp_path / "link").stat()).content == before.content
