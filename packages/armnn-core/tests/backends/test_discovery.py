# SPDX-License-Identifier: MIT
"""The facts about static backends before their import."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import importlib_metadata
import pytest

from armnn import metadata
from armnn.backends import (
    BACKEND_API_VERSION,
    BackendRegistry,
    BackendState,
    BackendVersion,
    refresh,
)
from armnn.backends.discovery import static_backends
from fakes import backend_plugin, installed, write_plugin

if TYPE_CHECKING:
    from pathlib import Path

NEVER_IMPORTED = "raise AssertionError('imported')\n"


def test_finding_backends_imports_none(tmp_path: Path) -> None:
    with installed(tmp_path, backend_plugin("Acme", source=NEVER_IMPORTED), alone=True):
        (found,) = static_backends(BACKEND_API_VERSION)
        assert "armnn_backend_acme" not in sys.modules
    entry = found.entry
    assert (entry.id, entry.state, entry.origin) == (
        "Acme", BackendState.KNOWN, "armnn_backend_acme:backend",
    )  # fmt: skip
    assert (entry.distribution, entry.version) == ("armnn-backend-acme", "0.3.0")
    assert (entry.declared_range, entry.location) == (">=1.0,<2", str(tmp_path))
    assert entry.is_static


def test_entry_points_are_read_once_per_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[object] = []
    read = importlib_metadata.distributions
    monkeypatch.setattr(
        importlib_metadata, "distributions", lambda **named: reads.append(named) or read(**named)
    )
    with installed(tmp_path, backend_plugin("Acme"), alone=True):
        barrier = threading.Barrier(8)

        def ask() -> None:
            barrier.wait()
            static_backends(BACKEND_API_VERSION)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(reads) == 1


def test_each_call_returns_the_same_objects_until_refresh(tmp_path: Path) -> None:
    with installed(tmp_path, backend_plugin("Acme"), alone=True):
        (first,) = static_backends(BACKEND_API_VERSION)
        assert static_backends(BACKEND_API_VERSION) == (first,)
        refresh()
        assert static_backends(BACKEND_API_VERSION) != (first,)


def test_refresh_keeps_what_is_loaded_and_finds_what_is_new(tmp_path: Path) -> None:
    with installed(tmp_path, backend_plugin("Acme"), alone=True):
        (acme,) = static_backends(BACKEND_API_VERSION)
        owner = BackendRegistry()
        backend = acme.backend(owner)
        write_plugin(tmp_path, backend_plugin("Zeta", distribution="zeta"))
        refresh()
        again, zeta = static_backends(BACKEND_API_VERSION)
        assert again.backend(owner) is backend
        assert zeta.entry.id == "Zeta"


@pytest.mark.parametrize(
    ("requires", "api_version", "state"),
    [
        (["armnn-backend-api>=1.0,<2"], "1.0", BackendState.KNOWN),
        (["armnn-backend-api>=1.0,<2"], "1.7", BackendState.KNOWN),
        (["Armnn_Backend.API >= 1.0"], "1.0", BackendState.KNOWN),
        (["armnn-backend-api~=1.0"], "1.3", BackendState.KNOWN),
        (["armnn-backend-api==1.*"], "1.3", BackendState.KNOWN),
        (["Armnn_Backend.API (>=2)"], "1.3", BackendState.INCOMPATIBLE),
        (["armnn-backend-api-next>=2"], "1.3", BackendState.KNOWN),
        (["armnn-backend-api>=two"], "1.3", BackendState.KNOWN),
        (["armnn-backend-api>=1.0,<2"], "2.0", BackendState.INCOMPATIBLE),
        (["armnn-backend-api>=1.2,<2"], "1.1", BackendState.INCOMPATIBLE),
        (["armnn-backend-api>=2,<3"], "1.9", BackendState.INCOMPATIBLE),
        (["armnn-backend-api>=1", "armnn-backend-api<1.5"], "1.5", BackendState.INCOMPATIBLE),
        (["armnn-backend-api>=2; extra == 'next'"], "1.0", BackendState.KNOWN),
        (["armnn-backend-api>=2; python_version < '3'"], "1.0", BackendState.KNOWN),
        (["numpy>=2"], "1.0", BackendState.KNOWN),
        ([], "1.0", BackendState.KNOWN),
        (["=== nonsense ==="], "1.0", BackendState.KNOWN),
    ],
)
def test_the_declared_range_decides_before_the_import(
    tmp_path: Path, requires: list[str], api_version: str, state: BackendState
) -> None:
    acme = backend_plugin("Acme", requires=requires, source=NEVER_IMPORTED)
    with installed(tmp_path, acme, alone=True):
        (found,) = static_backends(BackendVersion.parse(api_version))
    assert found.entry.state is state


def test_a_backend_for_a_newer_api_asks_for_a_newer_core(tmp_path: Path) -> None:
    acme = backend_plugin("Acme", requires=["armnn-backend-api>=2.0,<3"])
    with installed(tmp_path, acme, alone=True):
        (found,) = static_backends(BackendVersion(1, 0))
    assert found.entry.message == (
        "Backend 'Acme' (armnn-backend-acme 0.3.0) needs Backend API >=2.0,<3, this core provides "
        "1.0; upgrade armnn-core or install an older armnn-backend-acme."
    )


def test_a_backend_for_an_older_api_asks_for_a_newer_backend(tmp_path: Path) -> None:
    with installed(tmp_path, backend_plugin("Acme"), alone=True):
        (found,) = static_backends(BackendVersion(2, 1))
    assert found.entry.message == (
        "Backend 'Acme' (armnn-backend-acme 0.3.0) needs Backend API >=1.0,<2, this core provides "
        "2.1; install a newer armnn-backend-acme or an older armnn-core."
    )


@pytest.mark.parametrize("name", ["Acme-Npu", "Acme Npu", "Acmé", "Acme.Npu", "A_1"])
def test_an_id_is_letters_and_digits(tmp_path: Path, name: str) -> None:
    with installed(tmp_path, backend_plugin(name), alone=True):
        (found,) = static_backends(BACKEND_API_VERSION)
    assert found.entry.state is BackendState.FAILED
    assert "has no valid id: expected letters and digits" in found.entry.message


def test_the_word_for_no_backend_is_no_id(tmp_path: Path) -> None:
    """Files that call themselves so are refused, too."""
    with installed(tmp_path, backend_plugin("Unknown"), alone=True):
        (found,) = static_backends(BACKEND_API_VERSION)
    assert found.entry.state is BackendState.FAILED
    assert "has no valid id: expected another id, as 'Unknown' names no b" in found.entry.message


def test_stale_metadata_is_told_with_its_folder(tmp_path: Path) -> None:
    with installed(tmp_path, backend_plugin("Acme"), alone=True):
        (tmp_path / "armnn_backend_acme.py").unlink()
        (found,) = static_backends(BACKEND_API_VERSION)
    assert found.entry.state is BackendState.FAILED
    assert found.entry.message == (
        "Backend 'Acme' (armnn-backend-acme 0.3.0) is not there: its module 'armnn_backend_acme' "
        f"does not exist, so the metadata in {tmp_path} is stale; run pip install "
        "--force-reinstall armnn-backend-acme, or remove that metadata."
    )


def test_backends_come_in_the_order_of_distribution_names(tmp_path: Path) -> None:
    plugins = [
        backend_plugin(backend_id, distribution=name)
        for backend_id, name in [("C", "Zeta"), ("B", "beta"), ("A", "Alpha_x")]
    ]
    with installed(tmp_path, *plugins, alone=True):
        ids = [found.entry.id for found in static_backends(BACKEND_API_VERSION)]
    assert ids == ["A", "B", "C"]


def test_nothing_installed_gives_no_backends(tmp_path: Path) -> None:
    with installed(tmp_path, alone=True):
        assert static_backends(BACKEND_API_VERSION) == ()
        assert metadata.scan().entries == ()
