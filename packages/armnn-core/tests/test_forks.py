# SPDX-License-Identifier: MIT
"""A child that is forked while a thread of its parent prepares shapes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from armnn import Network, Runtime, TensorInfo
from armnn._forks import ForkedLock
from fakes import NullBackend

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*multi-threaded, use of fork:DeprecationWarning"  # of Python 3.12
)


def status_of_child(work: Callable[[], object]) -> int:
    """Return how a forked child ends that does this, 0 if it is done in time."""
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_lock_is_free_in_a_child_and_held_in_its_parent() -> None:
    lock, is_held, is_done, got = ForkedLock(), threading.Event(), threading.Event(), []

    def hold() -> None:
        with lock:
            is_held.set()
            is_done.wait()
            got.append("first")

    def take() -> None:
        with lock:
            got.append("second")

    first, second = threading.Thread(target=hold), threading.Thread(target=take)
    first.start()
    is_held.wait()
    assert status_of_child(take) == 0
    second.start()
    is_done.set()
    first.join()
    second.join()
    assert got == ["first", "second"]


class Waiting(NullBackend):
    """Makes no workload in one thread before it is told to."""

    id = "Waiting"
    began, may_go = threading.Event(), threading.Event()

    def create_workload(self, *given: Any) -> Any:
        if threading.current_thread().name == "prepares":
            self.began.set()
            self.may_go.wait()
        return super().create_workload(*given)


def test_a_child_prepares_the_shapes_that_a_thread_of_its_parent_was_preparing(
    make_runtime: Callable[..., Runtime],
) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((None, 2)))
    network.add_output("y", network.add_floor(x))
    model = make_runtime(Waiting).load_model(network, ["Waiting"])
    inputs = {"x": np.ones((3, 2), np.float32)}
    thread = threading.Thread(target=model.run, args=(inputs,), name="prepares")
    thread.start()
    Waiting.began.wait()
    status = status_of_child(lambda: model.run(inputs))
    Waiting.may_go.set()
    thread.join()
    assert status == 0
    assert model.run(inputs)["y"].shape == (3, 2)
