# SPDX-License-Identifier: MIT
"""Models with states, against the loop that hands their states over, and a decoder's cache.

``ARMNN_STATE_STEPS=10000`` runs more steps.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import armnn
from armnn import Network, TensorInfo

Array = NDArray[Any]
STEPS = int(os.environ.get("ARMNN_STATE_STEPS", "150"))
BACKENDS = ["CpuAcc", "CpuRef"]
RATE = np.array(16000, np.int64)
MODELS: dict[str, Mapping[str, Any]] = {
    "silero_vad": {"states": "auto"},
    "silero_vad_step": {"states": "auto"},
    "silero_vad_sequence": {"states": "auto"},
    "wake_word_nabu_int8": {},
    "wake_word_alexa_int8": {},
    "wake_word_jarvis_int8": {},
}
PAIRS = {
    "silero_vad": {"state": "stateN"},
    "silero_vad_step": {"state": "stateN"},
    "silero_vad_sequence": {"h": "hn", "c": "cn"},
}


def inputs_of(model: armnn.LoadedNetwork, pairs: Mapping[str, str], seed: int) -> Iterator[Any]:
    """Yield the inputs of steps, without states."""
    random = np.random.default_rng(seed)
    info = {name: info for name, info in model.inputs.items() if name not in pairs}
    name = next(name for name in info if name != "sr")
    shape = (1, 576) if name == "input" else info[name].static_shape  # silero's is open
    for _ in range(STEPS):
        if info[name].data_type.is_float:
            x = random.standard_normal(shape).astype(np.float32) / 3
        else:
            x = random.integers(-128, 128, shape).astype(np.int8)
        yield {name: x, **({"sr": RATE} if "sr" in info else {})}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_keeps_its_states_as_a_loop_by_hand_does(
    model: Callable[[str], Path], name: str
) -> None:
    kept = armnn.load_model(model(name), BACKENDS, **MODELS[name])
    plain = armnn.load_model(model(name), BACKENDS)
    pairs = PAIRS.get(name) or {each: each for each in plain.inputs if each in plain.outputs}
    states = {
        each: np.full(
            [2, 1, 128] if name.startswith("silero") and each == "state" else info.static_shape,
            int(plain.metadata.get(f"initial {each}", 0)),
            info.data_type.numpy_dtype,
        )
        for each, info in plain.inputs.items()
        if each in pairs
    }
    streams = [kept.stream() for _ in range(4)]
    for each in (kept, *streams):
        each.set_states(states)
    for given in inputs_of(plain, pairs, 1):
        made = plain.run({**given, **states})
        states = {each: made.pop(output) for each, output in pairs.items()}
        found = kept.run(given)
        assert set(found) == set(made)
        assert all(found[each].tobytes() == made[each].tobytes() for each in made)
    assert all((kept.states()[each] == states[each]).all() for each in states)
    _check_threads(plain, streams, pairs, made, states)


def _check_threads(
    plain: armnn.LoadedNetwork,
    streams: list[Any],
    pairs: Mapping[str, str],
    last: Mapping[str, Array],
    states: Mapping[str, Array],
) -> None:
    """Check that four threads with four streams compute what one does."""
    right: list[bool] = []

    def work(stream: Any) -> None:
        found: Mapping[str, Array] = {}
        for given in inputs_of(plain, pairs, 1):
            found = stream.run(given)
        same = [found[each].tobytes() == last[each].tobytes() for each in last]
        kept = stream.states()
        right.append(all(same) and all((kept[each] == states[each]).all() for each in states))

    threads = [threading.Thread(target=work, args=(stream,)) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4


def decoder(capacity: Any, size: int = 64) -> Network:
    """Return a step of attention to a cache of keys and one of values."""
    network = Network("decoder")
    x = network.add_input("x", TensorInfo((1, 4, "rows", size)))
    at, count = (network.add_input(name, TensorInfo((1,), "Signed64")) for name in ("at", "count"))
    caches = []
    for name in ("key", "value"):
        past = network.add_input(f"past.0.{name}", TensorInfo((1, 4, capacity, size)))
        new = network.add_activation(x, function="TanH" if name == "key" else "Linear")
        caches.append(network.add_tensor_scatter(past, new, at, name=f"scatter {name}"))
        network.add_output(f"present.0.{name}", caches[-1])
    network.add_output("y", network.add_cached_attention(x, *caches, count, name="attention"))
    return network


@pytest.mark.parametrize("capacity", [64, "capacity"])
def test_the_caches_of_a_decoder_are_filled_in_place(capacity: Any) -> None:
    kept = armnn.load_model(decoder(capacity), BACKENDS, states="auto")
    plain = armnn.load_model(decoder(64), BACKENDS)
    reference = armnn.load_model(decoder(64), ["CpuRef"])
    random = np.random.default_rng(5)
    caches = {name: np.zeros((1, 4, 64, 64), np.float32) for name in ("key", "value")}
    stream, number = kept.stream(), 0
    for rows in (7, *[1] * 40):
        x = random.standard_normal((1, 4, rows, 64)).astype(np.float32)
        given = {"x": x, "at": np.array([number]), "count": np.array([number + rows])}
        given |= {f"past.0.{name}": array for name, array in caches.items()}
        made, expected = plain.run(given), reference.run(given)
        before = stream.copied_bytes
        found = stream.run({"x": x})
        assert stream.copied_bytes - before == 2 * x.nbytes
        if capacity == 64:
            assert found["y"].tobytes() == made["y"].tobytes()
        np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-4, atol=1e-5)
        caches = {name: made[f"present.0.{name}"] for name in caches}
        number += rows
        assert stream.length == number
    for name, array in caches.items():
        valid = stream.states()[f"past.0.{name}"]
        assert valid.tobytes() == array[:, :, :number].tobytes()


def onnx_decoder(capacity: int | str) -> onnx.ModelProto:
    """Return a step of a decoder of opset 24, with caches of a capacity."""

    def tensor(name: str, *shape: Any, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, shape)

    nodes = [
        helper.make_node(
            "TensorScatter", [f"past_key_values.0.{name}", name[0], "at"], [f"present.0.{name}"]
        )
        for name in ("key", "value")
    ]
    caches = [f"present.0.{name}" for name in ("key", "value")]
    nodes.append(helper.make_node("Attention", ["q", *caches, "", "", "", "count"], ["y"]))
    inputs = [tensor(name, 1, 2, "rows", 4) for name in "qkv"]
    inputs += [tensor(name, 1, kind=TensorProto.INT64) for name in ("at", "count")]
    past = [f"past_key_values.0.{name}" for name in ("key", "value")]
    inputs += [tensor(name, 1, 2, capacity, 4) for name in past]
    outputs = [tensor(name, 1, 2, capacity, 4) for name in caches]
    graph = helper.make_graph(nodes, "step", inputs, [tensor("y", 1, 2, "rows", 4), *outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])


@pytest.mark.parametrize("backends", [["CpuRef"], BACKENDS])
@pytest.mark.parametrize("capacity", [16, "capacity"])
def test_a_decoder_of_onnx_needs_no_new_shape(capacity: int | str, backends: list[str]) -> None:
    network = armnn.parse(onnx_decoder(capacity).SerializeToString(), suffix="onnx")
    stream = armnn.load_model(network, backends, states="auto").stream()
    standard = ReferenceEvaluator(onnx_decoder(16))
    keys = values = np.zeros((1, 2, 16, 4), np.float32)
    random, number = np.random.default_rng(2), 0
    for rows in (3, *[1] * 13):
        q, k, v = random.standard_normal((3, 1, 2, rows, 4)).astype(np.float32)
        given = {"q": q, "k": k, "v": v}
        counters = {"at": np.array([number]), "count": np.array([number + rows])}
        past = {"past_key_values.0.key": keys, "past_key_values.0.value": values}
        y, keys, values = standard.run(None, {**given, **counters, **past})
        before = stream.copied_bytes
        np.testing.assert_allclose(stream.run(given)["y"], y, rtol=1e-5, atol=1e-6)
        number += rows
        assert (stream.length, stream.copied_bytes - before) == (number, k.nbytes + v.nbytes)
    found = stream.states()
    assert found["past_key_values.0.key"].tobytes() == keys.tobytes()
    assert found["past_key_values.0.value"].tobytes() == values.tobytes()


def test_a_step_does_not_take_longer_with_the_capacity() -> None:
    x = np.ones((1, 4, 1, 64), np.float32)
    calls = []
    for capacity in (256, 32768):  # two of 0.25 and of 32 MB: copies of the latter take 7 ms
        stream = armnn.load_model(decoder(capacity), BACKENDS, states="auto").stream()
        calls.append(stream.bind({"x": x}))
    best = [min(_seconds(call) for _ in range(40)) for call in calls]
    assert best[1] < 0.002 + 3 * best[0]


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
