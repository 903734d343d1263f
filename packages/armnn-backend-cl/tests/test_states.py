# SPDX-License-Identifier: MIT
"""States in the memory of an OpenCL device: what moves, and what a loop by hand computes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from numpy.typing import NDArray

import armnn
from armnn import Network, TensorInfo

Array = NDArray[Any]
ONLY = ["GpuAcc"]
WIDE = 40
STEPS = 10


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """Return the copies to the device and from it, by direction and bytes."""
    counts: Counter[tuple[str, int]] = Counter()
    copy = cl.enqueue_copy

    def counted(queue: Any, target: Any, source: Any, **options: Any) -> Any:
        if isinstance(source, np.ndarray):
            counts["up", source.nbytes] += 1
        else:
            counts["down", target.nbytes] += 1
        return copy(queue, target, source, **options)

    monkeypatch.setattr(cl, "enqueue_copy", counted)
    return counts


def cell() -> Network:
    """Return a gated recurrent unit, whose next value is h + update (new - h)."""
    network = Network("cell")
    x = network.add_input("x", TensorInfo((2, 3)))
    h = network.add_input("h", TensorInfo((2, WIDE)))

    def gate(seed: int, hidden: Any, function: str) -> Any:
        made = network.add_addition(_dense(network, x, seed), _dense(network, hidden, seed + 1))
        return network.add_activation(made, function=function, a=1.0, b=1.0)

    update, kept = gate(1, h, "Sigmoid"), gate(3, h, "Sigmoid")
    new = gate(5, network.add_multiplication(kept, h), "TanH")
    step = network.add_multiplication(update, network.add_subtraction(new, h))
    following = network.add_addition(h, step)
    network.add_output("h_out", following)
    network.add_output("y", _dense(network, following, 7, WIDE // 8))
    return network


def _dense(network: Network, value: Any, seed: int, size: int = WIDE) -> Any:
    random = np.random.default_rng(seed)
    weights = random.normal(0, 0.4, (value.info.shape[1], size)).astype(np.float32)
    bias = network.add_constant(random.normal(0, 0.4, size).astype(np.float32))
    return network.add_fully_connected(value, network.add_constant(weights), bias)


def xs() -> list[Array]:
    random = np.random.default_rng(0)
    return [random.standard_normal((2, 3)).astype(np.float32) for _ in range(STEPS)]


def by_hand(backend: str = "GpuAcc") -> list[Array]:
    """Return the outputs of a loop that hands the state over."""
    model = armnn.load_model(cell(), [backend])
    h, made = np.zeros((2, WIDE), np.float32), []
    for x in xs():
        found = model.run({"x": x, "h": h})
        h = found["h_out"]
        made.append(found["y"])
    return made


Y = 2 * (WIDE // 8) * 4
STEADY = Counter({("up", 24): STEPS, ("down", Y): STEPS})


def test_ten_runs_move_ten_inputs_and_ten_outputs(moved: Counter[tuple[str, int]]) -> None:
    expected = by_hand()
    np.testing.assert_allclose(expected, by_hand("CpuRef"), rtol=1e-4, atol=1e-5)
    model = armnn.load_model(cell(), ONLY, states={"h_out": "h"})
    for stream in (model, model.stream()):
        stream.run({"x": xs()[0]})
        stream.reset()
        moved.clear()
        found = [stream.run({"x": x})["y"] for x in xs()]
        assert moved == STEADY
        assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]
        kept = stream.states()
        assert kept["h"].any()
        stream.reset()
        stream.set_states(kept)
        assert stream.states()["h"].tobytes() == kept["h"].tobytes()
        assert stream.run({"x": xs()[0]}, timeout=60)["y"].any()


def test_a_bound_call_moves_its_arrays_only(moved: Counter[tuple[str, int]]) -> None:
    expected = by_hand()
    call = armnn.load_model(cell(), ONLY).bind({"x": (2, 3)}, states={"h": "h_out"})
    moved.clear()
    for x, y in zip(xs(), expected, strict=True):
        call.inputs["x"][...] = x
        assert call()["y"].tobytes() == y.tobytes()
    assert moved == STEADY
    assert isinstance(call.states["h"], armnn.Buffer)
