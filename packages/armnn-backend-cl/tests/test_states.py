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
from armnn.errors import ExecutionError
from armnn_backend_cl.device import open_device
from armnn_backend_cl.layers.table import LOWERINGS

Array = NDArray[Any]
ONLY = ["GpuAcc"]
WIDE = 40
STEPS = 10


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """Return the copies to the device and from it, by direction and bytes, and those on it."""
    counts: Counter[tuple[str, int]] = Counter()
    copy, launch = cl.enqueue_copy, cl.enqueue_nd_range_kernel

    def counted(queue: Any, target: Any, source: Any, **options: Any) -> Any:
        if isinstance(source, np.ndarray):
            counts["up", source.nbytes] += 1
        else:
            counts["down", target.nbytes] += 1
        return copy(queue, target, source, **options)

    def launched(queue: Any, kernel: Any, *sizes: Any) -> Any:
        counts["on it", 0] += kernel.function_name == "copy"
        return launch(queue, kernel, *sizes)

    monkeypatch.setattr(cl, "enqueue_copy", counted)
    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", launched)
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
    of_device = f"opencl:{open_device().index}"
    for number, stream in enumerate((model, model.stream())):
        stream.run({"x": xs()[0]})
        # A run reads one tensor of a state and writes the other.
        assert model.memory[of_device]["states"] == (number + 1) * 2 * (2 * WIDE * 4)
        assert model.memory["armnn.host"]["states"] == 0
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


def cache(capacity: int | str) -> Network:
    """Return a step that adds rows to a cache of two items, and half of all rows."""
    network = Network("cache")
    x = network.add_input("x", TensorInfo((2, 4, "rows", 16)))
    past = network.add_input("past", TensorInfo((2, 4, capacity, 16)))
    at = network.add_input("at", TensorInfo((1,), "Signed64"))
    rows = network.add_tensor_scatter(past, network.add_activation(x, function="Abs"), at)
    network.add_output("present", rows)
    half = network.add_constant(np.full((1, 1, 1, 1), 0.5, np.float32))
    network.add_output("y", network.add_multiplication(rows, half))
    return network


@pytest.mark.parametrize("capacity", [300, "capacity"])
def test_a_cache_takes_new_rows_only(capacity: int | str, moved: Counter[tuple[str, int]]) -> None:
    model = armnn.load_model(cache(capacity), ONLY, states="auto")
    stream = model.stream()
    expected = np.zeros((2, 4, 512, 16), np.float32)
    random = np.random.default_rng(3)
    length = 0
    for rows in (5, 1, 1, 1, -3, 1, 248, 1):
        if rows < 0:
            stream.rewind(length + rows)
            length += rows
            continue
        x = random.standard_normal((2, 4, rows, 16)).astype(np.float32)
        moved.clear()
        before = stream.copied_bytes
        y = stream.run({"x": x})["y"]
        expected[:, :, length : length + rows] = abs(x)
        length += rows
        np.testing.assert_array_equal(y[:, :, :length], expected[:, :, :length] / 2)
        if length <= 5 + 3:  # the later ones are fed into a larger cache, or bring rows back
            assert stream.copied_bytes - before == x.nbytes
        if rows == 1 and length in (7, 8):  # as in the call before: no plan, no memory is made
            del moved["down", 8]  # whether the position was wrong
            copies = {("up", x.nbytes): 1, ("up", 8): 1, ("down", y.nbytes): 1, ("on it", 0): 0}
            assert moved == copies
    assert set(model.report.layers_by_backend) == {"GpuAcc"}
    kept = stream.states()["past"]
    assert kept.shape == (2, 4, length, 16)
    np.testing.assert_array_equal(kept, expected[:, :, :length])
    moved.clear()
    stream.reset()  # the rows that there were are zeros again, as in a new stream
    assert moved == {("up", length * 16 * 4): 2 * 4}
    assert not stream.run({"x": np.zeros((2, 4, 1, 16), np.float32)})["y"].any()
    moved.clear()
    stream.set_states({"past": kept[:, :, :100]})
    assert moved == {("up", 100 * 16 * 4): 2 * 4}
    np.testing.assert_array_equal(stream.states()["past"], kept[:, :, :100])
    other = model.stream()
    other.set_states({"past": kept[:, :, :100]})
    assert other.length == 100
    np.testing.assert_array_equal(other.states()["past"], kept[:, :, :100])


def test_a_place_outside_of_the_cache_is_an_error() -> None:
    model = armnn.load_model(cache(8), ONLY)
    given = {"x": np.ones((2, 4, 2, 16), np.float32), "past": np.zeros((2, 4, 8, 16), np.float32)}
    for place in (7, -1):
        with pytest.raises(ExecutionError, match=r"position -?\d on do not fit .* 0 to 6"):
            model.run({**given, "at": np.array([place])})
    np.testing.assert_array_equal(model.run({**given, "at": np.array([6])})["y"][..., 6:, :], 0.5)


def test_a_cache_that_the_host_reads_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(LOWERINGS, "ArgMinMax")
    network = cache(8)
    rows = network.outputs[0].inputs[0]
    assert rows is not None
    network.add_output("greatest", network.add_arg_min_max(rows, function="Max", axis=-1))
    model = armnn.load_model(network, ["GpuAcc", "CpuRef"])
    model.prepare({"x": (2, 4, 1, 16)})
    (row,) = (each for each in model.report if each.type == "TensorScatter")
    assert row.backend == "CpuRef"
    assert "reads its output on the host" in str(row)


def test_a_decoders_step_stays_on_the_device(moved: Counter[tuple[str, int]]) -> None:
    def network(capacity: int | str = 100) -> Network:
        made = Network("decoder")
        x = made.add_input("x", TensorInfo((1, 4, "rows", 24)))
        at, count = (made.add_input(name, TensorInfo((1,), "Signed64")) for name in ("at", "count"))
        caches = []
        for name, function in (("key", "Abs"), ("value", "Square")):
            past = made.add_input(f"past.0.{name}", TensorInfo((1, 4, capacity, 24)))
            new = made.add_activation(x, function=function)
            caches.append(made.add_tensor_scatter(past, new, at))
            made.add_output(f"present.0.{name}", caches[-1])
        made.add_output("y", made.add_cached_attention(x, *caches, count, name="attention"))
        return made

    kept = armnn.load_model(network(), ONLY, states="auto").stream()
    reference = armnn.load_model(network(), ["CpuRef"], states="auto").stream()
    random = np.random.default_rng(4)
    for rows in (70, 1, 1, 1):  # more keys than a group of work items takes at once
        x = random.standard_normal((1, 4, rows, 24)).astype(np.float32)
        moved.clear()
        found = kept.run({"x": x})["y"]
        np.testing.assert_allclose(found, reference.run({"x": x})["y"], rtol=1e-4, atol=1e-5)
    del moved["down", 8]  # whether lengths were wrong
    assert moved == {("up", 8): 2, ("up", x.nbytes): 1, ("down", x.nbytes): 1, ("on it", 0): 0}

    growing, reference = (
        armnn.load_model(network("capacity"), [each], states="auto").stream()
        for each in ("GpuAcc", "CpuRef")
    )
    x = random.standard_normal((1, 4, 254, 24)).astype(np.float32)
    growing.run({"x": x})
    reference.run({"x": x})
    call = growing.bind({"x": (1, 4, 1, 24)})
    for _ in range(4):  # beyond the 256 rows that it begins with
        x = random.standard_normal((1, 4, 1, 24)).astype(np.float32)
        call.inputs["x"][...] = x
        np.testing.assert_allclose(call()["y"], reference.run({"x": x})["y"], rtol=1e-4, atol=1e-5)
    assert isinstance(call.states["past.0.key"], armnn.Buffer)
