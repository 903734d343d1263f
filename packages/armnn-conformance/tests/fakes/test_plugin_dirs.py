# SPDX-License-Identifier: MIT
"""Fake plug-ins look installed by pip, and leave nothing."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

from armnn import _metadata
from armnn.backends import BACKEND_API_VERSION, BackendRegistry, BackendVersion
from armnn_conformance import NullBackend, Plugin, backend_plugin, installed, write_plugin

PLUGIN = Plugin(
    "Acme-Tools",
    "1.5",
    ("numpy>=2", "armnn-backend-api>=1.0,<2"),
    {"armnn.parsers": {"acme": "acme_tools.inner.parser:parse"}, "other": {"a": "b:c"}},
    {"acme_tools.inner.parser": "def parse(path): return path\n", "acme_tools.extra": ""},
)


def test_the_standard_library_reads_what_is_written(tmp_path: Path) -> None:
    write_plugin(tmp_path, PLUGIN)
    (distribution,) = importlib.metadata.distributions(path=[str(tmp_path)])
    assert distribution.name == "Acme-Tools"
    assert distribution.version == "1.5"
    assert distribution.requires == ["numpy>=2", "armnn-backend-api>=1.0,<2"]
    entries = [(e.group, e.name, e.value) for e in distribution.entry_points]
    assert entries == [
        ("armnn.parsers", "acme", "acme_tools.inner.parser:parse"),
        ("other", "a", "b:c"),
    ]
    files = sorted(str(file) for file in distribution.files or ())
    assert files == sorted(
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    )


def test_modules_are_importable_inside_and_gone_outside(tmp_path: Path) -> None:
    with installed(tmp_path, PLUGIN) as folder:
        assert folder == tmp_path
        (entry,) = [e for e in _metadata.entry_points("armnn.parsers") if e.name == "acme"]
        assert entry.load()(7) == 7
        assert "acme_tools.inner.parser" in sys.modules
    assert not [name for name in sys.modules if name.startswith("acme_tools")]
    assert str(tmp_path) not in sys.path
    assert all(entry.name != "acme" for entry in _metadata.entry_points("armnn.parsers"))


def test_everything_is_undone_when_the_test_fails(tmp_path: Path) -> None:
    before = list(sys.path)
    with pytest.raises(ZeroDivisionError), installed(tmp_path, PLUGIN, alone=True):
        raise ZeroDivisionError
    assert sys.path == before
    assert _metadata.version_of("armnn-backend-api") is not None
    assert len(_metadata.scan().locations) >= 1
    assert (str(tmp_path), 1) not in _metadata.scan().locations


def test_alone_hides_what_else_is_installed(tmp_path: Path) -> None:
    with installed(tmp_path, PLUGIN, alone=True):
        assert _metadata.scan().locations == ((str(tmp_path), 1),)


def test_the_usual_backend_plugin_is_a_null_backend_of_that_id(tmp_path: Path) -> None:
    with installed(tmp_path, backend_plugin("AcmeNpu"), alone=True):
        backend = BackendRegistry().get("AcmeNpu")
    assert isinstance(backend, NullBackend)
    assert (backend.id, backend.api_version) == ("AcmeNpu", BACKEND_API_VERSION)


def test_a_backend_plugin_declares_what_it_is_told(tmp_path: Path) -> None:
    acme = backend_plugin(
        "A", module="pkg.deep", api_version=BackendVersion(1, 3), requires=(), version="7"
    )
    with installed(tmp_path, acme, alone=True):
        registry = BackendRegistry(api_version=BackendVersion(1, 4))
        assert registry.get("A").api_version == BackendVersion(1, 3)
        (entry,) = registry.entries()
    assert (entry.origin, entry.version, entry.declared_range) == ("pkg.deep:backend", "7", "")
