# SPDX-License-Identifier: MIT
"""``armnn backends``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from armnn.cli.main import main
from armnn_backend_api import BACKEND_API_VERSION
from fakes import backend_plugin, installed

if TYPE_CHECKING:
    import pytest

API = str(BACKEND_API_VERSION)
PLUGINS = (
    backend_plugin("Acme", distribution="a-good"),
    backend_plugin("Broken", distribution="b-broken", source="import no_such_module\n"),
    backend_plugin("Acme", distribution="c-shadowed"),
    backend_plugin("Newer", distribution="d-newer", requires=["armnn-backend-api>=9"]),
)


def test_without_backends_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, alone=True):
        assert main(["backends"]) == 0
        assert capsys.readouterr().out.startswith(
            "No backend is installed. The usual ones: pip install --no-index --find-links "
        )
        assert main(["backends", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == []


CAPABLE = """from fakes import NullBackend
class backend(NullBackend):
    id = "Able"
    capabilities = {"AcmeTiles": 4, "HasFp16": True, "NonConstWeights": False}
"""


def test_capabilities_are_shown_when_they_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    able = backend_plugin("Able", distribution="able", source=CAPABLE)
    with installed(tmp_path, able, *PLUGINS, alone=True):
        assert main(["backends", "-v", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert main(["backends", "--verbose"]) == 0
        table = capsys.readouterr().out
    assert [(row["id"], row["state"], row.get("capabilities")) for row in rows] == [
        ("Acme", "loaded", {}),
        ("Able", "loaded", {"AcmeTiles": 4, "HasFp16": True, "NonConstWeights": False}),
        ("Broken", "failed", None),
        ("Acme", "shadowed", None),
        ("Newer", "incompatible", None),
    ]
    lines = [line.split() for line in table[table.index("Capabilities") :].splitlines()]
    assert ["capability", "Acme", "Able"] in lines
    assert [line for line in lines if len(line) == 2] == [
        ["NonConstWeights", "no"],
        ["HasFp16", "yes"],
        ["AcmeTiles", "4"],
    ]


def test_a_backend_whose_capabilities_fail_is_shown_as_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = CAPABLE.replace(
        "capabilities = {", "capabilities = property(lambda _: 1 / 0)\n    x = {"
    )
    with installed(tmp_path, backend_plugin("Able", source=broken), alone=True):
        assert main(["backends", "-v", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["state"] == "failed"
    assert "ZeroDivisionError" in row["reason"]
    assert "capabilities" not in row


def test_the_list_has_every_state_and_imports_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, *PLUGINS, alone=True):
        assert main(["backends", "--json"]) == 0
        assert not {"a_good", "b_broken"} & sys.modules.keys()
    rows = json.loads(capsys.readouterr().out)
    assert [(row["id"], row["state"]) for row in rows] == [
        ("Acme", "known"),
        ("Broken", "known"),
        ("Acme", "shadowed"),
        ("Newer", "incompatible"),
    ]
    assert rows[0] == {
        "id": "Acme",
        "state": "known",
        "distribution": "a-good",
        "version": "0.3.0",
        "api_version": None,
        "declared_range": ">=1.0,<2",
        "origin": "a_good:backend",
        "location": str(tmp_path),
        "source": None,
        "stage": None,
        "reason": None,
        "remedy": None,
        "shadowed_by": None,
        "import_seconds": None,
        "isolation": None,
    }
    assert rows[2]["shadowed_by"] == "a_good:backend"
    assert rows[3]["reason"] == f"needs Backend API >=9, this core provides {API}"


def test_load_tries_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with installed(tmp_path, *PLUGINS, alone=True):
        assert main(["backends", "--load", "--json"]) == 0
    good, broken, shadowed, newer = json.loads(capsys.readouterr().out)
    assert (good["state"], good["api_version"]) == ("loaded", API)
    assert good["import_seconds"] > 0
    assert broken["state"] == "failed"
    assert "ModuleNotFoundError: No module named 'no_such_module'" in broken["reason"]
    assert [shadowed["state"], newer["state"]] == ["shadowed", "incompatible"]


def test_the_table_shows_id_state_owner_versions_origin_and_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, *PLUGINS, alone=True):
        assert main(["backends", "--load"]) == 0
    heading, _, *rows = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert heading.split() == (
        ["id", "state", "distribution", "version", "API", "version", "origin", "reason"]
    )
    assert rows[0].split() == ["Acme", "loaded", "a-good", "0.3.0", API, "a_good:backend"]
    assert rows[3].split()[:5] == ["Newer", "incompatible", "d-newer", "0.3.0", ">=9"]
    assert f"needs Backend API >=9, this core provides {API}" in rows[3]


def test_a_path_without_the_loader_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, alone=True):
        assert main(["backends", "--dynamic-backends-path", "/opt/acme"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("armnn: error: Dynamic backends cannot be loaded (dynamic_")
    assert captured.err.count("\n") == 1
