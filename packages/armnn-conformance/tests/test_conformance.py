# SPDX-License-Identifier: MIT
"""The kit as pytest runs it, with its options."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from armnn import metadata
from armnn_conformance.cases import covered_layers
from fakes import misbehaving

pytest_plugins = ["pytester"]

Install = Callable[[type], str]
KIT = ["--pyargs", "armnn_conformance", "-p", "no:cacheprovider"]


@pytest.fixture(autouse=True)
def metadata_library() -> None:
    """Import importlib_metadata for good, as it replaces the standard library's.

    A run inside of pytester that imported it first would take it back and leave nothing.
    """
    metadata.scan()


def test_pytest_starts_without_importing_armnn() -> None:
    code = "import sys, armnn_conformance_options; print([m for m in sys.modules if m == 'armnn'])"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert seen.stdout == "[]\n"


def test_the_kit_needs_a_backend(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess(*KIT)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("ERROR: the conformance kit needs a backend: pytest --pyargs*")


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ("Nowhere", "There is no backend 'Nowhere'*"),
        ("board://pi/Small", "There is no board 'pi' for the backend 'board://pi/Small'*"),
        ("ssh:///CpuAcc", "There is no backend 'ssh:///CpuAcc'*"),
        ("./no.so", "'./no.so' is not a file: expected the id of a backend or the path of*"),
        (
            "./acme_npu_backend.so",
            "Dynamic backends cannot be loaded *: pip install * armnn-dynamic-loader *.",
        ),
    ],
)
def test_a_backend_that_cannot_be_had_is_a_usage_error(
    pytester: pytest.Pytester, install_backend: Install, wish: str, problem: str
) -> None:
    install_backend(misbehaving.SmallBackend)  # and nothing else: no loader, no other backend
    (pytester.path / "acme_npu_backend.so").write_bytes(b"")
    result = pytester.runpytest_inprocess(*KIT, "--armnn-backend", wish)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(f"ERROR: --armnn-backend: {problem}")


@pytest.mark.parametrize("test", ["", ".test_conformance"])
def test_the_kit_has_its_former_name_until_core_2(
    pytester: pytest.Pytester, install_backend: Install, test: str
) -> None:
    backend = ["--armnn-backend", install_backend(misbehaving.SmallBackend)]
    only = ["--armnn-layers", "Softmax", "-m", "conformance_correct", "-k", "Float32"]
    former = ["--pyargs", f"armnn.testing{test}", "-p", "no:cacheprovider"]
    pytester.runpytest_inprocess(*former, *backend, *only).assert_outcomes(passed=1)


def test_a_layer_without_cases_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess(
        *KIT, "--armnn-backend", "Small", "--armnn-layers", "Softmax,Sotfmax"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("ERROR: --armnn-layers: there are no cases for 'Sotfmax'*")


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ("Sotfmax", "there are no cases for 'Sotfmax', expected some of*Softmax*"),
        ("Softmax:Float", "there are no cases of Softmax for 'Float', expected some of Float16*"),
    ],
)
def test_what_cannot_be_required_is_a_usage_error(
    pytester: pytest.Pytester, wish: str, problem: str
) -> None:
    options = ["--armnn-backend", "Small", "--armnn-require", wish]
    result = pytester.runpytest_inprocess(*KIT, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(f"ERROR: --armnn-require: {problem}")


def test_that_what_is_required_is_refused_is_a_failure(
    pytester: pytest.Pytester, install_backend: Install
) -> None:
    options = ["--armnn-backend", install_backend(misbehaving.SmallBackend), "-v"]
    options += ["--armnn-layers", "Softmax", "--armnn-require"]
    only = ["-k", "required"]
    result = pytester.runpytest_inprocess(*KIT, *options, "Softmax:Float32,Softmax,Floor", *only)
    assert result.parseoutcomes().items() >= {"passed": 2, "failed": 1}.items()
    result.stdout.fnmatch_lines(
        ["Floor is required, but all of its * cases are refused, the first because: no function*"]
    )
    assert "another exception occurred" not in result.stdout.str()  # it is printed once


def test_refused_cases_of_what_is_required_are_named(
    pytester: pytest.Pytester, install_backend: Install
) -> None:
    options = ["--armnn-backend", install_backend(misbehaving.SmallBackend), "-v", "-k", "required"]
    options += ["--armnn-layers", "Softmax", "--armnn-require"]
    result = pytester.runpytest_inprocess(*KIT, *options, "Softmax,Softmax:Float32:all,Softmax:all")
    assert result.parseoutcomes().items() >= {"passed": 2, "failed": 1}.items()
    refused = "* of * cases are refused: Float16-last axis (*), * more"
    told = (f"{start}{refused}" for start in ("all cases of Softmax are required, but ", "*but "))
    result.stdout.fnmatch_lines(
        [next(told), f"armnn conformance: Softmax is required and claimed, {next(told)}"]
    )


def test_a_backend_that_claims_nothing_is_told_so(
    pytester: pytest.Pytester, install_backend: Install
) -> None:
    backend = ["--armnn-backend", install_backend(misbehaving.SmallBackend)]
    for layers, total in (("Floor,Pad", 2), ("claimed", len(covered_layers()))):
        claimed = pytest.MonkeyPatch.context()
        with claimed as patch:
            patch.setattr(misbehaving.SmallBackend, "functions", {})
            options = [*backend, "--armnn-in-process", "--armnn-layers", layers]
            result = pytester.runpytest_inprocess(*KIT, *options, "-m", "conformance_correct")
        assert result.ret == pytest.ExitCode.OK
        line = f"armnn conformance: the backend claims nothing of {total} layer types, so none *"
        result.stdout.fnmatch_lines([line])


def test_a_good_backend_gets_a_good_card(
    pytester: pytest.Pytester, install_backend: Install
) -> None:
    backend_id = install_backend(misbehaving.SmallBackend)
    options = ["--armnn-backend", backend_id, "--armnn-layers", "Softmax,Floor"]
    result = pytester.runpytest_inprocess(*KIT, *options, "--armnn-card", "card.json")
    assert result.ret == pytest.ExitCode.OK
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] > 0
    assert outcomes["skipped"] > 0  # what it refuses
    card = json.loads((pytester.path / "card.json").read_text())
    levels = dict.fromkeys(["loads", "correct", "robust", "quiet"], "passed")
    assert card["levels"] == levels
    assert card["backend"]["id"] == "Small"
    assert card["backend"]["distribution"] == "armnn-backend-acme"
    assert card["layers"]["Softmax"]["Float32"]["verdict"] == "passed"
    assert card["layers"]["Floor"]["Float32"]["verdict"] == "not supported"
    assert "chain 0 Float32 (Softmax, Softmax, Softmax, Softmax)" in card["graphs"]["chain"]


def test_a_bad_backend_gets_a_bad_card(pytester: pytest.Pytester, install_backend: Install) -> None:
    backend_id = install_backend(misbehaving.InattentiveBackend)
    options = ["--armnn-backend", backend_id, "--armnn-layers", "Softmax"]
    result = pytester.runpytest_inprocess(
        *KIT, *options, "--armnn-card", "card.json", "-m", "conformance_correct"
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    card = json.loads((pytester.path / "card.json").read_text())
    assert card["levels"] == {"correct": "failed"}
    assert card["layers"]["Softmax"]["Float32"]["verdict"] == "failed"
    assert card["layers"]["Softmax"]["Float16"]["verdict"] == "not supported"


def test_only_what_is_claimed_is_run_if_that_is_asked_for(
    pytester: pytest.Pytester, install_backend: Install
) -> None:
    options = ["--armnn-backend", install_backend(misbehaving.SilentBackend)]
    options += ["--armnn-layers", "claimed", "-v", "-m", "conformance_correct"]
    result = pytester.runpytest_inprocess(*KIT, *options)
    lines = [line.split("::")[-1] for line in result.outlines if "::test_" in line]
    run = {line.split("[")[1].split("-")[0] for line in lines if "computed_rightly[" in line}
    refused = {line.split("[")[1].split("]")[0] for line in lines if "with_a_reason[" in line}
    assert run == set(misbehaving.SilentBackend.functions)
    assert refused == set(covered_layers()) - run
    # It says no without a reason, to layers that it never runs as well.
    name = "test_what_is_not_claimed_is_refused_with_a_reason[[]Floor]"
    result.stdout.fnmatch_lines([f"*{name} FAILED*"])
    result.stdout.fnmatch_lines(["the refusal has no reason: say what is not supported"])
    result.stdout.fnmatch_lines(["*computed_rightly[[]Softmax-Float32] PASSED*"])
    total = len(covered_layers())
    result.stdout.fnmatch_lines(
        [
            "armnn conformance cases: * passed, * failed",
            "armnn conformance graphs: * of several layers passed",
            f"armnn conformance: the backend claims only Addition (*of {total} layer types",
        ]
    )


def test_other_tests_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(): pass")
    result = pytester.runpytest_inprocess("--armnn-card", "card.json")
    result.assert_outcomes(passed=1)
    assert not (pytester.path / "card.json").exists()
