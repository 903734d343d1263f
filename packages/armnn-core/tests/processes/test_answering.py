# SPDX-License-Identifier: MIT
"""Children that answer by lines of JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from armnn.processes import answering
from armnn.processes.answering import AnsweringChild, SilenceError


class FakeChild:
    """A process that has inherited its pipes."""

    patience = None

    def __init__(self, *_: object, descriptors: list[int]) -> None:
        self._kept = [os.dup(each) for each in descriptors]
        os.write(self._kept[-1], b'{"first": 1}\nno answer\n')

    def __enter__(self) -> FakeChild:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._kept:
            os.close(each)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no process."""
    monkeypatch.setattr(answering, "Child", FakeChild)


REQUEST: Mapping[str, object] = {}


@pytest.mark.usefixtures("asked")
def test_a_closed_child_leaves_the_pipes_of_a_later_one() -> None:
    first = AnsweringChild("a:b", REQUEST, 20, is_asked=True)
    later = [AnsweringChild("a:b", REQUEST, 20, is_asked=True) for _ in range(3)]
    first.close()
    assert [each.ask(1.0) for each in later] == [{"first": 1}] * 3
    for each in later:
        each.close()


@pytest.mark.usefixtures("asked")
def test_a_line_that_is_no_object_is_no_answer() -> None:
    with AnsweringChild("a:b", REQUEST, 20) as child:
        assert child.answer() == {"first": 1}
        with pytest.raises(SilenceError, match="answered what is no answer"):
            child.answer()


@pytest.mark.usefixtures("asked")
def test_children_leave_no_descriptors() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        AnsweringChild("a:b", REQUEST, 20, is_asked=True).close()
    assert len(os.listdir("/proc/self/fd")) == before
