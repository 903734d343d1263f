# SPDX-License-Identifier: MIT
"""Damaged requests end in answers, never in a crash."""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import isolated_backends as samples
import numpy as np
import pytest
from damaged_documents import damaged
from worker_in_thread import workers_in_threads

from armnn import Network, Runtime, TensorInfo
from armnn.backends.worker.protocol import ProtocolError
from armnn.backends.worker.worker import Served

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends.worker.protocol import Document

CASES = 60


class Recording:
    """Keeps the requests of a host, with their descriptors."""

    def __init__(self) -> None:
        self.requests: list[tuple[Document, list[bytes], list[int]]] = []

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        answer = Served.answer

        def recorded(served: Any, request: Document, blobs: Sequence[memoryview]) -> Any:
            kept = [os.dup(each) for each in served._descriptors]
            self.requests.append((request, [bytes(each) for each in blobs], kept))
            return answer(served, request, blobs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Served, "answer", recorded)
            yield

    def close(self) -> None:
        for _, _, descriptors in self.requests:
            for each in descriptors:
                os.close(each)


@pytest.fixture(params=["isolated:Compiling", "board://desk/Compiling"])
def recording(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield the requests of one load and run."""
    import armnn

    monkeypatch.setenv("ARMNN_BOARD_desk", "armnn worker")
    network = Network("two")
    x = network.add_input("x", TensorInfo((4, 5)))
    made = network.add_activation(x, function="ReLu")
    network.add_output("y", network.add_addition(made, np.ones((4, 5), np.float32)))
    found = Recording()
    with (
        armnn.register_backend("Compiling", samples.Compiling),
        armnn.register_backend("Adding", samples.Adding),
        workers_in_threads(),
        found(),
        Runtime() as runtime,
    ):
        model = runtime.load_model(network, [request.param, "Adding"])
        given: NDArray[Any] = np.full((4, 5), -1, np.float32)
        np.testing.assert_array_equal(model.run({"x": given})["y"], np.ones((4, 5)))
    yield found.requests
    found.close()


def test_a_damaged_request_is_answered_or_refused(recording: Any) -> None:
    numbers, refused = random.Random(4), 0
    before = set(threading.enumerate())
    for number in range(CASES):
        descriptors: list[int] = []
        served = Served(samples.Compiling(), descriptors)
        at = number % len(recording)
        for position, (document, blobs, kept) in enumerate(recording):
            asked = damaged(document, numbers) if position == at else document
            is_lane = document["do"] == "lane"  # each has eventfds of its own
            descriptors += [os.eventfd(0) if is_lane else os.dup(each) for each in kept]
            given = [memoryview(each) for each in blobs]
            if position == at and given and numbers.random() < 0.5:
                given = [each[: numbers.randint(0, len(each))] for each in given]
            try:
                served.answer(asked, given)
            except Exception:
                refused += 1
            while descriptors:
                os.close(descriptors.pop())
        served.close()
    assert refused > CASES // 4
    for each in set(threading.enumerate()) - before:
        each.join(20)
        assert not each.is_alive(), "the thread of a step outlives it"


def test_a_number_is_given_once(recording: Any) -> None:
    descriptors: list[int] = []
    served = Served(samples.Compiling(), descriptors)
    before = threading.active_count()
    for document, blobs, kept in recording:
        given = [memoryview(each) for each in blobs]
        descriptors += [os.dup(each) for each in kept]
        served.answer(document, given)
        if "number" in document:
            descriptors += [os.dup(each) for each in kept]
            with pytest.raises(ProtocolError, match="given already"):
                served.answer(document, given)
            while descriptors:
                os.close(descriptors.pop())
    assert threading.active_count() - before <= 2, "a step has two threads"
    served.close()
