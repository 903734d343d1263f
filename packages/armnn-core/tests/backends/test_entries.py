# SPDX-License-Identifier: MIT
"""Without usable backends, the error names causes and remedies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from armnn.backends import BackendRegistry, CreationOptions
from armnn.errors import BackendUnavailableError
from fakes import Plugin, backend_plugin, installed

if TYPE_CHECKING:
    from pathlib import Path

ACME = backend_plugin("Acme")
NEVER = backend_plugin(
    "Never",
    distribution="never",
    source="from fakes import NullBackend\nclass backend(NullBackend):\n"
    "    id = 'Never'\n    def score(self): return 0\n",
)
BROKEN = backend_plugin("Broken", distribution="broken", source="raise OSError('no libacme')\n")
LOADER = Plugin(
    "armnn-dynamic-loader",
    "0.1",
    (),
    {"armnn.backend_sources": {"dynamic": "fake_loader:Source"}},
    {
        "fake_loader": """\
from armnn.backends import BackendSource, SourceRecord

class Source(BackendSource):
    def scan(self, options):
        return [
            SourceRecord("Dropped", "/opt/acme/a.so"),
            SourceRecord("", "/opt/acme/README", stage="name", reason="has a bad name"),
        ]

    def load(self, record, runtime):
        raise NotImplementedError

    def lint(self, path):
        return []
"""
    },
)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ARMNN_BACKENDS", raising=False)
    monkeypatch.delenv("ARMNN_DYNAMIC_BACKENDS_PATH", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def refusal(site: Path, *plugins: Plugin, options: CreationOptions | None = None) -> str:
    with installed(site, *plugins, alone=True), pytest.raises(BackendUnavailableError) as caught:
        BackendRegistry(options).find_usable()
    return str(caught.value)


def test_nothing_is_installed(tmp_path: Path) -> None:
    assert re.fullmatch(
        r"No backend can be used, as none is installed\. The usual ones: pip install --no-index "
        r'--find-links WHEELHOUSE "armnn-core\[cpu\]" \(WHEELHOUSE is .*\)\.',
        refusal(tmp_path),
    )


def test_a_lock_file_that_is_missing_is_the_cause(tmp_path: Path) -> None:
    options = CreationOptions(require_locked=True)
    default = tmp_path / "config" / "armnn" / "backends.lock"
    assert refusal(tmp_path / "site", ACME, options=options) == (
        "No backend can be used: Backend 'Acme' (armnn-backend-acme 0.3.0) is locked out, as there "
        f"is no lock file {str(default)!r}; if you trust it, run 'armnn backends lock'."
    )


@pytest.mark.parametrize(
    ("variable", "remedy"),
    [
        ("acme", "did you mean it by 'acme'? Then write 'Acme'"),
        ("Acne,CpuRef", "did you mean it by 'Acne'? Then write 'Acme'"),
        ("CpuRef", "change or unset that variable"),
        ("-Acme", "change or unset that variable"),
    ],
)
def test_a_typing_error_in_the_variable_is_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, remedy: str
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", variable)
    assert refusal(tmp_path, ACME) == (
        "No backend can be used: Backend 'Acme' (armnn-backend-acme 0.3.0) is blocked by the "
        f"environment variable ARMNN_BACKENDS={variable!r}; {remedy}."
    )


def test_a_typing_error_in_the_option_is_the_cause(tmp_path: Path) -> None:
    options = CreationOptions(allowed_backends=["acme"])
    assert refusal(tmp_path, ACME, options=options).endswith(
        "is blocked: allowed_backends is ['acme']; did you mean it by 'acme'? Then write 'Acme'."
    )


def test_files_that_were_dropped_but_not_named_are_the_cause(tmp_path: Path) -> None:
    options = CreationOptions(dynamic_backends_path="/opt/acme", enable_static_backends=False)
    assert refusal(tmp_path, ACME, LOADER, options=options) == (
        "No backend can be used:\n"
        "- Backend 'Dropped' (/opt/acme/a.so) is used only if it is named, as it is a file in a "
        "scanned folder; name it in the list of backends (backends=['Dropped']).\n"
        "- Backend 'Acme' (armnn-backend-acme 0.3.0) is blocked: it is a static backend, and these "
        "are switched off; create the runtime with enable_static_backends=True."
    )


def test_a_backend_that_cannot_be_loaded_and_one_that_must_be_named_are_the_causes(
    tmp_path: Path,
) -> None:
    assert refusal(tmp_path, BROKEN, NEVER) == (
        "No backend can be used:\n"
        "- Backend 'Never' (never 0.3.0) is used only if it is named, as its score is 0; name it "
        "in the list of backends (backends=['Never']).\n"
        "- Backend 'Broken' (broken 0.3.0) cannot be imported: OSError: no libacme; reinstall "
        "broken or tell its authors."
    )


def test_one_that_must_be_named_is_listed_however_many_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", "-" + ",-".join(f"Acme{i:02}" for i in range(10)))
    plugins = [backend_plugin(f"Acme{i:02}", distribution=f"acme{i:02}") for i in range(10)]
    assert "\n- Backend 'Never' (never 0.3.0) is used only if" in refusal(tmp_path, *plugins, NEVER)


def test_of_many_the_first_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", "Other")
    plugins = [backend_plugin(f"Acme{i:02}", distribution=f"acme{i:02}") for i in range(10)]
    lines = refusal(tmp_path, *plugins).splitlines()
    assert len(lines) == 10
    assert lines[-1] == "- 2 more: see 'armnn doctor'."
