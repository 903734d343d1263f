# SPDX-License-Identifier: MIT
"""The level *robust*."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from armnn.layers.elementwise import AdditionDescriptor
from armnn.layers.reshaping import TransposeDescriptor
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, case
from armnn_conformance.checks import stress
from armnn_conformance.operands import values
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject
from fakes import misbehaving

MakeSubject = Callable[[type], Subject]
Check = Callable[[Subject, LayerCase], None]

X = values(DataType.FLOAT32, (2, 3))
ADDITION = case(DataType.FLOAT32, "sum", AdditionDescriptor(), [X, X], 2 * X.real)
CHECKS = [
    stress.check_concurrent_runs,
    stress.check_out_of_memory,
    stress.check_interrupted_runs,
]


@pytest.mark.parametrize("check", CHECKS)
def test_a_good_backend_is_robust(make_subject: MakeSubject, check: Check) -> None:
    check(make_subject(misbehaving.SmallBackend), ADDITION)


@pytest.mark.parametrize("check", CHECKS)
def test_a_layer_that_the_optimizer_rewrites_is_left_out(
    make_subject: MakeSubject, check: Check
) -> None:
    x = values(DataType.FLOAT32, (1, 4, 1), seed=1)
    d = TransposeDescriptor(dim_mappings=(2, 0, 1))
    moved = case(DataType.FLOAT32, "size one", d, [x], x.real.transpose(2, 0, 1))
    check(make_subject(misbehaving.SmallBackend), moved)


def test_contexts_that_share_memory_are_caught(make_subject: MakeSubject) -> None:
    with pytest.raises(NonconformityError, match="output 0 differs from that of one thread"):
        stress.check_concurrent_runs(make_subject(misbehaving.RacyBackend), ADDITION)


def test_an_allocator_must_be_refused_with_a_reason(make_subject: MakeSubject) -> None:
    with pytest.raises(NonconformityError, match=r"accepts_allocator.* refuses without a reason"):
        stress.check_out_of_memory(make_subject(misbehaving.SilentBackend), ADDITION)


def test_a_result_that_is_wrong_after_an_error_is_caught(make_subject: MakeSubject) -> None:
    subject = make_subject(misbehaving.InaccurateBackend)
    wrong = case(DataType.FLOAT32, "wrong", AdditionDescriptor(), [X, X], X.real)
    with pytest.raises(NonconformityError, match="after an error, the runtime's output 0 is wrong"):
        stress.check_out_of_memory(subject, wrong)
    with pytest.raises(NonconformityError, match="after a cancelled run, the runtime's output 0"):
        stress.check_interrupted_runs(subject, wrong)


def test_a_run_that_pays_no_heed_is_caught(
    make_subject: MakeSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    from armnn.runtime import LoadedNetwork

    run = LoadedNetwork.run

    def deaf(network: Any, inputs: Any, **_: Any) -> Any:
        return run(network, inputs)

    monkeypatch.setattr(LoadedNetwork, "run", deaf)
    with pytest.raises(NonconformityError, match="a cancelled run returned normally"):
        stress.check_interrupted_runs(make_subject(misbehaving.SmallBackend), ADDITION)


def test_memory_that_is_kept_is_caught(
    make_subject: MakeSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stress.LimitedAllocator, "free", lambda self, memory: None)
    with pytest.raises(NonconformityError, match="1 blocks of memory were not given back"):
        stress.check_out_of_memory(make_subject(misbehaving.SmallBackend), ADDITION)
