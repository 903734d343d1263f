# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from armnn_conformance.checks.hostile_host import check_hostile_host
from armnn_conformance.running import NonconformityError

PACKAGES = Path(__file__).parents[3]
SAMPLES = PACKAGES / "armnn-dynamic-loader/src/armnn_dynamic_loader/samples"
SAMPLE = (SAMPLES / "acme_npu.c").read_text(encoding="utf-8")
NAIVE = (PACKAGES / "armnn-backend-api/tests/addition.c").read_text(encoding="utf-8")
Build = Callable[[str], Path]


def with_defect(right: str, wrong: str) -> str:
    """Return the sample with one defect."""
    assert right in SAMPLE
    return SAMPLE.replace(right, wrong)


def test_a_careful_backend_is_accepted(build: Build) -> None:
    check_hostile_host(str(build(SAMPLE)), ["Addition", "Convolution2d", "Softmax"])


def test_a_backend_that_calls_what_the_host_lacks_is_told_when_it_died(build: Build) -> None:
    rash = with_defect("armnn_host_has_cancelled(program->host) &&", "")
    message = (
        "Convolution2d: the process ended with SIGSEGV when the host has none of its functions"
    )
    with pytest.raises(NonconformityError, match=message):
        check_hostile_host(str(build(rash)), ["Convolution2d"])


def test_a_backend_that_claims_what_it_cannot_know_is_told_so(build: Build) -> None:
    message = r"Addition: when the host asks about an unknown data type: the backend claims it: \[1"
    with pytest.raises(NonconformityError, match=message):
        check_hostile_host(str(build(NAIVE)), ["Addition"])


def test_a_backend_that_takes_an_unknown_enumerator_is_told_so(build: Build) -> None:
    loose = with_defect("ARMNN_DATA_LAYOUT_NHWC;\n  return is_known", "0 || 1;\n  return is_known")
    message = "Convolution2d: when the host sets data_layout to an unknown number: .* claims it"
    with pytest.raises(NonconformityError, match=message):
        check_hostile_host(str(build(loose)), ["Convolution2d"])


def test_a_backend_that_steps_by_its_own_sizes_is_told_so(build: Build) -> None:
    stiff = with_defect("graph->value_stride", "sizeof(armnn_value)")
    with pytest.raises(NonconformityError, match="when the host hands over arrays with larger"):
        check_hostile_host(str(build(stiff)), ["Addition"])
