# SPDX-License-Identifier: MIT
"""Remembered outcomes of probes: which, for how long, and whose are trusted."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import time
from pathlib import Path

import pytest

from armnn_backend_api import BackendVersion
from armnn_dynamic_loader import probe_cache
from armnn_dynamic_loader.files import FileRecord, FileState, NeededFile
from armnn_dynamic_loader.probe import Outcome
from armnn_dynamic_loader.probe_cache import ProbeCache, cache_file

RECORD = FileRecord("", "/opt/acme/Acme_A_backend.so", state=FileState(1, 2, 3, 4, 5))
GOOD = Outcome(id="Acme", api_version=BackendVersion(1, 0), version="7")
BAD = Outcome(id="Acme", stage="execute", reason="writes behind the end")
STATE = [[1, 2, 3, 4, 5]]
ROW = {
    "state": STATE,
    "digests": ["sha"],
    "sha256": "sha",
    "time": 1.0,
    "timeout": 10.0,
    "outcome": {"api_version": None},
}
SLOW = Outcome(stage="dlopen", reason="did not come back", is_timeout=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "armnn" / "probes.json"


def kept(path: Path, outcome: Outcome, timeout: float = 10.0) -> ProbeCache:
    ProbeCache(path).keep({RECORD: (outcome, "sha")}, timeout)
    return ProbeCache(path)


@pytest.mark.parametrize("outcome", [GOOD, BAD, SLOW])
def test_a_verdict_is_found_again(path: Path, outcome: Outcome) -> None:
    assert kept(path, outcome).find(RECORD, 10.0) == (outcome, "sha")


@pytest.mark.parametrize("field", FileState._fields)
def test_any_change_of_the_file_asks_for_a_new_verdict(path: Path, field: str) -> None:
    changed = dataclasses.replace(RECORD, state=RECORD.state._replace(**{field: 99}))  # type: ignore[union-attr]  # it has one
    assert kept(path, GOOD).find(changed, 10.0) is None


def hashed(time: int, own: str = "a", helper: str = "b") -> FileRecord:
    """Return a file with a library, changed at a time."""
    library = NeededFile("libh.so", "/opt/acme/libh.so", FileState(1, 3, 3, time, 5), helper)
    state = FileState(1, 2, 3, time, 5)
    return dataclasses.replace(RECORD, state=state, sha256=own, needed=(library,))


def test_files_that_were_touched_keep_their_verdict(path: Path) -> None:
    ProbeCache(path).keep({hashed(1): (GOOD, "a")}, 10.0)
    assert ProbeCache(path).find(hashed(2), 10.0) == (GOOD, "a")
    for other in (hashed(2, own="x"), hashed(2, helper="x")):
        assert ProbeCache(path).find(other, 10.0) is None


def test_a_time_out_is_not_believed_of_touched_files(path: Path) -> None:
    ProbeCache(path).keep({hashed(1): (SLOW, "a")}, 10.0)
    assert ProbeCache(path).find(hashed(2), 10.0) is None


def test_another_path_asks_for_a_new_verdict(path: Path) -> None:
    other = dataclasses.replace(RECORD, path="/opt/acme/Acme_B_backend.so")
    assert kept(path, GOOD).find(other, 10.0) is None


@pytest.mark.parametrize("which", [0, 1, 2])
def test_another_api_loader_or_python_asks_for_a_new_verdict(
    path: Path, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    cache = kept(path, GOOD)
    made_with = list(probe_cache._MADE_WITH)
    made_with[which] = "another"
    monkeypatch.setattr(probe_cache, "_MADE_WITH", made_with)
    assert cache.find(RECORD, 10.0) is None


def test_what_depends_on_the_machine_is_not_kept(path: Path) -> None:
    lacking = dataclasses.replace(BAD, stage="dlopen", depends_on_machine=True)
    assert kept(path, lacking).find(RECORD, 10.0) is None
    assert not path.exists()


def test_a_time_out_is_believed_for_a_day(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    cache = kept(path, SLOW)
    monkeypatch.setattr(time, "time", lambda: now + 24 * 3600 - 60)
    assert cache.find(RECORD, 10.0) is not None
    monkeypatch.setattr(time, "time", lambda: now + 24 * 3600 + 60)
    assert cache.find(RECORD, 10.0) is None
    assert kept(path, GOOD).find(RECORD, 10.0) is not None
    monkeypatch.setattr(time, "time", lambda: now - 3600)  # the clock was set back
    assert kept(path, SLOW).find(RECORD, 10.0) is not None
    monkeypatch.setattr(time, "time", lambda: now - 7200)
    assert ProbeCache(path).find(RECORD, 10.0) is None


def test_a_time_out_counts_only_for_those_who_are_no_more_patient(path: Path) -> None:
    cache = kept(path, SLOW, timeout=2.0)
    assert cache.find(RECORD, 1.0) is not None
    assert cache.find(RECORD, 2.0) is not None
    assert cache.find(RECORD, 2.5) is None


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b'{"format": 1}', b'{"format": 3, "verdicts": {}}',
        b'{"format": 1, "verdicts": []}', b"\xff\xfe", b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_damaged_cache_counts_as_empty_and_is_replaced(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert ProbeCache(path).find(RECORD, 10.0) is None
    assert kept(path, GOOD).find(RECORD, 10.0) == (GOOD, "sha")


@pytest.mark.parametrize(
    "damage",
    [
        None, [], {}, 7, True, "text", [["state"]],
        {"state": STATE},
        {"state": "text"},
        {**ROW, "state": {}},
        {**ROW, "state": [[1, 2, 3, 4, "5"]]},
        {**ROW, "outcome": []},
        {**ROW, "outcome": {"api_version": {"major": -1, "minor": 0}}},
        {**ROW, "outcome": {"api_version": None, "color": "red"}},
        {**ROW, "outcome": {"api_version": None, "reason": ["a", "list"]}},
        {**ROW, "outcome": {"api_version": None, "reason": None}},
        {**ROW, "time": "noon"},
        {**ROW, "time": None},
        {**ROW, "timeout": {}},
        {**ROW, "sha256": 7},
    ],
)  # fmt: skip
def test_a_damaged_row_counts_as_none(path: Path, damage: object) -> None:
    assert found_with(path, damage) is None


def test_a_row_counts_if_only_defaults_are_left_out(path: Path) -> None:
    assert found_with(path, ROW) == (Outcome(), "sha")


def found_with(path: Path, row: object) -> tuple[Outcome, str] | None:
    """Return the verdict of a cache with one row replaced."""
    kept(path, GOOD)
    document = json.loads(path.read_text())
    (key,) = document["verdicts"]
    document["verdicts"][key] = row
    path.write_text(json.dumps(document))
    return ProbeCache(path).find(RECORD, 10.0)


@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_cache_that_others_may_write_is_not_believed(
    path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept(path, BAD)
    (path if place == "file" else path.parent).chmod(0o777)
    with caplog.at_level(logging.WARNING):
        assert ProbeCache(path).find(RECORD, 10.0) is None
    assert f"{path} is ignored: others may write it." in caplog.text


def test_a_cache_of_another_user_is_not_believed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(path, BAD)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert ProbeCache(path).find(RECORD, 10.0) is None


def test_a_fifo_in_the_place_of_the_cache_keeps_nobody_waiting(path: Path) -> None:
    path.parent.mkdir(parents=True, mode=0o700)
    os.mkfifo(path, 0o600)
    assert ProbeCache(path).find(RECORD, 10.0) is None


def test_only_the_user_may_read_what_is_written(path: Path) -> None:
    kept(path, GOOD)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(path.parent) == ["probes.json"]


def test_verdicts_of_two_processes_are_both_kept(path: Path) -> None:
    first, second = ProbeCache(path), ProbeCache(path)
    other = dataclasses.replace(RECORD, path="/opt/acme/Acme_B_backend.so")
    first.keep({RECORD: (GOOD, "sha")}, 10.0)
    second.keep({other: (BAD, "sha")}, 10.0)
    assert ProbeCache(path).find(RECORD, 10.0) is not None
    assert ProbeCache(path).find(other, 10.0) is not None


def test_the_oldest_verdicts_go_when_there_are_too_many(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_cache, "_LARGEST", 3)
    records = [dataclasses.replace(RECORD, path=f"/{number}") for number in range(5)]
    for record in records:
        ProbeCache(path).keep({record: (GOOD, "sha")}, 10.0)
    cache = ProbeCache(path)
    assert [cache.find(record, 10.0) is not None for record in records] == [False] * 2 + [True] * 3


def test_without_a_place_nothing_is_kept(tmp_path: Path) -> None:
    cache = ProbeCache(None)
    cache.keep({RECORD: (GOOD, "sha")}, 10.0)
    assert cache.find(RECORD, 10.0) is None
    (tmp_path / "taken").write_text("")
    blocked = ProbeCache(tmp_path / "taken" / "armnn" / "probes.json")
    blocked.keep({RECORD: (GOOD, "sha")}, 10.0)
    assert blocked.find(RECORD, 10.0) == (GOOD, "sha")  # in this process only


def test_the_place_is_the_cache_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/me")
    assert cache_file() == Path("/var/cache/me/armnn/probes.json")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the standard says to ignore such
    assert cache_file() == Path("/home/me/.cache/armnn/probes.json")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_file() == Path("/home/me/.cache/armnn/probes.json")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache_file() is None
