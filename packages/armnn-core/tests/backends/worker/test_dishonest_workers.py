# SPDX-License-Identifier: MIT
"""Damaged answers of workers cost no answer of a network."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import isolated_backends as samples
import numpy as np
import pytest
from damaged_documents import damaged
from worker_in_thread import workers_in_threads

import armnn
from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.backends.worker.protocol import Message, packed
from armnn.errors import BackendUnavailableError, WorkerLostError

if TYPE_CHECKING:
    from numpy.typing import NDArray

GIVEN = np.linspace(-2, 2, 20, dtype=np.float32).reshape(4, 5)
BOARD = "board://desk/Compiling"
CASES = 30


@pytest.fixture(autouse=True)
def _registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kinds = (samples.Honest, samples.Compiling)
    for kind in kinds:
        armnn.register_backend(kind.id, kind)
    yield
    for kind in kinds:
        armnn.unregister_backend(kind.id)


def network() -> Network:
    made = Network("two")
    x = made.add_input("x", TensorInfo(GIVEN.shape))
    first = made.add_activation(x, function="ReLu", name="first")
    made.add_output("y", made.add_activation(first, function="ReLu", name="second"))
    return made


def answers(first_choice: str) -> tuple[NDArray[Any], list[str]]:
    """Return a network's answer, and which faults were seen."""
    isolate = () if first_choice == BOARD else (first_choice,)
    options = CreationOptions(isolate=isolate, boards={"desk": ["armnn", "worker"]})
    with Runtime(options) as runtime:
        try:
            model = runtime.load_model(network(), [first_choice, "Honest"])
        except (BackendUnavailableError, WorkerLostError) as error:
            return np.maximum(GIVEN, 0), [str(error)]  # of a backend that the caller named
        found = model.run({"x": GIVEN})["y"]
        found = model.run({"x": GIVEN})["y"] if np.array_equal(found, GIVEN.clip(0)) else found
        return found, list(model.faults)


class Damage:
    """Damages one answer of a worker."""

    def __init__(self, numbers: random.Random, at: int, change: Callable[..., Any]) -> None:
        self.count = 0
        self._numbers = numbers
        self._at = at
        self._change = change

    def __call__(self, frame: Message) -> Any:
        self.count += 1
        return self._change(frame, self._numbers) if self.count == self._at else frame


def other_document(frame: Message, numbers: random.Random) -> Message:
    document = {"nothing": 1, **frame.document}
    return replace(frame, document=damaged(document, numbers))


def other_bytes(frame: Message, numbers: random.Random) -> bytes:
    raw = bytearray(b"".join(packed(replace(frame, blobs=()))))
    for _ in range(numbers.randint(1, 4)):
        raw[numbers.randrange(len(raw))] = numbers.randrange(256)
    return bytes(raw[: numbers.randint(1, len(raw))])


def other_sequence(frame: Message, numbers: random.Random) -> Message:
    return replace(frame, sequence=frame.sequence - 1 + 2 * numbers.randint(0, 1))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["layers"], [1, 0], "layer 'second' is listed before a layer that it reads"),
        (["inputs"], [[1, 0]], "a subgraph reads layer 'first', which is replaced"),
        (["outputs"], [[1, 0]], "layer 'second' is replaced or deleted, but 'y' reads it"),
        (["replacement", 1, "backend"], "Honest", "layer 'compiled' is given to 'Honest'"),
        (["replacement", 1, "backend"], [], "layer 'compiled' is given to []"),
        (["replacement", 1, "program", "number"], 2, "refused a request: there is no program 2"),
    ],
)
def test_views_that_cannot_be_carried_out_are_a_fault_of_the_worker(
    caplog: pytest.LogCaptureFixture, place: list[Any], value: Any, message: str
) -> None:
    def change(reply: Message) -> Message:
        if "views" in reply.document:
            found = reply.document["views"]["substitutions"][0]
            for key in place[:-1]:
                found = found[key]
            found[place[-1]] = value
        return reply

    with workers_in_threads(change):
        found, _ = answers("Compiling")
    assert message in caplog.text
    np.testing.assert_array_equal(found, np.maximum(GIVEN, 0))


@pytest.mark.parametrize("change", [other_document, other_bytes, other_sequence])
@pytest.mark.parametrize("place", ["Compiling", BOARD])
def test_a_damaged_answer_costs_none_of_the_network(place: str, change: Callable[..., Any]) -> None:
    with workers_in_threads(whole := Damage(random.Random(0), 0, change)):
        found, faults = answers(place)
    assert not faults
    np.testing.assert_array_equal(found, np.maximum(GIVEN, 0))
    numbers, seen = random.Random(f"{place} {change.__name__}"), 0
    for number in range(CASES):
        with workers_in_threads(Damage(numbers, 1 + number % whole.count, change)):
            found, faults = answers(place)
        np.testing.assert_array_equal(found, np.maximum(GIVEN, 0))
        seen += bool(faults)
    assert seen > 3
