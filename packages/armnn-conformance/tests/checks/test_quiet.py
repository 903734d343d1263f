# SPDX-License-Identifier: MIT
"""The level *quiet*; each test starts an interpreter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from armnn_backend_api.process_state import disturbed_by
from armnn_conformance.checks.quiet import check_quiet
from armnn_conformance.running import NonconformityError
from fakes import misbehaving

Install = Callable[[type], str]


def test_a_good_backend_leaves_no_trace(install_backend: Install) -> None:
    check_quiet(install_backend(misbehaving.SmallBackend), ["Softmax"])


def test_what_a_driver_is_said_to_disturb_is_not_counted(install_backend: Install) -> None:
    name = install_backend(misbehaving.ThreadLeavingBackend)
    check_quiet(name, ["Softmax"], disturbed_by("signals, threads"))
    with pytest.raises(NonconformityError, match="left threads after unload"):
        check_quiet(name, ["Softmax"], disturbed_by("signals, descriptors"))


def test_only_known_kinds_can_be_stated() -> None:
    assert disturbed_by(None) == []
    with pytest.raises(ValueError, match=r"Disturbs is 'threads, umask': expected some of"):
        disturbed_by("threads, umask")
    with pytest.raises(ValueError, match="Disturbs is True: expected some of"):
        disturbed_by(True)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (misbehaving.TalkativeBackend, "wrote to stdout or stderr: Small backend 1.0, all rights"),
        (misbehaving.ThreadLeavingBackend, "left threads after unload: small worker"),
        (misbehaving.DescriptorLeavingBackend, "left file descriptors after unload: /dev/null"),
        (misbehaving.MaskingBackend, "the backend changes the umask"),
        (misbehaving.DyingBackend, "Softmax-Float32-last axis: the process ended with exit code 3"),
    ],
)
def test_traces_are_found(install_backend: Install, kind: type, problem: str) -> None:
    with pytest.raises(NonconformityError, match=problem):
        check_quiet(install_backend(kind), ["Softmax"])
