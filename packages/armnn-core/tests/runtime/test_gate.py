# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading

import pytest

from armnn.errors import ClosedError
from armnn.runtime.gate import Gate


def test_a_closed_gate_lets_nobody_in() -> None:
    gate = Gate("the thing")
    with gate:
        assert not gate.is_closed
    assert gate.close()
    assert gate.is_closed
    with pytest.raises(ClosedError, match="the thing was closed before this call"):
        gate.enter()


def test_only_the_first_close_says_that_it_closed() -> None:
    gate = Gate("the thing")
    assert gate.close()
    assert not gate.close()


def test_close_waits_until_the_last_call_is_out() -> None:
    gate = Gate("the thing")
    gate.enter()
    closed = threading.Event()

    def close() -> None:
        gate.close()
        closed.set()

    thread = threading.Thread(target=close)
    thread.start()
    assert not closed.wait(0.05)
    gate.leave()
    assert closed.wait(5)
    thread.join()
