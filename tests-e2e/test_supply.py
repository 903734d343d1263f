# SPDX-License-Identifier: MIT
"""Reproducible builds, and the tests that the page on security names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tools.release import reproduce

if TYPE_CHECKING:
    import pytest


def test_two_builds_are_the_same(tmp_path: Path) -> None:
    first = reproduce.built("armnn-backend-custom", tmp_path / "one")
    assert first == reproduce.built("armnn-backend-custom", tmp_path / "other" / "deeper")


def test_a_difference_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    digests = iter([{"a.whl": "1", "b.whl": "2"}, {"a.whl": "1", "b.whl": "3"}])
    monkeypatch.setattr(reproduce, "built", lambda *_: next(digests))
    assert reproduce.main(["armnn-core"]) == 1
    assert capsys.readouterr().out.splitlines() == ["same  1  a.whl", "DIFFERS  2  b.whl"]
