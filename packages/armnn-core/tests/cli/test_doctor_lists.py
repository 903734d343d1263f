# SPDX-License-Identifier: MIT
"""``armnn doctor --backends`` with backends that may be missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from armnn.cli.main import main
from fakes import backend_plugin, installed

if TYPE_CHECKING:
    import pytest

GOOD = backend_plugin("Acme", distribution="a-good")
BROKEN = backend_plugin("Broken", distribution="b-broken", source="raise SystemExit(4)\n")


def test_what_a_list_skips_is_told_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, GOOD, BROKEN, alone=True):
        assert main(["doctor", "--json", "--backends", "GpuAcc?,Broken?,Acme?"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert main(["doctor", "--backends", "GpuAcc?,Acme"]) == 0
        table = capsys.readouterr().out
        assert main(["doctor", "--backends", "GpuAcc?,Broken"]) == 1
    assert document["unusable"] == []
    assert [each["id"] for each in document["skipped"]] == ["GpuAcc", "Broken"]
    assert "There is no backend 'GpuAcc'" in document["skipped"][0]["reason"]
    assert "SystemExit: 4" in document["skipped"][1]["reason"]
    assert "Skipped backends of the list" in table
