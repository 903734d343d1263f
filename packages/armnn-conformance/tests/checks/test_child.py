# SPDX-License-Identifier: MIT
"""A crash fails its case; kit and doctor go on.

doctor remembers it.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from armnn.backends import crashes
from armnn.types import DataType
from armnn_conformance.checks.by_name import NotSupportedError
from armnn_conformance.checks.child import ChecksHere, ChecksInChild, CrashError, last_words
from armnn_conformance.checks.correctness import CaseResult
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject
from armnn_tools.cli.main import main
from fakes import backend_plugin, installed, misbehaving

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["pytester"]

Install = Callable[[type], str]
KIT = ["--pyargs", "armnn_conformance", "-p", "no:cacheprovider"]
CRASHING_CASE = "Softmax-Float32-middle axis with beta"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which crashes are kept."""
    # It takes the standard library's place when imported; a run inside of pytester that did so
    # first would take it back and leave nothing.
    importlib.import_module("importlib_metadata")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "armnn"


def test_a_long_trace_is_told_from_its_beginning() -> None:
    trace = "Fatal Python error: Segmentation fault\n" + "  File x.py in softmax\n"
    assert last_words("words\n" * 900 + trace).endswith(f"words\n{trace}")
    long = last_words("words\n" + trace + "  Binary file x.so, at +0x1\n" * 900)
    assert long.startswith(trace)
    assert len(long) == len(last_words("no trace\n" * 900)) == 3000


def test_one_crash_fails_one_case(install_backend: Install) -> None:
    checks = ChecksInChild(install_backend(misbehaving.SegfaultingBackend))
    cell = checks.check_cell("Softmax", DataType.FLOAT32)
    failed = cell.details(CaseResult.FAILED)
    assert list(failed) == ["middle axis with beta"]
    text = failed["middle axis with beta"]
    assert text.startswith(f"{CRASHING_CASE}: the process ended with SIGSEGV\n")
    assert "Fatal Python error: Segmentation fault" in text
    assert "in _softmax_that_segfaults" in text
    assert cell.crashes == {"middle axis with beta": "SIGSEGV"}
    # The cases after it were tried, too, as where nothing crashes.
    checks.close()
    here = ChecksHere(install_backend(misbehaving.SmallBackend))
    assert list(here.check_cell("Softmax", DataType.FLOAT32).outcomes) == list(cell.outcomes)
    here.close()
    assert len(cell.details(CaseResult.PASSED)) == len(cell.outcomes) - 1


def test_after_damage_to_memory_a_fresh_process_goes_on(install_backend: Install) -> None:
    checks = ChecksInChild(install_backend(misbehaving.OverrunningBackend))
    ids = []

    def started() -> Any:
        ids.append(checks._process)
        return start()

    start, checks._started = checks._started, started  # type: ignore[method-assign]  # it is watched
    cell = checks.check_cell("Softmax", DataType.FLOAT32)
    checks.close()
    failed = cell.details(CaseResult.FAILED)
    assert set(failed.values()) == {"the step wrote past the ends of an output"}
    assert len(failed) > 1
    assert ids == [None] * (len(failed) + 1)


def test_a_crash_while_it_is_loaded_or_asked_names_that(install_backend: Install) -> None:
    asked = ChecksInChild(install_backend(misbehaving.SegfaultingAnswerBackend))
    with pytest.raises(CrashError, match=r"^Floor-\w+-.*: the process ended with SIGSEGV"):
        asked.run("refusal", {"layer": "Floor"})
    assert asked.run("refusal", {"layer": "Pad"}).startswith("no function for Pad")
    asked.close()
    loaded = ChecksInChild("Nowhere")
    with pytest.raises(
        CrashError, match=r"^loading the backend: the process ended with exit code 1\n"
    ):
        loaded.check_cell("Softmax", DataType.FLOAT32)
    loaded.close()


def test_the_answers_of_a_child_are_those_of_the_checks(install_backend: Install) -> None:
    backend_id = install_backend(misbehaving.SilentBackend)
    for checks in (ChecksInChild(backend_id), ChecksHere(backend_id)):
        assert checks.run("layers_with_a_claimed_case", {"layers": ["Pad", "Softmax"]}) == [
            "Softmax"
        ]
        assert checks.run("layers_claimed_at_once", {"layers": ["Pad", "Softmax"]}) == ["Softmax"]
        with pytest.raises(NonconformityError, match="the refusal has no reason"):
            checks.run("refusal", {"layer": "Pad"})
        with pytest.raises(NotSupportedError, match="it is not supported, or nothing is fed"):
            checks.run("threads", {"layer": "Pad"})
        assert checks.run("threads", {"layer": "Softmax"}) is None
        checks.close()


def findings(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the doctor's findings about Small."""
    capsys.readouterr()
    main(["doctor", "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return [row["text"] for row in document["findings"] if "crash" in row["text"]]


def test_doctor_remembers_a_crash_until_the_case_passes(
    pytester: pytest.Pytester,
    install_backend: Install,
    cache: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    backend_id = install_backend(misbehaving.SegfaultingBackend)
    options = ["--armnn-layers", "Softmax", "-m", "conformance_correct"]
    options += ["-k", "not graphs and not capability"]
    result = pytester.runpytest_inprocess(*KIT, "--armnn-backend", backend_id, *options)
    result.assert_outcomes(failed=1, skipped=7)
    result.stdout.fnmatch_lines([f"*{CRASHING_CASE}: the process ended with SIGSEGV"])
    (told,) = findings(capsys)
    assert told.startswith("The conformance kit saw backend 'Small' (armnn-backend-acme")
    assert f"{CRASHING_CASE} ended with SIGSEGV; once the backend is repaired, " in told
    assert "pytest --pyargs armnn_conformance --armnn-backend Small --armnn-layers Softmax" in told
    # Of a file that others may write, nothing is believed.
    (cache / "crashes.json").chmod(0o666)
    assert findings(capsys) == []
    (cache / "crashes.json").chmod(0o600)
    with Subject(backend_id) as subject:
        entry = subject.entry
    (crash,) = crashes.remembered()
    assert crash.is_of(entry)
    assert not replace(crash, version="another").is_of(entry)
    crashes.forget(entry, ["Softmax-Float32-last axis"])
    assert len(findings(capsys)) == 1
    crashes.forget(entry, [CRASHING_CASE])
    assert findings(capsys) == []


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "crashes": [{}]}'])
def test_a_file_that_is_something_else_counts_as_nothing(cache: Path, text: str) -> None:
    cache.mkdir(parents=True)
    (cache / "crashes.json").write_text(text)
    (cache / "crashes.json").chmod(0o600)
    assert crashes.remembered() == ()


def test_a_backend_that_crashes_when_it_is_loaded_ends_no_pytest(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    source = "import ctypes\nctypes.string_at(0)\n"
    with installed(tmp_path, backend_plugin("Acme", source=source), alone=True):
        result = pytester.runpytest_inprocess(*KIT, "--armnn-backend", "Acme")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        told = "ERROR: --armnn-backend: loading the backend: the process ended with SIGSEGV"
        result.stderr.fnmatch_lines([told])
    (crash,) = crashes.remembered()
    assert (crash.backend, crash.case, crash.ending) == ("Acme", "", "SIGSEGV")
