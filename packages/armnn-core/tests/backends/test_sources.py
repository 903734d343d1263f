# SPDX-License-Identifier: MIT
"""Backend sources: their import, records and owners."""

from __future__ import annotations

import gc
import logging
import re
import sys
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from armnn.backends import (
    BACKEND_API_VERSION,
    BackendRegistry,
    BackendState,
    BackendVersion,
    CreationOptions,
    refresh,
)
from armnn.backends.selection import asked_by
from armnn.backends.sources import SearchedFolder, declared_folders, find_source
from armnn.errors import (
    BackendUnavailableError,
    IncompatibleBackendError,
    InvalidArgumentError,
    UnknownBackendError,
)
from fakes import Plugin, backend_plugin, installed

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "ARMNN_DYNAMIC_BACKENDS_PATH"
PATH = CreationOptions(dynamic_backends_path="/opt/acme")

SOURCE = """\
from armnn.backends import BackendSource, BackendVersion, SourceRecord
from fakes import NullBackend

class Source(BackendSource):
    def scan(self, options):
        return [
            SourceRecord("Static", "/opt/acme/Static_backend.so"),
            SourceRecord("Good", "/opt/acme/Good.so", api_version=BackendVersion(1, 0)),
            SourceRecord("Good", "/opt/acme/Later.so"),
            SourceRecord("Newer", "/opt/acme/Newer.so", api_version=BackendVersion(1, 7)),
            SourceRecord("Bad-Id", "/opt/acme/Bad.so"),
            SourceRecord("Text", "/opt/acme/Text.so", stage="ELF", reason="is not a library",
                         remedy="build it again"),
            SourceRecord("Broken", "/opt/acme/Broken.so", distribution="acme", version="2"),
        ]

    def load(self, record, runtime):
        if record.id == "Broken":
            raise OSError("undefined symbol: x")
        backend = NullBackend(record.id)
        backend.owner = runtime
        return backend

    def lint(self, path):
        return [f"{path} is bad"]
"""

BROKEN_SCAN = SOURCE.replace("return [\n", "raise OSError('full')\n        [\n")


def loader(
    source: str = SOURCE, name: str = "dynamic", value: str = "fake_loader:Source"
) -> Plugin:
    entry_points = {"armnn.backend_sources": {name: value}}
    return Plugin("armnn-dynamic-loader", "0.1", (), entry_points, {"fake_loader": source})


STATIC = backend_plugin("Static")


@pytest.fixture(autouse=True)
def without_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_records_become_entries_after_the_static_ones(tmp_path: Path) -> None:
    with installed(tmp_path, STATIC, loader(), alone=True):
        entries = BackendRegistry(PATH).entries()
    assert [(entry.id, entry.state.value) for entry in entries] == [
        ("Static", "known"),
        ("Static", "shadowed"),
        ("Good", "known"),
        ("Good", "shadowed"),
        ("Newer", "incompatible"),
        ("Bad-Id", "failed"),
        ("Text", "failed"),
        ("Broken", "known"),
    ]
    assert [entry.source for entry in entries] == ["", *["dynamic"] * 7]
    assert entries[1].shadowed_by == "armnn_backend_acme:backend"
    assert entries[3].shadowed_by == "/opt/acme/Good.so"
    assert [entry.stage for entry in entries[4:7]] == ["version", "id", "ELF"]
    assert entries[6].message == (
        "Backend 'Text' (/opt/acme/Text.so) is not a library; build it again."
    )
    assert "fake_loader" not in sys.modules


def test_what_a_source_loads_is_checked_like_any_backend(tmp_path: Path) -> None:
    with installed(tmp_path, loader(), alone=True):
        registry = BackendRegistry(PATH)
        assert registry.get("Good").id == "Good"
        with pytest.raises(
            BackendUnavailableError,
            match=r"^Backend 'Broken' \(acme 2\) cannot be opened: OSError: undefined symbol: x;",
        ) as caught:
            registry.get("Broken")
        assert isinstance(caught.value.__cause__, OSError)
        with pytest.raises(
            IncompatibleBackendError,
            match=r"^Backend 'Newer' \(/opt/acme/Newer.so\) needs Backend API 1.7, this core "
            rf"provides {BACKEND_API_VERSION}; upgrade armnn-core or install an older build of the "
            r"backend\.$",
        ):
            registry.get("Newer")
        with pytest.raises(BackendUnavailableError, match=r"'Text' .* is not a library; build it"):
            registry.get("Text")
        states = {entry.origin: entry.state for entry in registry.entries()}
    assert states["/opt/acme/Good.so"] is BackendState.LOADED
    assert states["/opt/acme/Broken.so"] is BackendState.FAILED


def test_skipped_files_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with installed(tmp_path, loader(), alone=True), caplog.at_level(logging.WARNING):
        registry = BackendRegistry(PATH)
        registry.entries()
        registry.entries()
    logged = [record.getMessage().split("'")[1] for record in caplog.records]
    assert logged == ["Newer", "Bad-Id", "Text"]


def test_two_registries_have_backends_of_their_own(tmp_path: Path) -> None:
    with installed(tmp_path, STATIC, loader(), alone=True):
        first, second = BackendRegistry(PATH), BackendRegistry(PATH)
        one, two = first.get("Good"), second.get("Good")
        assert one is not two
        assert one is first.get("Good")
        assert vars(one)["owner"] is first
        assert vars(two)["owner"] is second
        first.close()
        assert second.get("Good") is two
        assert first.get("Static") is not second.get("Static")


def test_close_drops_the_dynamic_backends(tmp_path: Path) -> None:
    with installed(tmp_path, STATIC, loader(), alone=True):
        registry = BackendRegistry(PATH)
        dropped = weakref.ref(registry.get("Good"))
        registry.close()
        del registry
        gc.collect()
        assert dropped() is None
        closed = BackendRegistry(PATH)
        closed.close()
        assert [entry.id for entry in closed.entries()] == ["Static"]
        with pytest.raises(UnknownBackendError):
            closed.get("Good")


def test_unasked_only_static_backends_are_used(tmp_path: Path) -> None:
    with installed(tmp_path, STATIC, loader(), alone=True):
        registry = BackendRegistry(PATH)
        assert [backend.id for backend in registry.find_usable()] == ["Static"]
        assert [backend.id for backend in registry.find_usable(["Good"])] == ["Good"]


def test_a_dynamic_backend_takes_the_place_of_a_blocked_static_one(tmp_path: Path) -> None:
    options = CreationOptions(dynamic_backends_path="/opt/acme", enable_static_backends=False)
    with installed(tmp_path, STATIC, loader(), alone=True):
        registry = BackendRegistry(options)
        assert vars(registry.get("Static"))["owner"] is registry


def test_a_blocked_dynamic_backend_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", "-Broken")
    with (
        installed(tmp_path, loader(), alone=True),
        pytest.raises(BackendUnavailableError, match="is blocked by the environment"),
    ):
        BackendRegistry(PATH).get("Broken")


def imports_the_source(tmp_path: Path, options: CreationOptions, *more: Plugin) -> bool:
    with installed(tmp_path, loader(), *more, alone=True):
        BackendRegistry(options).entries()
        return "fake_loader" in sys.modules


def test_a_source_is_not_imported_without_need(tmp_path: Path) -> None:
    assert not imports_the_source(tmp_path, CreationOptions())


def test_a_path_in_the_options_imports_the_source(tmp_path: Path) -> None:
    assert imports_the_source(tmp_path, PATH)


def test_a_path_in_the_environment_imports_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "/opt/acme")
    assert asked_by(CreationOptions()) == f"{VARIABLE}='/opt/acme'"
    assert imports_the_source(tmp_path, CreationOptions())


def test_an_empty_variable_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert not imports_the_source(tmp_path, CreationOptions())


def test_a_variable_that_does_not_count_imports_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "/opt/acme")
    monkeypatch.setattr("armnn.backends.selection.is_environment_honoured", lambda: False)
    assert not imports_the_source(tmp_path, CreationOptions())


def test_a_distribution_with_a_folder_of_backends_imports_the_source(tmp_path: Path) -> None:
    folder = Plugin("acme", "1", (), {"armnn.backend_paths": {"acme": "acme_backends"}})
    assert imports_the_source(tmp_path, CreationOptions(), folder)


def test_dynamic_backends_can_be_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "/opt/acme")
    options = CreationOptions(dynamic_backends_path="/opt/acme", enable_dynamic_backends=False)
    assert not imports_the_source(tmp_path, options)


def test_a_path_without_the_loader_names_the_distribution_to_install(tmp_path: Path) -> None:
    other = loader(name="other")
    for plugins in ([], [other]):
        with (
            installed(tmp_path, *plugins, alone=True),
            pytest.raises(
                BackendUnavailableError,
                match=r"^Dynamic backends cannot be loaded \(dynamic_backends_path='/opt/acme'\), "
                r"as the distribution 'armnn-dynamic-loader' is not installed: pip install "
                r"--no-index --find-links WHEELHOUSE armnn-dynamic-loader \(WHEELHOUSE is .*\)\.$",
            ),
        ):
            BackendRegistry(PATH)


def test_a_variable_without_the_loader_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, "/opt/acme")
    with installed(tmp_path, STATIC, alone=True), caplog.at_level(logging.WARNING):
        assert [entry.id for entry in BackendRegistry().entries()] == ["Static"]
    (record,) = caplog.records
    assert "WHEELHOUSE armnn-dynamic-loader" in record.getMessage()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0\n", r"cannot be imported: ZeroDivisionError: .*; reinstall"),
        ("import sys; sys.exit()\n", r"cannot be imported: SystemExit;"),
        ("Source = 5\n", r"is not a source: got int from fake_loader:Source"),
        ("class Source: pass\n", r"is not a source: got Source from"),
        (BROKEN_SCAN, r"'dynamic' cannot look for backends: OSError: full"),
    ],
)
def test_a_broken_source_raises_if_a_path_was_given_and_is_a_warning_otherwise(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    source: str,
    message: str,
) -> None:
    with installed(tmp_path, STATIC, loader(source), alone=True):
        with pytest.raises(BackendUnavailableError, match=message):
            BackendRegistry(PATH)
        monkeypatch.setenv(VARIABLE, "/opt/acme")
        with caplog.at_level(logging.WARNING):
            assert BackendRegistry().get("Static").id == "Static"
    (record,) = caplog.records
    assert re.search(message, record.getMessage())


def test_a_source_is_found_for_a_lint(tmp_path: Path) -> None:
    instance = loader(f"{SOURCE}\nsource = Source()\n", value="fake_loader:source")
    with installed(tmp_path, instance, alone=True):
        assert find_source().lint("x.so") == ["x.so is bad"]


def test_a_lint_without_the_loader_names_it(tmp_path: Path) -> None:
    with (
        installed(tmp_path, alone=True),
        pytest.raises(BackendUnavailableError, match="WHEELHOUSE armnn-dynamic-loader"),
    ):
        find_source()


def test_a_future_core_takes_what_this_one_refuses(tmp_path: Path) -> None:
    with installed(tmp_path, loader(), alone=True):
        registry = BackendRegistry(PATH, api_version=BackendVersion(1, 7))
        assert {e.id: e.state for e in registry.entries()}["Newer"] is BackendState.KNOWN


def test_the_options_of_the_probe_are_checked_before_the_source_is_asked(tmp_path: Path) -> None:
    with installed(tmp_path, loader(), alone=True):
        with pytest.raises(
            InvalidArgumentError,
            match=r"^the probe is 'never': expected one of 'on', 'again', 'twice', 'off'$",
        ):
            BackendRegistry(replace(PATH, probe="never"))
        with pytest.raises(
            InvalidArgumentError,
            match=r"^the probe_timeout is -1: expected seconds above 0 and at most 3600$",
        ):
            BackendRegistry(replace(PATH, probe_timeout=-1))
    assert "fake_loader" not in sys.modules


def test_strangers_and_links_are_turned_down_without_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = SOURCE.replace('stage="ELF"', 'stage="name"')
    with installed(tmp_path, loader(source), alone=True), caplog.at_level(logging.WARNING):
        BackendRegistry(PATH)
    logged = [record.getMessage().split("'")[1] for record in caplog.records]
    assert logged == ["Newer", "Bad-Id"]


def test_a_file_without_an_id_is_told_by_its_path_and_hinted_at(tmp_path: Path) -> None:
    source = SOURCE.replace('SourceRecord("Text"', 'SourceRecord(""')
    with installed(tmp_path, loader(source), alone=True):
        registry = BackendRegistry(replace(PATH, allowed_backends=["Good", "Acme"]))
        (entry,) = [entry for entry in registry.entries() if not entry.id]
        with pytest.raises(
            UnknownBackendError,
            match=r"^There is no backend 'Acme' \(known here: Static, Good, Newer, Bad-Id, Broken\)"
            r"; install its package, or name the folder of its file by dynamic_backends_path\. "
            r"Some files were turned down: 'armnn doctor' with the same folders says why\.$",
        ):
            registry.get("Acme")
    assert entry.message == "File '/opt/acme/Text.so' is not a library; build it again."
    assert entry.state is BackendState.FAILED


def test_a_blocked_backend_hides_no_reason_of_the_one_that_was_let_in(tmp_path: Path) -> None:
    options = replace(PATH, enable_static_backends=False)
    with installed(tmp_path, backend_plugin("Text"), loader(), alone=True):
        registry = BackendRegistry(options)
        with pytest.raises(BackendUnavailableError, match=r"'Text' .* is not a library; build it"):
            registry.get("Text")


def test_declared_folders_are_found_by_record_or_by_where_the_package_is(tmp_path: Path) -> None:
    groups = {"armnn.backend_paths": {"acme": "acme_backends.lib"}}
    modules = {"acme_backends.lib.x": "raise SystemExit\n"}
    site = tmp_path / "site"
    folder = SearchedFolder(str(site / "acme_backends" / "lib"), "acme 1")
    with installed(site, Plugin("acme", "1", (), groups, modules), alone=True):
        assert declared_folders() == (folder,)
        (record,) = site.glob("acme-1*/RECORD")
        record.write_text("acme.pth,,\n")  # as an editable install has it
        refresh()
        assert declared_folders() == (folder,)
    assert not {name for name in sys.modules if name.startswith("acme_backends")}
    with installed(tmp_path / "other", Plugin("acme", "1", (), groups), alone=True):
        (missing,) = declared_folders()
    assert missing == SearchedFolder(
        "acme_backends.lib",
        "acme 1",
        "cannot be found: acme 1 declares it, but has no package 'acme_backends.lib'",
    )
