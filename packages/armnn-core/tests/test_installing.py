# SPDX-License-Identifier: MIT
"""Commands in errors name existing wheels and their place."""

from __future__ import annotations

from importlib.metadata import metadata

import pytest
from packaging.requirements import Requirement

from armnn.installing import BACKENDS, CPU_EXTRA, PARSERS, install_command, reinstall_command

NOTE = (
    "(WHEELHOUSE is the folder of wheels that './nox -s wheelhouse' makes in a checkout of armnn)"
)


@pytest.mark.parametrize(
    ("requirement", "command"),
    [
        ("armnn-backend-ref", "pip install --no-index --find-links WHEELHOUSE armnn-backend-ref"),
        ("armnn-core[cpu]", 'pip install --no-index --find-links WHEELHOUSE "armnn-core[cpu]"'),
        ("armnn-core==1.0.0", "pip install --no-index --find-links WHEELHOUSE armnn-core==1.0.0"),
    ],
)
def test_our_own_are_found_in_the_wheelhouse(requirement: str, command: str) -> None:
    assert install_command(requirement) == f"{command} {NOTE}"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("acme-npu", "pip install --force-reinstall acme-npu"),
        (
            "Armnn_Backend.Ref",
            (
                "pip install --force-reinstall --no-deps --no-index --find-links WHEELHOUSE "
                f"Armnn_Backend.Ref {NOTE}"
            ),
        ),
    ],
)
def test_others_are_installed_again_from_where_they_came(name: str, command: str) -> None:
    assert reinstall_command(name) == command


def test_what_is_advised_is_an_extra_of_the_core() -> None:
    extras = metadata("armnn-core").get_all("Provides-Extra") or []
    assert CPU_EXTRA.removeprefix("armnn-core[").removesuffix("]") in extras
    assert set(PARSERS) <= set(extras)
    required = " ".join(metadata("armnn-core").get_all("Requires-Dist") or [])
    for name in PARSERS.values():
        assert name in required


def test_each_backend_of_the_table_is_an_extra_under_the_name_of_its_distribution() -> None:
    rows = map(Requirement, metadata("armnn-core").get_all("Requires-Dist") or [])
    extras = {
        (row.name, extra): row.name
        for row in rows
        for extra in metadata("armnn-core").get_all("Provides-Extra") or []
        if row.marker is not None and row.marker.evaluate({"extra": extra})
    }
    assert [
        extras.get((name, name.removeprefix("armnn-backend-"))) for name in BACKENDS.values()
    ] == [*BACKENDS.values()]
    named = {
        distribution for distribution, _ in extras if distribution.startswith("armnn-backend-")
    }
    assert named == {*BACKENDS.values()}
