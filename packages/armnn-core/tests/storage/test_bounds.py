# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import pytest

from armnn.errors import InvalidArgumentError
from armnn.storage import folder
from armnn.storage.folder import CacheFolder, entries_of, limit_of, set_limit, stamp_of, trim

DAY_NS = 24 * 3600 * 10**9


def filled(folder: Path, *names: str) -> CacheFolder:
    """Return a cache with entries of 10,000 bytes.

    Each is a day younger than the one before.
    """
    cache = CacheFolder(folder)
    known: set[Path] = set()
    for age, name in enumerate(reversed(names), 1):
        cache.write({}, [[bytes(10_000)]], name)
        (path,) = set(folder.glob("*.armnn-prepared")) - known
        known.add(path)
        written = time.time_ns() - age * DAY_NS
        os.utime(path, ns=(written, written))
    return cache


def kept(cache: CacheFolder, *names: str) -> list[str]:
    return [name for name in names if cache.read(name) is not None]


def test_what_was_used_least_recently_goes_first(tmp_path: Path) -> None:
    cache = filled(tmp_path, "a", "b", "c", "d")
    sizes = [each.size for each in entries_of(tmp_path, cache.digests)]
    removed = trim(tmp_path, cache.digests, sum(sizes[1:]))
    assert [each.size for each in removed] == sizes[:1]
    assert kept(cache, "a", "b", "c", "d") == ["b", "c", "d"]
    assert trim(tmp_path, cache.digests, sum(sizes[1:])) == []


def test_reading_an_entry_is_using_it(tmp_path: Path) -> None:
    cache = filled(tmp_path, "a", "b", "c")
    path = entries_of(tmp_path, cache.digests)[0].path
    digest = path.read_bytes()[-32:].hex()
    cache.digests.keep(path, stamp_of(path), digest, time.time_ns() + DAY_NS)
    record = next(tmp_path.glob("*.armnn-stamp"))
    os.utime(record, (1, 1))
    assert entries_of(tmp_path, cache.digests)[0].path == path
    assert cache.read("a") is not None
    assert entries_of(tmp_path, cache.digests)[-1].path == path
    assert cache.digests.known(path) == digest  # its stamp did not change
    trim(tmp_path, cache.digests, 15_000)
    assert kept(cache, "a", "b", "c") == ["a"]
    trim(tmp_path, cache.digests, 0)
    assert not list(tmp_path.glob("*.armnn-stamp"))


def test_a_new_entry_makes_room_for_itself_and_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    cache = filled(tmp_path, "a", "b", "c")
    set_limit(tmp_path, 25_000)
    cache.write({}, [[bytes(10_000)]], "d")
    assert kept(cache, "a", "b", "c", "d") == ["c", "d"]
    assert caplog.text.count("goes from the cache") == 2
    cache.write({}, [[bytes(100_000)]], "e")  # it is larger than the limit
    assert kept(cache, "a", "b", "c", "d", "e") == ["e"]


def test_a_process_that_has_an_entry_mapped_keeps_it(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path)
    cache.write({}, [[b"weights" * 1000]], "a")
    header, (block,) = cache.read("a") or ({}, [memoryview(b"")])
    trim(tmp_path, cache.digests, 0)
    assert cache.read("a") is None
    assert (header, bytes(block)) == ({}, b"weights" * 1000)


@pytest.mark.parametrize(("age", "stays"), [(0.5, True), (1.5, False)])
def test_what_a_dead_process_left_goes_after_an_hour(
    tmp_path: Path, age: float, stays: bool
) -> None:
    cache = CacheFolder(tmp_path)
    left = tmp_path / ".writing-abc"
    left.write_bytes(bytes(10))
    begun = time.time_ns() - int(age * folder.ABANDONED_NS)
    os.utime(left, ns=(begun, begun))
    cache.write({}, [], "a")
    assert left.exists() is stays


def test_the_limit_is_that_of_the_folder(tmp_path: Path) -> None:
    assert limit_of(tmp_path) == 4 << 30
    set_limit(tmp_path, 123)
    assert limit_of(tmp_path) == 123
    (tmp_path / "armnn-cache-limit").write_text("much")
    assert limit_of(tmp_path) == 4 << 30
    with pytest.raises(InvalidArgumentError, match="is -1 bytes: expected 0 or more"):
        set_limit(tmp_path, -1)
