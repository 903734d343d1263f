# SPDX-License-Identifier: MIT
"""The switches: what they admit and block, and when."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from armnn.backends import BackendRegistry, BackendState, CreationOptions, selection
from armnn.errors import BackendUnavailableError, InvalidArgumentError
from fakes import backend_plugin, installed, write_plugin

if TYPE_CHECKING:
    from pathlib import Path

PLUGINS = (backend_plugin("Acme"), backend_plugin("Zeta", distribution="zeta"))


def states(options: CreationOptions | None = None) -> dict[str, BackendState]:
    return {entry.id: entry.state for entry in BackendRegistry(options).entries()}


@pytest.mark.parametrize(
    ("variable", "allowed", "admitted"),
    [
        (None, None, ["Acme", "Zeta"]),
        ("", None, ["Acme", "Zeta"]),
        (" , ", None, ["Acme", "Zeta"]),
        ("Acme", None, ["Acme"]),
        (" Acme , Other ", None, ["Acme"]),
        ("-Acme", None, ["Zeta"]),
        ("-Acme,-Zeta", None, []),
        ("Acme,Zeta,-Zeta", None, ["Acme"]),
        ("Other", None, []),
        ("acme", None, []),
        (None, ["Acme"], ["Acme"]),
        (None, [], []),
        ("Zeta", ["Acme"], []),
        ("-Zeta", ("Acme", "Zeta"), ["Acme"]),
    ],
)
def test_switches_admit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str | None,
    allowed: list[str] | None,
    admitted: list[str],
) -> None:
    monkeypatch.delenv("ARMNN_BACKENDS", raising=False)
    if variable is not None:
        monkeypatch.setenv("ARMNN_BACKENDS", variable)
    with installed(tmp_path, *PLUGINS, alone=True):
        found = states(CreationOptions(allowed_backends=allowed))
    assert list(found) == ["Acme", "Zeta"]
    assert [name for name, state in found.items() if state is BackendState.KNOWN] == admitted
    assert set(found.values()) <= {BackendState.KNOWN, BackendState.BLOCKED}


def test_a_blocked_backend_is_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", "-Acme")
    acme = backend_plugin("Acme", source="raise AssertionError('imported')\n")
    with installed(tmp_path, acme, PLUGINS[1], alone=True):
        registry = BackendRegistry()
        with pytest.raises(
            BackendUnavailableError,
            match=r"^Backend 'Acme' \(armnn-backend-acme 0.3.0\) is blocked by the environment "
            r"variable ARMNN_BACKENDS='-Acme'; change or unset that variable\.$",
        ):
            registry.get("Acme")
        assert [backend.id for backend in registry.find_usable()] == ["Zeta"]
        assert "armnn_backend_acme" not in sys.modules


def test_allowed_backends_names_itself_as_the_reason(tmp_path: Path) -> None:
    with installed(tmp_path, *PLUGINS, alone=True):
        registry = BackendRegistry(CreationOptions(allowed_backends=["Zeta"]))
        with pytest.raises(
            BackendUnavailableError,
            match=r"is blocked: allowed_backends is \['Zeta'\]; add it to that list\.$",
        ):
            registry.get("Acme")


def test_static_backends_can_be_switched_off(tmp_path: Path) -> None:
    with installed(tmp_path, *PLUGINS, alone=True):
        registry = BackendRegistry(CreationOptions(enable_static_backends=False))
        assert {entry.state for entry in registry.entries()} == {BackendState.BLOCKED}
        with pytest.raises(
            BackendUnavailableError,
            match=r"is blocked: it is a static backend, and these are switched off; create the "
            r"runtime with enable_static_backends=True\.$",
        ):
            registry.get("Acme")


def test_the_word_for_no_backend_is_no_id_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", "CpuRef,-Unknown")
    with pytest.raises(InvalidArgumentError, match="is not a list of ids: got '-Unknown', expect"):
        BackendRegistry()


def test_a_text_is_no_list_of_allowed_backends() -> None:
    with pytest.raises(
        InvalidArgumentError,
        match=r"^allowed_backends is the text 'A,B': expected a list of ids such as \['A', 'B'\]$",
    ):
        BackendRegistry(CreationOptions(allowed_backends="A,B"))


@pytest.mark.parametrize("variable", ["Cpu Ref", "--Acme", "-", "A;B"])
def test_a_variable_that_is_no_list_of_ids_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", variable)
    with pytest.raises(
        InvalidArgumentError, match=r"ARMNN_BACKENDS='.*' is not a list of ids: got '.*', expected"
    ):
        BackendRegistry()


@pytest.mark.parametrize(
    ("flags", "state"), [([], "blocked"), (["-E"], "known"), (["-I"], "known")]
)
def test_python_that_ignores_the_environment_ignores_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], state: str
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", "-Acme")
    write_plugin(tmp_path, PLUGINS[0])
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from armnn.backends import *;"
        "print([e.state.value for e in BackendRegistry().entries() if e.id == 'Acme'])"
    )
    run = subprocess.run(
        [sys.executable, *flags, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    assert run.stdout.strip() == f"['{state}']"


@pytest.mark.parametrize("name", ["geteuid", "getegid"])
def test_a_process_with_the_rights_of_another_ignores_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", "-Acme")
    monkeypatch.setattr(f"os.{name}", lambda: -1)
    with installed(tmp_path, *PLUGINS, alone=True):
        assert set(states().values()) == {BackendState.KNOWN}


@pytest.mark.parametrize(
    ("vector", "is_elevated"),
    [
        ([(6, 4096), (23, 0), (0, 0)], False),
        ([(6, 4096), (23, 1), (0, 0)], True),  # set-uid, set-gid or capabilities of the file
        ([(0, 0)], False),
    ],
)
def test_a_process_that_the_kernel_calls_secure_ignores_the_environment(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    vector: list[tuple[int, int]],
    is_elevated: bool,
) -> None:
    (tmp_path / "auxv").write_bytes(b"".join(struct.pack("@LL", *pair) for pair in vector) + b"odd")
    monkeypatch.setattr(selection, "_VECTOR", tmp_path / "auxv")
    selection._was_started_secure.cache_clear()
    monkeypatch.setenv("ARMNN_BACKENDS", "Acme")
    try:
        assert selection.is_elevated() is is_elevated
        assert selection.environment("ARMNN_BACKENDS") == (None if is_elevated else "Acme")
    finally:
        selection._was_started_secure.cache_clear()


def test_without_proc_the_users_alone_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "_VECTOR", tmp_path / "none")
    selection._was_started_secure.cache_clear()
    assert not selection.is_elevated()
    monkeypatch.setattr(os, "getegid", lambda: os.getgid() + 1)
    assert selection.is_elevated()
    selection._was_started_secure.cache_clear()
