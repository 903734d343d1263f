# SPDX-License-Identifier: MIT
"""A small decoder as onnxruntime's exporters write them: every token's logits as onnxruntime's."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

import armnn
from armnn.backends.memory import HostAllocator
from armnn.buffer import Buffer
from armnn.errors import CancelledError, ExecutionError, InvalidArgumentError
from armnn.optimizer import OptimizedNetwork
from armnn.runtime import states
from armnn.tensor import TensorInfo
from fakes.decoders import GROUPS, LAYERS, SIZE, decoder

Array = NDArray[Any]

WORDS, PLACES, CAPACITY = 96, 32, 24
RNG = np.random.default_rng(11)


def mask(total: int) -> Array:
    """Return a mask of two items with room for all tokens, of which so many are there."""
    return np.repeat((np.arange(CAPACITY) < total).astype(np.int64)[None], 2, 0)


def caches(batch: int, length: int) -> dict[str, Array]:
    shape = (batch, GROUPS, length, SIZE)
    names = [f"past_key_values.{i}.{p}" for i in range(LAYERS) for p in ("key", "value")]
    return {name: np.zeros(shape, np.float32) for name in names}


def next_caches(results: dict[str, Array]) -> dict[str, Array]:
    return {
        f"past_key_values{name.removeprefix('present')}": each
        for name, each in results.items()
        if name != "logits"
    }


@pytest.mark.parametrize("points", ["none", "packed", "real"])
@pytest.mark.parametrize("backends", [["CpuRef"], ["CpuAcc"]], ids=["CpuRef", "CpuAcc"])
def test_each_token_is_onnxruntimes(points: str, backends: list[str]) -> None:
    content = decoder(points)
    session = ort.InferenceSession(content)
    names = [each.name for each in session.get_outputs()]
    tokens = RNG.integers(0, WORDS, (2, 5))
    total = 5
    theirs, ours = caches(2, 0), caches(2, CAPACITY)
    with armnn.Runtime() as runtime:
        model = runtime.load_network(
            runtime.optimize(armnn.parse(content, suffix="onnx"), backends=backends)
        )
        for _ in range(8):
            feeds = {"input_ids": tokens, "attention_mask": np.ones((2, total), np.int64)}
            expected = dict(zip(names, session.run(None, {**feeds, **theirs}), strict=True))
            # The mask has room for all tokens, so that no step but the first has another shape.
            seen = mask(total)
            results = model.run({"input_ids": tokens, "attention_mask": seen, **ours})
            largest = np.abs(expected["logits"]).max()
            assert np.abs(results["logits"] - expected["logits"]).max() < 3e-4 * largest
            for name, cache in next_caches(expected).items():
                kept = results[name.replace("past_key_values", "present")]
                assert kept.shape[2] == CAPACITY
                difference = np.abs(kept[:, :, :total] - cache).max()
                assert difference < 3e-4 * np.abs(cache).max()
                assert not kept[:, :, total:].any()
            theirs, ours = next_caches(expected), next_caches(results)
            tokens = expected["logits"][:, -1:].argmax(-1)
            total += 1


@pytest.mark.parametrize("backends", [["CpuRef"], ["CpuAcc"]], ids=["CpuRef", "CpuAcc"])
def test_what_does_not_fit_is_an_error_of_the_run(backends: list[str]) -> None:
    content = decoder("none")
    with armnn.Runtime() as runtime:
        model = runtime.load_network(
            runtime.optimize(armnn.parse(content, suffix="onnx"), backends=backends)
        )
        for token, total, capacity, message in (
            (WORDS, 3, CAPACITY, "the index 96 is outside of"),
            (1, CAPACITY + 1, CAPACITY, "do not fit"),
            (1, PLACES + 1, PLACES + 4, "the index 32 is outside of"),
        ):
            feeds = {"input_ids": np.full((1, 1), token), **caches(1, capacity)}
            # More tokens than the mask has places.
            feeds["attention_mask"] = np.zeros((1, capacity), np.int64)
            feeds["attention_mask"][0, 0] = total
            with pytest.raises(ExecutionError, match=message):
                model.run(feeds)


@pytest.mark.parametrize("backends", [["CpuRef"], ["CpuAcc"]], ids=["CpuRef", "CpuAcc"])
def test_places_outside_of_the_rotations_are_an_error_of_the_run(backends: list[str]) -> None:
    network = armnn.parse(decoder("none", "places"), suffix="onnx")
    stream = armnn.load_model(network, backends, states="auto").stream(capacity=CAPACITY)
    for place, index in ((PLACES, PLACES), (1 << 40, 1 << 40), (-1, PLACES), (-40, PLACES)):
        with pytest.raises(ExecutionError, match=f"the index {index} is outside of"):
            stream.run({"input_ids": [[1]], "position_ids": [[place]]})
    assert stream.length == 0


def decoded_in_place(
    model: armnn.LoadedNetwork, steps: int
) -> tuple[list[Array], dict[str, Array]]:
    """Return the logits of steps whose caches are written where they are read."""
    kept = caches(2, CAPACITY)
    outputs = {name.replace("past_key_values", "present"): each for name, each in kept.items()}
    tokens, logits = np.arange(10).reshape(2, 5), []
    for step in range(steps):
        seen = mask(5 + step)
        call = model.bind({"input_ids": tokens, "attention_mask": seen, **kept}, outputs)
        assert call.copied == ()
        logits.append(call()["logits"].copy())
        tokens = logits[-1][:, -1:].argmax(-1)
    return logits, kept


@pytest.mark.parametrize("backends", [["CpuRef"], ["CpuAcc"]], ids=["CpuRef", "CpuAcc"])
def test_caches_are_written_where_they_are_read(backends: list[str]) -> None:
    content = decoder("packed")
    with armnn.Runtime() as runtime:
        network = armnn.parse(content, suffix="onnx")
        model = runtime.load_network(runtime.optimize(network, backends=backends))
        logits, kept = decoded_in_place(model, 4)
        apart, tokens = caches(2, CAPACITY), np.arange(10).reshape(2, 5)
        for step, expected in enumerate(logits):
            seen = mask(5 + step)
            results = model.run({"input_ids": tokens, "attention_mask": seen, **apart})
            np.testing.assert_array_equal(results["logits"], expected)
            apart, tokens = next_caches(results), expected[:, -1:].argmax(-1)
        for name, cache in apart.items():
            np.testing.assert_array_equal(kept[name], cache)


def test_a_cache_that_another_layer_reads_is_copied() -> None:
    network = armnn.Network()
    cache = network.add_input("cache", TensorInfo((1, 4, 2)))
    rows = network.add_input("rows", TensorInfo((1, 1, 2)))
    network.add_output("next", network.add_tensor_scatter(cache, rows))
    network.add_output("before", network.add_addition(cache, cache))
    array, after = np.ones((1, 4, 2), np.float32), np.full((1, 4, 2), 2, np.float32)
    call = armnn.load_model(network, backends=["CpuRef"]).bind(
        {"cache": array, "rows": np.full((1, 1, 2), 5, np.float32)}, {"next": array}
    )
    assert call.copied == ("next",)
    np.testing.assert_array_equal(call()["before"], after)
    assert array.tolist() == [[[5, 5], [1, 1], [1, 1], [1, 1]]]


def test_a_prepared_decoder_is_in_place(tmp_path: Path) -> None:
    source = tmp_path / "decoder.onnx"
    source.write_bytes(decoder("real"))
    for _ in range(2):  # the second one is read from the cache
        named = {"cache_dir": tmp_path / "cache", "states": "auto"}
        model = armnn.load_model(source, backends=["CpuAcc"], **named)
        logits, _kept = decoded_in_place(model, 2)
        made = model.stream(capacity=CAPACITY).run({"input_ids": np.arange(10).reshape(2, 5)})
        assert made["logits"].tobytes() == logits[0].tobytes()


class Oracle:
    """onnxruntime's session of a decoder, whose caches grow with each step."""

    def __init__(self, content: bytes) -> None:
        self._session = ort.InferenceSession(content)
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._names = [each.name for each in self._session.get_outputs()]
        self.caches = caches(2, 0)

    def logits(self, tokens: Array, mask: Array | None = None) -> Array:
        """Return the logits of new tokens."""
        rows, valid = tokens.shape[1], self.caches["past_key_values.0.key"].shape[2]
        feeds = {
            "input_ids": tokens,
            "attention_mask": np.ones((2, valid + rows), np.int64) if mask is None else mask,
            "position_ids": np.repeat(np.arange(valid, valid + rows)[None], 2, 0),
            "seqlens_k": np.full(2, valid + rows - 1, np.int32),
            "total_length": np.array(valid + rows, np.int32),
        }
        known = {name: each for name, each in feeds.items() if name in self._inputs}
        made = dict(
            zip(self._names, self._session.run(None, {**known, **self.caches}), strict=True)
        )
        self.caches = next_caches(made)
        return made["logits"]


def check_logits(found: Array, expected: Array) -> None:
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 3e-4 * np.abs(expected).max()


def count_made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each plan, and each piece of memory for tensors, is added."""
    made: list[str] = []

    def counted(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            made.append(f"{owner.__name__}.{name}")
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, call)

    counted(OptimizedNetwork, "specialize")
    counted(HostAllocator, "allocate")
    counted(Buffer, "__init__")
    counted(states, "zeros")
    return made


@pytest.mark.parametrize("told", ["mask", "places", "numbers"])
@pytest.mark.parametrize("backends", [["CpuRef"], ["CpuAcc"]], ids=["CpuRef", "CpuAcc"])
def test_a_stream_feeds_what_a_decoder_is_told(
    told: str, backends: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = decoder("none", told)
    model = armnn.load_model(armnn.parse(content, suffix="onnx"), backends, states="auto")
    stream, oracle = model.stream(), Oracle(content)
    made = count_made(monkeypatch)
    tokens, row = RNG.integers(0, WORDS, (2, 5)), 2 * 2 * LAYERS * GROUPS * SIZE * 4
    for step in range(8):
        before = stream.copied_bytes, len(made)
        found, expected = stream.run({"input_ids": tokens}), oracle.logits(tokens)
        assert set(found) == {"logits"}
        check_logits(found["logits"], expected)
        assert stream.copied_bytes - before[0] == tokens.shape[1] * row
        assert step < 2 or len(made) == before[1], made
        assert stream.length == oracle.caches["past_key_values.0.key"].shape[2]
        tokens = expected[:, -1:].argmax(-1)
    bound = stream.bind({"input_ids": tokens})
    for step in range(4):  # the call reads what is in tokens
        before = stream.copied_bytes, len(made)
        check_logits(
            (bound() if step % 2 else bound.submit().result(60))["logits"], oracle.logits(tokens)
        )
        assert stream.copied_bytes - before[0] == row
        assert step < 1 or len(made) == before[1], made
        tokens[...] = bound.outputs["logits"].argmax(-1)
    for name, cache in stream.states().items():
        largest = np.abs(oracle.caches[name]).max()
        assert np.abs(cache - oracle.caches[name]).max() < 3e-4 * largest


def test_a_prompt_in_chunks_is_the_same_and_goes_back() -> None:
    content = decoder("packed")
    model = armnn.load_model(armnn.parse(content, suffix="onnx"), ["CpuAcc"], states="auto")
    tokens = RNG.integers(0, WORDS, (2, 11))
    whole, oracle = Oracle(content).logits(tokens), Oracle(content)
    stream = model.stream(capacity=8)  # which grows
    made = stream.run({"input_ids": tokens}, chunks=(4, 2))
    check_logits(made["logits"], whole[:, -1:])  # of 4, 4, 2 and 1
    derived = [each.plan.is_derived for each in model._plans.plans]
    assert (derived.count(False), len(derived)) == (2, 3)  # one row is prepared apart from more
    saved = stream.states()
    stream.rewind(5)
    oracle.logits(tokens[:, :5])
    check_logits(stream.run({"input_ids": tokens[:, :1]})["logits"], oracle.logits(tokens[:, :1]))
    other = model.stream()
    other.set_states(saved)
    assert other.length == 11
    expected = oracle_after(content, tokens).logits(tokens[:, :1])
    target = np.empty_like(expected)
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(CancelledError):
        other.run({"input_ids": tokens}, cancel=stopped, chunks=(4,))
    assert other.length == 11
    found = other.run({"input_ids": tokens[:, :1]}, {"logits": target}, timeout=60)
    assert found["logits"] is target
    check_logits(target, expected)


def oracle_after(content: bytes, tokens: Array) -> Oracle:
    oracle = Oracle(content)
    oracle.logits(tokens)
    return oracle


def test_a_mask_of_the_callers_tells_of_shorter_prompts() -> None:
    content = decoder("none")
    model = armnn.load_model(armnn.parse(content, suffix="onnx"), ["CpuAcc"], states="auto")
    stream, oracle = model.stream(), Oracle(content)
    tokens, seen = RNG.integers(0, WORDS, (2, 5)), np.ones((2, 5), np.int64)
    seen[1, 3:] = 0
    valid = np.nonzero(seen)
    for _ in range(3):
        given = {"input_ids": tokens, "attention_mask": seen}
        found, expected = stream.run(given)["logits"], oracle.logits(tokens, seen)
        check_logits(found[valid], expected[valid])
        tokens = RNG.integers(0, WORDS, (2, 1))
        seen = np.concatenate([seen, np.zeros((2, 1), np.int64)], 1)
        seen[0, -1] = seen[1, seen[1].sum()] = 1
        valid = np.nonzero(np.ones((2, 1)))
    for given, message in (
        (
            {"attention_mask": seen[:, :-1]},
            r"has shape \[2,7\]: expected \[2,8\], as this call adds 1",
        ),
        ({"attention_mask": np.float32([[1] * 8])}, "float32"),
        (
            {"attention_mask": np.array([[1] * 8, [0, 0, *[1] * 6]])},
            "has 0 at row 1 of item 1, and 1 at row 2: .* Pad shorter prompts of a batch at th",
        ),
        ({"attention_mask": np.full((2, 8), 2)}, "elements other than 0 and 1"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            stream.run({"input_ids": tokens, **given})
    with pytest.raises(InvalidArgumentError, match="'attention_mask' is a mask, which a run"):
        stream.run({"input_ids": tokens, "attention_mask": seen}, chunks=(1,))
    for chunks in ((), (0,), (4, -1), 4):
        with pytest.raises(InvalidArgumentError, match="chunks"):
            stream.run({"input_ids": tokens}, chunks=chunks)
    # The mask that the stream would make has 1 for padding, too.
    with pytest.raises(ExecutionError, match="row 5 of the 7 rows in the states is padding"):
        stream.run({"input_ids": tokens})
    assert stream.length == 7
    stream.rewind(3)
    oracle.caches = {name: each[:, :, :3] for name, each in oracle.caches.items()}
    check_logits(stream.run({"input_ids": tokens})["logits"], oracle.logits(tokens))
