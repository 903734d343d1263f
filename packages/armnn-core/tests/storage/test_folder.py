# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from armnn.backends.cache import StaleEntryError
from armnn.storage.folder import CacheFolder, pack, stamp_of


def test_what_was_written_is_read_by_the_same_key_only(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path / "a" / "b")
    cache.write({"a": 1}, [[b"pro", b"gram"]], "Mock", "0", "abc")
    assert CacheFolder(tmp_path / "a" / "b").read("Mock", "0", "abc") == ({"a": 1}, [b"program"])
    assert cache.read("Mock", "0abc") is None
    cache.write({}, [[b"newer"]], "Mock", "0", "abc")
    assert cache.read("Mock", "0", "abc") == ({}, [b"newer"])
    (path,) = cache.folder.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_fails_costs_a_compilation_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING)
    cache = CacheFolder(tmp_path / "cache")
    cache.write({}, [[b"1"]], "key")
    (path,) = cache.folder.iterdir()
    path.unlink()
    path.mkdir()
    assert cache.read("key") is None
    assert "a prepared model cannot be read" in caplog.text
    cache.write({}, [[b"1"]], "key")  # a file cannot replace a folder
    assert "a prepared model cannot be stored" in caplog.text
    assert [p.name for p in cache.folder.iterdir()] == [path.name]
    caplog.clear()
    os.rename(cache.folder, tmp_path / "gone")
    cache.write({}, [[b"1"]], "key")
    assert "a prepared model cannot be stored" in caplog.text


def test_nothing_is_left_of_what_cannot_be_said_in_json(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path)
    with pytest.raises(TypeError):
        cache.write({"a": object()}, [], "key")
    assert list(tmp_path.iterdir()) == []


def settled(cache: CacheFolder, *key: str) -> Path:
    """Return an entry's file, whose digest is known."""
    (path,) = cache.folder.glob("*.armnn-prepared")
    digest = path.read_bytes()[-32:].hex()
    cache.digests.keep(path, stamp_of(path), digest, max(stamp_of(path)[-2:]) + 10**10)
    assert cache.digests.known(path) == digest
    assert cache.read(*key) is not None
    return path


def test_all_of_a_file_is_checked_when_it_is_read_first_after_a_change(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path / "cache")
    cache.write({}, [[bytes(1000)]], "key")
    path = settled(cache, "key")
    times = path.stat()
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(StaleEntryError, match="its sha256 is not that of its content"):
        cache.read("key")


def test_the_entry_of_another_key_under_a_name_is_refused(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path / "cache")
    cache.write({}, [], "key")
    (path,) = cache.folder.iterdir()
    path.write_bytes(b"".join(pack({"key": ["other"]}, [])))
    with pytest.raises(StaleEntryError, match="it is the entry of another key"):
        cache.read("key")


def test_a_full_disk_leaves_nothing_behind_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    cache = CacheFolder(tmp_path / "cache")
    monkeypatch.setattr(os, "fsync", full)
    cache.write({}, [[b"1"]], "key")
    assert "a prepared model cannot be stored: [Errno 28] No space left" in caplog.text
    assert list(cache.folder.iterdir()) == []
    assert cache.read("key") is None


WRITER = """
import sys
from armnn.storage.folder import CacheFolder
cache, mark = CacheFolder(sys.argv[1]), sys.argv[2]
for _ in range(40):
    cache.write({"mark": mark}, [[mark.encode() * 100_000]], "key")
    header, (block,) = cache.read("key")
    assert bytes(block) == header["mark"].encode() * 100_000
"""


def test_two_processes_that_write_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "cache")]
    both = [subprocess.Popen([*command, mark]) for mark in "ab"]
    assert [each.wait() for each in both] == [0, 0]
    cache = CacheFolder(tmp_path / "cache")
    header, (block,) = cache.read("key") or ({}, [memoryview(b"")])
    assert bytes(block) == header["mark"].encode() * 100_000
    assert not list(cache.folder.glob(".writing-*"))
