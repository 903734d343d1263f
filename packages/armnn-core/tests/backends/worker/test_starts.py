# SPDX-License-Identifier: MIT
"""Starts of workers that fail, or that others cross."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import isolated_backends as samples
import pytest
from worker_in_thread import workers_in_threads

import armnn
from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.backends.worker import connection
from armnn.backends.worker.connection import START_SECONDS, WorkerConnection
from armnn.backends.worker.supervisor import Supervisor
from armnn.errors import BackendUnavailableError, WorkerLostError


def test_a_process_that_cannot_be_started_leaves_no_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def child(*_: object, **__: object) -> None:
        raise OSError("none today")

    monkeypatch.setattr(connection, "Child", child)
    network = Network("abs")
    network.add_output("y", network.add_activation(network.add_input("x", TensorInfo((2,)))))
    with (
        armnn.register_backend("Hostile", samples.Hostile),
        Runtime(CreationOptions(isolate=["Hostile"])) as runtime,
    ):
        before = set(os.listdir("/proc/self/fd"))
        with pytest.raises(BackendUnavailableError, match="no process can be started: none today"):
            runtime.load_model(network, ["Hostile"])
        assert set(os.listdir("/proc/self/fd")) == before


class Meanwhile(threading.Condition):
    """Lets something happen before it is entered next."""

    happens: Callable[[], object] | None = None

    def __enter__(self) -> bool:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        return super().__enter__()


@contextmanager
def closed_supervisor() -> Iterator[Supervisor]:
    """Lend a supervisor without a worker.

    All that it opens must be closed in the end.
    """
    with (
        armnn.register_backend("Honest", samples.Honest),
        workers_in_threads(),
        Runtime(CreationOptions(isolate=["Honest"])) as runtime,
    ):
        supervisor = runtime.registry.get("Honest").supervisor
        supervisor.close()
        before = set(os.listdir("/proc/self/fd"))
        yield supervisor
        assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("is_closing", [False, True])
def test_a_worker_that_is_started_and_lost_meanwhile_is_closed(
    monkeypatch: pytest.MonkeyPatch, *, is_closing: bool
) -> None:
    def start_and_lose() -> None:
        link = supervisor.link()
        with monkeypatch.context() as patch:  # the thread that loses it is on its way to say so
            patch.setattr(link, "_lost", lambda _: None)
            link.lose("broke")
        supervisor._is_closed = is_closing

    with closed_supervisor() as supervisor:
        supervisor._state = state = Meanwhile()
        state.happens = start_and_lose
        with pytest.raises(WorkerLostError, match="broke"):
            supervisor.link(wait=False)
        if not is_closing:
            assert supervisor.wait(START_SECONDS)
            assert "broke" in str(supervisor.faults[-1]), "it is noted"
        supervisor.close()


@pytest.mark.parametrize("moment", ["before", "meanwhile"])
def test_a_backend_collected_by_the_thread_that_starts_its_worker_leaves_none(
    monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def close(*_: object) -> None:
        ended.append(threading.current_thread())
        supervisor.close()

    def started_and_closed(own: Supervisor) -> WorkerConnection:
        made = started(own)
        close()
        return made

    ended: list[threading.Thread] = []
    started = Supervisor._started
    with closed_supervisor() as supervisor:
        link = supervisor.link()
        if moment == "before":
            monkeypatch.setattr(supervisor, "_tell", close)
        else:
            monkeypatch.setattr(Supervisor, "_started", started_and_closed)
        link.lose("broke")
        assert supervisor.wait(START_SECONDS) is False
        (thread,) = ended
        thread.join(START_SECONDS)
