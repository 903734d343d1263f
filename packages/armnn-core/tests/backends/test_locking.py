# SPDX-License-Identifier: MIT
"""The lock file: contents, refusals and damaged files."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from armnn import Runtime
from armnn.backends import BackendRegistry, BackendState, CreationOptions
from armnn.backends.locking import Lock, default_lock_file
from armnn.errors import BackendUnavailableError, InvalidArgumentError
from fakes import Plugin, backend_plugin, installed

ACME = backend_plugin("Acme")
LOADER = Plugin(
    "armnn-dynamic-loader",
    "0.1",
    (),
    {"armnn.backend_sources": {"dynamic": "fake_loader:Source"}},
    {
        "fake_loader": """\
from pathlib import Path
from armnn.backends import BackendSource, SourceRecord
from fakes import NullBackend

class Source(BackendSource):
    def scan(self, options):
        return [SourceRecord("Dropped", path, sha256=None) for path in self.files(options)]

    def files(self, options):
        return sorted(map(str, Path(options.dynamic_backends_path).glob("*.so")))

    def load(self, record, runtime):
        return NullBackend(record.id)

    def lint(self, path):
        return []
"""
    },
)


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ARMNN_BACKENDS", raising=False)
    monkeypatch.delenv("ARMNN_DYNAMIC_BACKENDS_PATH", raising=False)


def with_hashes(site: Path) -> None:
    """Give the fake distribution's RECORD the hashes of pip."""
    (record,) = site.glob("armnn_backend_acme*/RECORD")
    rows = []
    for row in csv.reader(record.read_text().splitlines()):
        path = site / row[0]
        digest = hashlib.sha256(path.read_bytes()).digest() if path.suffix == ".py" else None
        spelled = base64.urlsafe_b64encode(digest).rstrip(b"=").decode() if digest else ""
        rows.append(f"{row[0]},{f'sha256={spelled}' if digest else ''},")
    record.write_text("\n".join(rows) + "\n")


def lock(path: Path, *files: str) -> CreationOptions:
    Lock.made_now(path, files).write()
    return CreationOptions(require_locked=True, lock_file=str(path))


def entry(options: CreationOptions) -> Any:
    (found,) = BackendRegistry(options).entries()
    return found


def test_what_is_locked_may_be_loaded(tmp_path: Path) -> None:
    with installed(tmp_path / "site", ACME, alone=True):
        options = lock(tmp_path / "lock")
        assert BackendRegistry(options).get("Acme").id == "Acme"


def test_what_is_not_locked_is_never_imported(tmp_path: Path) -> None:
    broken = backend_plugin("Acme", source="raise SystemExit('imported')\n")
    options = CreationOptions(require_locked=True, lock_file=str(tmp_path / "none"))
    with installed(tmp_path / "site", broken, alone=True):
        found = entry(options)
        with pytest.raises(
            BackendUnavailableError,
            match=r"is locked out, as there is no lock file '.*none'; if you trust it, run "
            r"'armnn backends lock --output .*none'\.",
        ):
            BackendRegistry(options).get("Acme")
    assert (found.state, found.reason) == (
        BackendState.BLOCKED,
        f"is locked out, as there is no lock file {str(tmp_path / 'none')!r}",
    )


def test_a_lock_file_that_is_named_is_required(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    options = CreationOptions(lock_file=str(path))
    with installed(tmp_path / "site", ACME, alone=True):
        with pytest.raises(BackendUnavailableError, match=f"there is no lock file {str(path)!r}"):
            BackendRegistry(options).get("Acme")
        path.write_text("{")
        with pytest.raises(InvalidArgumentError, match=f"the lock file {str(path)!r} cannot be"):
            Runtime(options)
        Lock.made_now(path, ()).write()
        assert BackendRegistry(options).get("Acme").id == "Acme"
        Lock(path, {}, {}).write()
        assert entry(options).reason == f"is not in the lock file {str(path)!r}"


def test_another_record_is_refused(tmp_path: Path) -> None:
    with installed(tmp_path / "site", ACME, alone=True):
        options = lock(tmp_path / "lock")
    other = backend_plugin("Acme", version="0.4.0")
    with installed(tmp_path / "other", other, alone=True):
        (record,) = (tmp_path / "other").glob("*/RECORD")
        record.write_text(record.read_text() + "more.py,,\n")
        assert entry(options).reason == (
            "has changed since armnn-backend-acme 0.3.0 was locked: its RECORD differs"
        )


def test_a_file_that_differs_from_its_record_is_refused(tmp_path: Path) -> None:
    site = tmp_path / "site"
    with installed(site, ACME, alone=True):
        with_hashes(site)
        options = lock(tmp_path / "lock")
        assert entry(options).state is BackendState.KNOWN
        module = site / "armnn_backend_acme.py"
        module.write_text(module.read_text() + "# changed\n")
        found = entry(options)
        assert found.reason == (
            "has changed since it was installed: armnn_backend_acme.py is not as its RECORD says"
        )
        assert found.remedy == "run pip install --force-reinstall armnn-backend-acme"
        module.rename(module.with_suffix(".old"))
        assert entry(options).state is not BackendState.KNOWN


def test_a_source_that_tells_no_sha256_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "a.so"
    file.write_bytes(b"content")
    with installed(tmp_path / "site", LOADER, alone=True):
        options = CreationOptions(
            dynamic_backends_path=str(folder),
            require_locked=True,
            lock_file=lock(tmp_path / "lock", str(file)).lock_file,
        )
        found = entry(options)
    assert (found.state, found.stage) == (BackendState.FAILED, "lock")
    sha256 = hashlib.sha256(b"content").hexdigest()
    assert found.reason == (f"has changed since it was locked: got sha256 None, expected {sha256}")


def test_the_default_is_in_the_settings_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_lock_file() == tmp_path / "config" / "armnn" / "backends.lock"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_lock_file() == Path("/home/me/.config/armnn/backends.lock")


def test_a_process_with_rights_of_another_user_has_that_users_lock_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/attacker")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/attacker/config")
    owner = 0 if os.getuid() else pwd.getpwnam("nobody").pw_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    home = Path(pwd.getpwuid(owner).pw_dir)
    assert default_lock_file() == home / ".config" / "armnn" / "backends.lock"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "Expecting value"),
        ("[]", "the document is list, expected a JSON object"),
        ('{"format": 2}', "got format 2, expected 1"),
        ('{"format": 1}', "files is NoneType, expected a JSON object"),
        ('{"format": 1, "files": [], "distributions": {}}', "files is list, expected a JSON obj"),
        ('{"format": 1, "files": {}, "distributions": 7}', "distributions is int, expected"),
        ('{"format": 1, "files": {}, "distributions": {"a": 1}}', "distribution 'a' is int"),
    ],
)
def test_a_damaged_lock_file_is_told(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "lock"
    path.write_text(content)
    path.chmod(0o644)
    options = CreationOptions(require_locked=True, lock_file=str(path))
    with pytest.raises(
        InvalidArgumentError,
        match=rf"lock' cannot be read: {message}.*; expected a lock file, which "
        r"'armnn backends lock --output .*lock' writes$",
    ):
        BackendRegistry(options)


@pytest.mark.parametrize("path", ["", "/", "/dev/null"])
def test_what_is_no_lock_file_is_not_offered_to_be_written(path: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        BackendRegistry(CreationOptions(lock_file=path))
    assert str(caught.value) == (
        f"the lock file {path!r} is not a regular file: expected one that 'armnn backends lock "
        "--output FILE' wrote"
    )


def test_a_lock_file_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    options = lock(tmp_path / "lock")
    (tmp_path / "lock").chmod(0o666)
    with pytest.raises(
        InvalidArgumentError,
        match=r"cannot be trusted, as its group and others may write it: chmod go-w .*lock$",
    ):
        BackendRegistry(options)
