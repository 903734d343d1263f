# SPDX-License-Identifier: MIT
"""Verdicts and their files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from armnn.errors import PlacementError
from armnn.runtime.verdicts import (
    Trial,
    Verdict,
    found_verdict,
    read_verdicts,
    user_verdicts,
    write_verdict,
)

FAST = Trial(("A", "B"), {"A": {"NumberOfThreads": 1}}, 1500.4, 0.25, 20.0, {"A": 3, "B": 1})
CRASHED = Trial(("C",), fault="its process ended with SIGSEGV")
VERDICT = Verdict(
    ("file 3 aa", "network bb"),
    "a machine",
    {"A": "a 1", "B": "b 2"},
    "2026-11-22",
    (FAST, CRASHED),
)


def test_a_verdict_reads_as_a_sentence() -> None:
    assert str(VERDICT) == (
        "chosen by measurement on 2026-11-22: A,B A.NumberOfThreads=1: 1,500 us, 20 us of it at "
        "borders (others: C: its process ended with SIGSEGV)"
    )


def test_costs_of_parts_in_older_files_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.json"
    parts = [{"name": "conv", "layers": 3, "costs": []}]
    path.write_bytes(_changed((*TRIAL, "parts"), parts))
    assert read_verdicts(path) == (VERDICT,)


def test_a_choice_for_single_layers_holds_no_more_and_goes_when_the_file_is_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "verdicts.json"
    path.write_bytes(_changed((*TRIAL, "layer_backends"), {"conv": "B"}))
    (old,) = read_verdicts(path)
    assert old.change_since(VERDICT.builds).endswith("run armnn tune again")
    other = replace(VERDICT, machine="another")
    write_verdict(path, other)
    assert read_verdicts(path) == (other,)


def test_a_file_keeps_the_verdicts_of_other_models_and_machines(tmp_path: Path) -> None:
    path = tmp_path / "new" / "verdicts.json"
    others = [replace(VERDICT, machine="another"), replace(VERDICT, models=("file 4 cc",))]
    for each in (VERDICT, *others):
        write_verdict(path, each)
    assert read_verdicts(path) == (VERDICT, *others)
    younger = replace(VERDICT, models=("network bb",), day="2026-12-01")
    write_verdict(path, younger)
    assert read_verdicts(path) == (*others, younger)


def test_a_verdict_is_found_by_model_and_machine() -> None:
    assert found_verdict([VERDICT], ["network bb"], "a machine") is VERDICT
    assert found_verdict([VERDICT], ["network bb"], "another") is None
    assert found_verdict([VERDICT], ["network cc"], "a machine") is None


@pytest.mark.parametrize(
    ("builds", "change"),
    [
        ({"A": "a 1", "B": "b 2", "C": "c 3"}, ""),
        ({"A": "a 1", "B": "b 3"}, "it measured b 2, but b 3 is installed"),
        ({"A": "a 1"}, "it chooses B, which is not installed"),
    ],
)
def test_a_verdict_holds_for_the_builds_that_it_chooses(
    builds: dict[str, str], change: str
) -> None:
    assert VERDICT.change_since(builds) == change


def _changed(path: tuple[str | int, ...], value: Any) -> bytes:
    document = json.loads(json.dumps({"format": 1, "verdicts": [VERDICT.as_dict()]}))
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(document).encode()


TRIAL = ("verdicts", 0, "trials", 0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        _changed(("format",), 2),
        _changed(("verdicts",), {}),
        _changed(("verdicts",), [3]),
        _changed(("verdicts", 0, "trials"), []),
        _changed(("verdicts", 0, "machine"), "\x1b[2J"),
        _changed(("verdicts", 0, "builds"), {"A": 1}),
        _changed((*TRIAL, "fault"), "the chosen one has a fault"),
        _changed((*TRIAL, "backends"), []),
        _changed((*TRIAL, "backends"), ["A", 1]),
        _changed((*TRIAL, "microseconds"), float("nan")),
        _changed((*TRIAL, "microseconds"), True),
        _changed((*TRIAL, "load_seconds"), -1),
        _changed((*TRIAL, "options"), {"A": {"x": [1]}}),
        _changed((*TRIAL, "layers"), {"A": "many"}),
    ],
)
def test_another_file_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "verdicts.json"
    path.write_bytes(content)
    with pytest.raises(PlacementError, match=r"is not a file of verdicts .* armnn tune MODEL -o"):
        read_verdicts(path)
    with pytest.raises(PlacementError, match="is not a file of verdicts"):
        write_verdict(path, VERDICT)
    assert path.read_bytes() == content


def test_a_huge_or_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.json"
    with pytest.raises(PlacementError, match=r"verdicts.json' cannot be read: .*No such file"):
        read_verdicts(path)
    with path.open("wb") as file:
        file.truncate(1 << 23)
    with pytest.raises(PlacementError, match="more than 4194304 bytes"):
        read_verdicts(path)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlacementError, match="cannot be written"):
        write_verdict(tmp_path / "file" / "verdicts.json", VERDICT)


def test_the_users_file_is_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_verdicts() == tmp_path / "armnn" / "verdicts.json"
    monkeypatch.setattr("os.geteuid", lambda: -1)
    assert user_verdicts() is None
