# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
import threading

import pytest

from armnn.backends.capi import library
from armnn.backends.capi.library import count_workers, run_ranges


@pytest.mark.parametrize(
    ("count", "grain"), [(0, 1), (1, 1), (7, 1), (7, 3), (7, 100), (1000, 0), (3, 1)]
)
def test_the_ranges_cover_all_indices_once(
    monkeypatch: pytest.MonkeyPatch, count: int, grain: int
) -> None:
    monkeypatch.setattr(library, "count_workers", lambda: 3)
    seen: list[int] = []
    sizes: list[int] = []

    def body(_arg: int | None, begin: int, end: int) -> None:
        sizes.append(end - begin)
        seen.extend(range(begin, end))

    run_ranges(None, count, grain, body, None)
    assert sorted(seen) == list(range(count))
    assert len(sizes) <= 3
    assert all(size >= min(grain, count) for size in sorted(sizes)[1:])


def test_a_body_that_starts_another_loop_runs_it_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library, "count_workers", lambda: 2)
    threads: list[tuple[int, int]] = []

    def inner(outer: int | None, begin: int, end: int) -> None:
        assert outer is not None
        threads.append((outer, threading.get_ident()))

    def body(_arg: int | None, begin: int, end: int) -> None:
        run_ranges(None, 4, 1, inner, threading.get_ident())

    run_ranges(None, 2, 1, body, None)
    assert len(threads) >= 2


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("", {}),
        ('{"b": "x\x1b[2J"}', {"args": '{"b": "x\\x1b[2J"}'}),
        ('{"a": "x\\u001b[2J", "name": "no"}', {"a": "x\\x1b[2J"}),
        ('{"a": [[1]]}', {"a": "[[1]]"}),
        ('{"a": NaN, "b": -1e999, "c": null}', {"a": "nan", "b": "-inf", "c": "null"}),
        ("[1]", {"args": "[1]"}),
        ("no JSON\n", {"args": "no JSON\\n"}),
        ("[" * 100_000, {"args": "[" * 100_000}),
        ('{"a": ' * 100_000, {"args": '{"a": ' * 100_000}),
        ('{"a": ' + "9" * 5000 + "}", {"args": '{"a": ' + "9" * 5000 + "}"}),
    ],
)  # fmt: skip
def test_details_of_events_are_flat_and_escaped(text: str, details: dict[str, object]) -> None:
    assert library._details_of(text) == details


def test_details_nested_as_deep_as_json_allows_are_one_text() -> None:
    depth = sys.getrecursionlimit() // 2
    text = "[" * depth + "]" * depth
    assert library._details_of(f'{{"a": {text}}}') in ({"a": text}, {"args": f'{{"a": {text}}}'})


def test_there_is_at_least_one_worker_and_not_too_many() -> None:
    assert 1 <= count_workers() <= library.WORKERS_LIMIT
