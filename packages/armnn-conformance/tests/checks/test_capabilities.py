# SPDX-License-Identifier: MIT
"""Stated capabilities are checked, and each liar is caught."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from armnn.backends import (
    ASYNC_EXECUTION,
    Allocator,
    AsyncExecution,
    Capability,
    Step,
    Support,
    Task,
)
from armnn_conformance.checks.by_name import Checks, NotSupportedError
from armnn_conformance.checks.capabilities import NothingToCheckError, check_capability
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject
from fakes import misbehaving

MakeSubject = Callable[[type], Subject]


@pytest.mark.parametrize("name", misbehaving.HONEST)
def test_what_holds_passes(make_subject: MakeSubject, name: str) -> None:
    check_capability(make_subject(misbehaving.CapableBackend), name)


@pytest.mark.parametrize(
    ("kind", "message"),
    misbehaving.LIARS.items(),
    ids=[kind.__name__ for kind in misbehaving.LIARS],
)
def test_each_liar_is_caught(
    make_subject: MakeSubject, kind: type[misbehaving.CapableBackend], message: str
) -> None:
    subject = make_subject(kind)
    (name,) = subject.backend.capabilities
    with pytest.raises(NonconformityError, match=f"^{name} is stated and does not hold: {message}"):
        check_capability(subject, name)


def test_there_is_a_liar_for_each_capability() -> None:
    names = {name for kind in misbehaving.LIARS for name in kind().capabilities}
    assert names == {each.value for each in Capability} - {
        Capability.DISTURBS,
        Capability.COPY_LATENCY_BYTES,
    }


@pytest.mark.parametrize("name", [each.value for each in Capability])
def test_what_is_not_stated_is_not_checked(make_subject: MakeSubject, name: str) -> None:
    subject = make_subject(misbehaving.SmallBackend)
    with pytest.raises(NothingToCheckError, match=f"the backend does not state {name}"):
        check_capability(subject, name)
    with pytest.raises(NotSupportedError, match=f"the backend does not state {name}"):
        Checks(subject).run("capability", {"name": name})


def test_a_backend_without_layers_shows_nothing(make_subject: MakeSubject) -> None:
    empty = type("Empty", (misbehaving.CapableBackend,), {"functions": {}})
    for name in ("ExternallyManagedMemory", "ConstantTensorsAsInputs", "PropagatesNaN"):
        with pytest.raises(NothingToCheckError, match="the backend claims no "):
            check_capability(make_subject(empty), name)


class ProtectedBackend(misbehaving.CapableBackend):
    """Takes memory of any source."""

    stated = ("ProtectedContentAllocation",)

    def accepts_allocator(self, allocator: Allocator) -> Support:
        return Support(True)


def test_a_backend_that_takes_protected_memory_may_state_it(make_subject: MakeSubject) -> None:
    check_capability(make_subject(ProtectedBackend), "ProtectedContentAllocation")


class _Eager(AsyncExecution, Task):
    def submit(self, step: Step, *, deadline_ns: int | None = None) -> Task:
        step()
        return self

    def wait(self, timeout: float | None = None) -> bool:
        return True

    def close(self) -> None: ...


class EagerBackend(misbehaving.CapableBackend):
    """Runs a submitted step at once."""

    stated = ("AsyncExecution",)

    def extension(self, name: str) -> object | None:
        return _Eager() if name == ASYNC_EXECUTION else None


def test_a_backend_with_the_extension_may_state_it(make_subject: MakeSubject) -> None:
    check_capability(make_subject(EagerBackend), "AsyncExecution")
