# SPDX-License-Identifier: MIT
"""Which released core takes a backend that this one refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from armnn._installing import install_command
from armnn.backends import BACKEND_API_VERSION, BackendEntry, BackendState, BackendVersion
from armnn.cli.compatibility import advice, matrix
from armnn.cli.main import main
from fakes import backend_plugin, installed

RECORDED = {
    "cores": [
        {"version": version, "api": api}
        for version, api in [("1.0.0", "1.0"), ("1.1.0", "1.1"), ("1.1.2", "1.1"), ("2.0.0", "2.0")]
    ]
}


def entry(needed: str = "", declared: str = "") -> BackendEntry:
    return BackendEntry(
        "Acme",
        BackendState.INCOMPATIBLE,
        "acme:Backend",
        distribution="armnn-acme",
        version="7",
        declared_range=declared,
        api_version=BackendVersion.parse(needed) if needed else None,
    )


@pytest.mark.parametrize(
    ("found", "core"),
    [
        (entry("1.0"), "1.1.2"),
        (entry("1.1"), "1.1.2"),
        (entry("2.0"), "2.0.0"),
        (entry(declared=">=1.0,<2"), "1.1.2"),
        (entry(declared=">=1.0,<1.1"), "1.0.0"),
        (entry(declared=">=1.0"), "2.0.0"),
        (entry("1.0", declared=">=1.0"), "1.1.2"),  # what the code says counts
    ],
)
def test_the_newest_core_that_takes_it_is_named(found: BackendEntry, core: str) -> None:
    assert advice(found, RECORDED) == (
        f"armnn-core {core} is the newest recorded release that takes backend 'Acme' "
        f"(armnn-acme 7): {install_command(f'armnn-core=={core}')}."
    )


@pytest.mark.parametrize("found", [entry("1.2"), entry("3.0"), entry(declared=">=2.1,<3")])
def test_a_backend_that_no_release_takes_is_told_so(found: BackendEntry) -> None:
    assert advice(found, RECORDED) == (
        "No release of armnn-core up to 2.0.0 takes backend 'Acme' (armnn-acme 7), as far as this "
        "core knows."
    )


def test_the_record_has_the_releases_in_order_and_tested_pairs() -> None:
    recorded = matrix()
    cores = {row["version"]: row["api"] for row in recorded["cores"]}
    assert (cores["1.0.0"], cores["1.1.0"]) == ("1.0", "1.1")
    assert {row["outcome"] for row in recorded["cells"]} == {"runs", "refused"}


def test_the_doctor_gives_the_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    older = backend_plugin("Older", distribution="armnn-older", requires=["armnn-backend-api<1.1"])
    newer = backend_plugin("Newer", distribution="armnn-newer", requires=["armnn-backend-api>=9"])
    with installed(tmp_path, older, newer, alone=True):
        main(["doctor", "--json"])
    findings: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    texts = [finding["text"] for finding in findings if not finding["is_problem"]]
    assert BackendVersion(1, 1) <= BACKEND_API_VERSION
    assert any("WHEELHOUSE armnn-core==1.0.0 (" in text for text in texts)
    assert any(text.startswith("No release of armnn-core up to") for text in texts)
