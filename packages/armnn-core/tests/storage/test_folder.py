# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from armnn.storage.folder import CacheFolder

if TYPE_CHECKING:
    import pytest


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
    assert "a compiled program cannot be read" in caplog.text
    cache.write({}, [[b"1"]], "key")  # a file cannot replace a folder
    assert "a compiled program cannot be stored" in caplog.text
    assert [p.name for p in cache.folder.iterdir()] == [path.name]
    caplog.clear()
    os.rename(cache.folder, tmp_path / "gone")
    cache.write({}, [[b"1"]], "key")
    assert "a compiled program cannot be stored" in caplog.text
