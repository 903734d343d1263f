# SPDX-License-Identifier: MIT
"""States in the memory of a device: what goes up and down, and what a loop by hand computes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import Network, TensorInfo
from armnn.errors import DeadlineExceededError
from fakes.devices import Counts, QueuedBackend, SecondQueue, UnplacedBackend

Array = NDArray[Any]
WIDE = 32
STEPS = 10


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    kinds = (QueuedBackend, SecondQueue, UnplacedBackend)
    for kind in kinds:
        armnn.register_backend(kind.id, kind)
    yield
    for kind in kinds:
        armnn.unregister_backend(kind.id)
        kind.device.seconds = 0


def cell(squashed: bool = False) -> Network:
    """Return a gated unit and an output of it: h + sigmoid(x z) (tanh(x n + h u) - h).

    Args:
        squashed: Whether an activation makes the next value, which the output does not wait for.
    """
    network = Network("cell")
    x = network.add_input("x", TensorInfo((1, WIDE)))
    h = network.add_input("h", TensorInfo((1, WIDE)))
    new = network.add_addition(_dense(network, h, 3), _dense(network, x, 2))
    gate = network.add_activation(_dense(network, x, 1), function="Sigmoid")
    new = network.add_activation(new, function="TanH", a=1.0, b=1.0)
    minus = network.add_multiplication(h, network.add_constant(np.full((1, 1), -1, np.float32)))
    step = network.add_multiplication(gate, network.add_addition(new, minus))
    following = network.add_addition(h, step)
    network.add_output("y", _dense(network, following, 4))
    if squashed:
        following = network.add_activation(following, function="TanH", a=1.0, b=1.0)
    network.add_output("h_out", following)
    return network


def _dense(network: Network, value: Any, seed: int) -> Any:
    weights = np.random.default_rng(seed).normal(0, 0.3, (WIDE, WIDE)).astype(np.float32)
    return network.add_fully_connected(value, weights, np.full(WIDE, 0.1, np.float32))


def xs(seed: int = 0) -> list[Array]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((1, WIDE)).astype(np.float32) for _ in range(STEPS)]


def by_hand(backends: list[str], seed: int = 0, squashed: bool = False) -> list[Array]:
    """Return the outputs of a loop that hands the state over."""
    model = armnn.load_model(cell(squashed), backends)
    h, made = np.zeros((1, WIDE), np.float32), []
    for x in xs(seed):
        found = model.run({"x": x, "h": h})
        h = found["h_out"]
        made.append(found["y"])
    return made


def same(found: list[Array], expected: list[Array]) -> bool:
    return [each.tobytes() for each in found] == [each.tobytes() for each in expected]


def counted(kind: type[QueuedBackend], before: Counts | None = None) -> Counts:
    now = replace(kind.device.counts)
    return now if before is None else now.since(before)


@pytest.mark.parametrize("kind", [QueuedBackend, UnplacedBackend])
def test_runs_move_their_inputs_and_outputs_only(kind: type[QueuedBackend]) -> None:
    expected = by_hand([kind.id])
    model = armnn.load_model(cell(), [kind.id], states={"h_out": "h"})
    model.run({"x": xs()[0]})
    model.reset()
    before = counted(kind)
    assert same([model.run({"x": x})["y"] for x in xs()], expected)
    moved = counted(kind, before)
    assert (moved.uploads, moved.downloads, moved.buffers) == (STEPS, STEPS, 0)
    stream = model.stream()
    assert same([stream.run({"x": x})["y"] for x in xs()], expected)
    assert stream.copied_bytes == 0


def test_bound_calls_have_buffers_of_the_device_as_states() -> None:
    device = QueuedBackend.device
    expected = by_hand(["Queued"])
    model = armnn.load_model(cell(), ["Queued"])
    call = model.bind({"x": (1, WIDE)}, states={"h": "h_out"})
    made, before = [], counted(QueuedBackend)
    for x in xs():
        call.inputs["x"][...] = x
        made.append(call()["y"].copy())
    moved = counted(QueuedBackend, before)
    assert same(made, expected)
    assert (moved.uploads, moved.downloads) == (STEPS, STEPS)
    assert set(call.copied) == {"x", "y"}
    state = call.states["h"]
    assert isinstance(state, armnn.Buffer)
    device.read(state)[...] = 0
    call.inputs["x"][...] = xs()[0]
    assert call()["y"].tobytes() == expected[0].tobytes()


def test_a_call_on_tensors_of_the_device_moves_nothing() -> None:
    device = QueuedBackend.device
    expected = by_hand(["Queued"])
    stream = armnn.load_model(cell(), ["Queued"], states={"h_out": "h"}).stream()
    x, y = device.tensor(xs()[0]), device.tensor(np.zeros((1, WIDE), np.float32))
    call = stream.bind({"x": x}, {"y": y})
    before = counted(QueuedBackend)
    for number, each in enumerate(xs()):
        device.read(x)[...] = each
        call()
        assert device.read(y).tobytes() == expected[number].tobytes()
    moved = counted(QueuedBackend, before)
    assert (moved.uploads, moved.downloads) == (0, 0)


def test_states_are_saved_set_and_reset() -> None:
    expected = by_hand(["Queued"])
    model = armnn.load_model(cell(), ["Queued"], states={"h_out": "h"})
    first, second = model.stream(), model.stream()
    for x in xs()[:4]:
        first.run({"x": x})
    saved = first.states()
    second.run({"x": xs()[9]})
    second.set_states(saved)
    for stream in (first, second):
        assert same([stream.run({"x": x})["y"] for x in xs()[4:]], expected[4:])
        stream.reset()
        assert not stream.states()["h"].any()
        assert same([stream.run({"x": x})["y"] for x in xs()], expected)
    target = np.empty((1, WIDE), np.float32)
    first.run({"x": xs()[0]}, {"h_out": target})
    assert target.tobytes() == first.states()["h"].tobytes()


def test_streams_of_four_threads_do_not_disturb_each_other() -> None:
    model = armnn.load_model(cell(), ["Queued"], states={"h_out": "h"})
    right: list[bool] = []

    def work(seed: int) -> None:
        stream = model.stream()
        found = [stream.submit({"x": x}).result()["y"] for x in xs(seed)]
        right.append(same(found, wanted[seed]))

    wanted = [by_hand(["Queued"], seed) for seed in range(4)]
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4


def test_a_run_out_of_time_leaves_the_states_of_before() -> None:
    expected = by_hand(["Queued"])
    stream = armnn.load_model(cell(), ["Queued"], states={"h_out": "h"}).stream()
    for number, x in enumerate(xs()):
        if number in (2, 3):
            QueuedBackend.device.seconds = 0.02  # what the device still does is not waited for
            with pytest.raises(DeadlineExceededError):
                stream.run({"x": xs(1)[0]}, timeout=0.03)
            QueuedBackend.device.seconds = 0
        assert stream.run({"x": x})["y"].tobytes() == expected[number].tobytes()


@pytest.mark.parametrize("slow", [QueuedBackend, SecondQueue])
def test_two_queues_on_one_memory_wait_for_each_other(slow: type[QueuedBackend]) -> None:
    backends = ["SecondQueue", "Queued"]
    expected = by_hand(backends, squashed=True)
    stream = armnn.load_model(cell(squashed=True), backends, states={"h_out": "h"}).stream()
    slow.device.seconds = 0.003
    ups = [counted(each) for each in (QueuedBackend, SecondQueue)]
    found = [stream.run({"x": x})["y"] for x in xs()]
    slow.device.seconds = 0
    assert same(found, expected)
    moved = [counted(*each) for each in zip((QueuedBackend, SecondQueue), ups, strict=True)]
    assert sum(each.uploads for each in moved) == STEPS + 1  # the value that it begins with


def test_a_state_that_another_memory_takes_part_in_stays_on_the_host() -> None:
    network = Network("mixed")
    h = network.add_input("h", TensorInfo((1, WIDE)))
    value = network.add_addition(network.add_input("x", TensorInfo((1, WIDE))), h)
    network.add_output("h_out", network.add_softmax(value))
    call = armnn.load_model(network, ["Queued", "CpuRef"]).bind(
        {"x": (1, WIDE)}, states={"h": "h_out"}
    )
    assert isinstance(call.states["h"], np.ndarray)
    assert set(call.copied) == {"x", "h"}
    expected = np.zeros((1, WIDE))
    for x in xs():
        call.inputs["x"][...] = x
        call()
        powers = np.exp(expected + x)
        expected = powers / powers.sum()
        np.testing.assert_allclose(call.states["h"], expected, rtol=1e-5)


def test_a_plan_with_a_state_elsewhere_copies_it(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network("decay")
    h = network.add_input("h", TensorInfo((1, WIDE)))
    x = network.add_input("x", TensorInfo(("rows", WIDE)))
    network.add_output("h_out", network.add_activation(h, function="TanH", a=0.5, b=0.5))
    network.add_output("y", network.add_addition(x, h))
    stream = armnn.load_model(network, ["Queued", "CpuRef"], states={"h_out": "h"}).stream()
    value = np.linspace(-1, 1, WIDE, dtype=np.float32).reshape(1, WIDE)
    stream.set_states({"h": value})
    layers = QueuedBackend.layers
    for rows in (1, 2, 1, 2):  # only the plan of two rows is made while there is no activation
        monkeypatch.setattr(QueuedBackend, "layers", layers if rows == 1 else ("Addition",))
        before = stream.copied_bytes
        made = stream.run({"x": np.ones((rows, WIDE), np.float32)})["y"]
        np.testing.assert_allclose(made, np.repeat(value + 1, rows, axis=0), rtol=1e-6)
        assert stream.copied_bytes - before == (0 if rows == 1 else 2 * value.nbytes)
        value = 0.5 * np.tanh(0.5 * value)
    np.testing.assert_allclose(stream.states()["h"], value, rtol=1e-6)


def test_states_are_in_no_working_memory() -> None:
    network = Network("wide")
    info = TensorInfo((1, 1 << 14))
    h = network.add_input("h", info)
    total = network.add_addition(h, network.add_input("x", TensorInfo((1, 1))))
    network.add_output("h_out", total)
    network.add_output("y", network.add_fully_connected(total, np.ones((1 << 14, 1), np.float32)))
    model = armnn.load_model(network, ["Queued"], states={"h_out": "h"})
    model.run({"x": np.ones((1, 1), np.float32)})
    before = counted(QueuedBackend)
    assert model.stream().run({"x": np.ones((1, 1), np.float32)})["y"] == 1 << 14
    made = counted(QueuedBackend, before)
    # The two tensors of the state, and the place of x, then of y, in each of two contexts.
    assert made.bytes == 2 * 4 * (1 << 14) + 2 * QueuedBackend.alignment
