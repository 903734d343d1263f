# SPDX-License-Identifier: MIT
"""``armnn cache`` shows, bounds and clears a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn_tools.cli.main import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a cache with a model of two shapes.

    Each is the first of a load: others are made from it, and not stored.
    """
    network = armnn.Network("open")
    x = network.add_input("x", armnn.TensorInfo((None, 2)))
    network.add_output("y", network.add_addition(x, np.ones((1, 2), np.float32)))
    armnn.save(network, tmp_path / "open.armnn")
    cache = tmp_path / "cache"
    for size in (3, 4):
        model = armnn.load_model(tmp_path / "open.armnn", backends=["CpuRef"], cache_dir=cache)
        model.run({"x": np.zeros((size, 2), np.float32)})
    return cache


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["cache", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_entries_are_listed_with_model_and_shapes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = result(capsys, str(folder))
    # Those that were used within one tick of the system's clock are in no order.
    contents = sorted(each["content"] for each in found["entries"])
    assert contents == ["open", "open x=(3, 2)", "open x=(4, 2)"]
    sizes = {path.name: path.stat().st_size for path in folder.glob("*.armnn-prepared")}
    assert {each["file"]: each["bytes"] for each in found["entries"]} == sizes
    assert (found["bytes"], found["limit"]) == (sum(sizes.values()), 4 << 30)
    assert main(["cache", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "open x=(4, 2)" in shown
    assert "3 entries, 0.0 MiB of at most 4,096.0 MiB" in shown


def test_a_limit_holds_at_once_and_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, str(folder), "--limit", "1K")
    assert found["limit"] == 1024
    assert found["bytes"] <= 1024
    assert found["removed"]
    assert result(capsys, str(folder))["limit"] == 1024


def test_clearing_leaves_no_entry(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", str(folder), "--clear"]) == 0
    assert "0 entries, 0.0 MiB of at most 4,096.0 MiB\nremoved 3 entries" in capsys.readouterr().out
    assert not list(folder.glob("*.armnn-prepared"))


def test_a_damaged_entry_is_listed_with_its_damage(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = next(folder.glob("*.armnn-prepared"))
    path.write_bytes(path.read_bytes()[:50])
    contents = [each["content"] for each in result(capsys, str(folder))["entries"]]
    assert sum(each.startswith("not usable: ") for each in contents) == 1


def test_a_folder_that_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "missing"]) == 1
    assert "There is no folder 'missing'" in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["much", "1.5G", "5X"])
def test_a_size_that_is_none_is_refused(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["cache", ".", "--limit", limit])
    assert f"'{limit}' is not a size: expected 500M, 20G or bytes" in capsys.readouterr().err
