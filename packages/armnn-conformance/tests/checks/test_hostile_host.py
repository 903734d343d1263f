# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from armnn.testing.hostile_host import check_hostile_host
from armnn.testing.running import NonconformityError

PACKAGES = Path(__file__).parents[3]
SAMPLE = PACKAGES / "armnn-dynamic-loader/src/armnn_dynamic_loader/samples/acme_npu.c"
NAIVE = PACKAGES / "armnn-backend-api/tests/addition.c"
Build = Callable[..., Path]


def test_a_careful_backend_is_accepted(build: Build) -> None:
    check_hostile_host(str(build(str(SAMPLE))), ["Addition", "Convolution2d", "Softmax"])


def test_a_backend_that_calls_what_the_host_lacks_is_told_when_it_died(build: Build) -> None:
    message = "Addition: the process ended with SIGSEGV when the host has none of its functions"
    with pytest.raises(NonconformityError, match=message):
        check_hostile_host(str(build()), ["Addition"])


def test_a_backend_that_claims_what_it_cannot_know_is_told_so(build: Build) -> None:
    message = r"Addition: when the host asks about an unknown data type: the backend claims it: \[1"
    with pytest.raises(NonconformityError, match=message):
        check_hostile_host(str(build(str(NAIVE))), ["Addition"])


def test_a_backend_that_steps_by_its_own_sizes_is_told_so(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "stiff.c"
    text = SAMPLE.read_text(encoding="utf-8")
    stiff = text.replace("graph->value_stride", "sizeof(armnn_value)")
    assert stiff != text
    source.write_text(stiff, encoding="utf-8")
    with pytest.raises(NonconformityError, match="when the host hands over arrays with larger"):
        check_hostile_host(str(build(str(source))), ["Addition"])
