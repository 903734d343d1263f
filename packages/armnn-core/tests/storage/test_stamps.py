# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from armnn.storage.folder import STAMP_SUFFIX, KnownDigests, is_settled, stamp_of

LATER = 10_000_000_000
DIGEST = hashlib.sha256(b"content").hexdigest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "model.onnx"
    made.write_bytes(b"content")
    return made


def known(path: Path) -> KnownDigests:
    """Return the digests of a folder that has the file's."""
    digests = KnownDigests(path.parent)
    digests.keep(path, stamp_of(path), DIGEST, max(stamp_of(path)[-2:]) + LATER)
    return digests


def test_the_digest_of_a_file_is_its_sha256(path: Path) -> None:
    assert KnownDigests(path.parent).of(path) == DIGEST


def test_a_digest_is_known_until_the_file_changes(path: Path) -> None:
    digests = known(path)
    assert digests.known(path) == DIGEST
    path.write_bytes(b"CONTENT")
    assert digests.known(path) == ""
    assert digests.of(path) == hashlib.sha256(b"CONTENT").hexdigest()


def test_a_change_that_hides_behind_size_and_time_is_seen(path: Path) -> None:
    before = path.stat()
    digests = known(path)
    with path.open("r+b") as file:  # the same inode
        file.write(b"CONTENT")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (
        before.st_ino,
        before.st_size,
        before.st_mtime_ns,
    )
    assert digests.known(path) == ""


def test_another_file_of_the_same_content_is_not_known(path: Path) -> None:
    digests = known(path)
    path.rename(path.with_name("old"))
    path.write_bytes(b"content")
    assert digests.known(path) == ""
    assert digests.known(path.with_name("missing")) == ""


@pytest.mark.parametrize("damage", [b"", b"1 2 3", b"\xff", b"a b c d e f g"])
def test_a_damaged_record_is_none(path: Path, damage: bytes) -> None:
    digests = known(path)
    (record,) = path.parent.glob(f"*{STAMP_SUFFIX}")
    record.write_bytes(damage)
    assert digests.known(path) == ""
    assert digests.of(path) == DIGEST


def test_a_digest_computed_right_after_a_change_is_not_kept(path: Path) -> None:
    digests, stamp = KnownDigests(path.parent), stamp_of(path)
    digests.keep(path, stamp, DIGEST, max(stamp[-2:]) + 1)
    assert digests.known(path) == ""
    digests.keep(path, (*stamp[:-1], 0), DIGEST, max(stamp[-2:]) + LATER)
    assert digests.known(path) == ""  # it changed while it was hashed


@pytest.mark.parametrize(
    ("changed", "after", "settled"),
    [
        (1_000_000_001, 40_000_000, False),
        (1_000_000_001, 60_000_000, True),
        (1_000_000_000, 60_000_000, False),  # a file system of whole seconds
        (1_000_000_000, 2_100_000_000, True),
    ],
)
def test_a_stamp_settles_after_a_tick_of_the_clock(changed: int, after: int, settled: bool) -> None:
    assert is_settled((1, 2, 3, changed - 5, changed), changed + after) is settled


def test_a_folder_that_cannot_be_written_costs_the_record_only(path: Path) -> None:
    digests = KnownDigests(path.parent / "missing")
    assert digests.of(path) == DIGEST
    assert digests.known(path) == ""
