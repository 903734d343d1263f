# SPDX-License-Identifier: MIT
"""Decoders of plain exports, whose caches get longer by Concat: states with room, in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

import armnn
import armnn_generate
from armnn.errors import ArmnnError, ExecutionError
from armnn.optimizer import OptimizedNetwork
from fakes.decoders import GROUPS, write_hugging_face_folder
from fakes.exports import EXPORTS, OTHERS, SIZE, WORDS, exported

TOLERANCES = {"CpuRef": 1e-5, "CpuAcc": 3e-4}
"""In parts of the largest logit."""


class Oracle:
    """onnxruntime on the file as it is: each call makes longer caches."""

    def __init__(self, content: bytes, batch: int = 1) -> None:
        self.session = ort.InferenceSession(content)
        self.names = [each.name for each in self.session.get_outputs()]
        self.kinds = [each.name for each in self.session.get_inputs()]
        self.caches: dict[str, Any] = {
            name: np.zeros((batch, GROUPS, 0, SIZE), np.float32)
            for name in self.kinds
            if "past" in name
        }

    def feeds(self, tokens: NDArray[Any], mask: NDArray[Any] | None = None) -> dict[str, Any]:
        batch, rows = tokens.shape
        old = self.caches["past_key_values.0.key"].shape[2]
        feeds = {
            "input_ids": tokens,
            "attention_mask": np.ones((batch, old + rows), np.int64) if mask is None else mask,
            "position_ids": np.tile(np.arange(old, old + rows), (batch, 1)),
        }
        return {name: each for name, each in feeds.items() if name in self.kinds} | self.caches

    def logits(self, tokens: NDArray[Any], mask: NDArray[Any] | None = None) -> NDArray[Any]:
        made = dict(zip(self.names, self.session.run(None, self.feeds(tokens, mask)), strict=True))
        self.caches = {
            name: made[name.replace("past_key_values", "present")] for name in self.caches
        }
        logits: NDArray[Any] = made["logits"]
        return logits


@pytest.mark.parametrize("backend", TOLERANCES)
@pytest.mark.parametrize("name", EXPORTS)
def test_tokens_are_onnxruntimes(name: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = exported(EXPORTS[name])
    oracle = Oracle(content)
    model = armnn.load_model(content, [backend], states="auto")
    stream = model.stream(capacity=60)
    plans: list[Any] = []
    specialize = OptimizedNetwork.specialize

    def counted(*arguments: Any, **named: Any) -> Any:
        plans.append(arguments)
        return specialize(*arguments, **named)

    monkeypatch.setattr(OptimizedNetwork, "specialize", counted)
    random = np.random.default_rng(5)
    for step, rows in enumerate((25, 1, 1, 5, 1, 1, 5, 1)):
        tokens = random.integers(0, WORDS, (1, rows))
        expected = oracle.logits(tokens)
        before, planned = stream.copied_bytes, len(plans)
        found = stream.run({"input_ids": tokens})["logits"]
        assert np.abs(found - expected).max() < TOLERANCES[backend] * np.abs(expected).max()
        assert stream.copied_bytes - before == rows * 2 * 2 * GROUPS * SIZE * 4
        assert len(plans) == planned or step in (0, 1, 3)  # the first call of so many rows
    np.testing.assert_allclose(
        stream.states()["past_key_values.1.key"],
        oracle.caches["past_key_values.1.key"],
        rtol=1e-3,
        atol=1e-3,
    )


@pytest.mark.parametrize("name", ["scaled dot product", "window, softcap", "counted places"])
def test_prompts_may_be_padded(name: str) -> None:
    content = exported(EXPORTS[name])
    oracle = Oracle(content, 2)
    stream = armnn.load_model(content, ["CpuAcc"], states="auto").stream(capacity=40)
    tokens = np.random.default_rng(3).integers(0, WORDS, (2, 7))
    mask = np.array([[1] * 7, [1] * 4 + [0] * 3])
    expected = oracle.logits(tokens, mask)
    found = stream.run({"input_ids": tokens, "attention_mask": mask})["logits"]
    for item, count in enumerate(mask.sum(-1)):
        close = np.abs(found[item, :count] - expected[item, :count]).max()
        assert close < 3e-4 * np.abs(expected).max()
    with pytest.raises(ExecutionError, match="row 4 of the 7"):
        stream.run({"input_ids": tokens[:, :1]})
    holes = np.concatenate([mask, np.ones((2, 1), mask.dtype)], axis=1)
    with pytest.raises(ArmnnError, match="has 0 at row 6"):
        stream.run({"input_ids": tokens[:, :1], "attention_mask": holes})


@pytest.mark.parametrize("name", OTHERS)
def test_another_attention_keeps_its_caches(name: str) -> None:
    content = exported(OTHERS[name])
    oracle = Oracle(content)
    model = armnn.load_model(content, ["CpuRef"], states="auto")
    assert not model.caches
    with pytest.raises(ArmnnError, match="has no states"):
        model.stream()
    for rows in (4, 1):
        tokens = np.arange(rows)[None]
        found = model.run(oracle.feeds(tokens))["logits"]
        np.testing.assert_allclose(found, oracle.logits(tokens), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("place", "is_attention"), [("input", True), ("output", False)])
def test_each_layer_is_looked_at(place: str, is_attention: bool) -> None:
    """The second layer alone halves its scores, another scale, or its weights."""
    model = onnx.load_from_string(exported(EXPORTS["eager"]))
    _, softmax = (node for node in model.graph.node if node.op_type == "Softmax")
    half = onnx.numpy_helper.from_array(np.array(0.5, np.float32), "half")
    model.graph.initializer.append(half)
    at = [*model.graph.node].index(softmax)
    (name,) = getattr(softmax, place)
    getattr(softmax, place)[0] = "whole" if place == "output" else "halved"
    ends = ("whole", name) if place == "output" else (name, "halved")
    halving = onnx.helper.make_node("Mul", [ends[0], "half"], [ends[1]])
    model.graph.node.insert(at + (place == "output"), halving)
    content = model.SerializeToString()
    oracle, tokens = Oracle(content), np.arange(5)[None]
    loaded = armnn.load_model(content, ["CpuRef"], states="auto")
    assert bool(loaded.caches) == is_attention
    if is_attention:
        made = loaded.stream(capacity=16).run({"input_ids": tokens})["logits"]
        np.testing.assert_allclose(made, oracle.logits(tokens), rtol=1e-4, atol=1e-4)


def test_caches_grow_that_are_no_states() -> None:
    content = exported(EXPORTS["eager"])
    oracle = Oracle(content)
    whole = armnn.load_model(content, ["CpuRef"])
    names = {"present.0.key": "past_key_values.0.key"}
    assert not whole.caches
    tokens = np.arange(3)[None]
    found = whole.run(oracle.feeds(tokens))
    assert found["present.0.key"].shape == (1, GROUPS, 3, SIZE)
    assert not armnn.load_model(content, ["CpuRef"], states=names).caches
    pairs = {each.replace("past_key_values", "present"): each for each in oracle.caches}
    assert len(armnn.load_model(content, ["CpuRef"], states=pairs).caches) == 4


def test_folders_generate_in_place(tmp_path: Path) -> None:
    export = EXPORTS["window, softcap"]
    folder = write_hugging_face_folder(tmp_path / "model", lambda words: exported(export, words))
    oracle = Oracle((folder / "onnx" / "model.onnx").read_bytes())
    tokens = np.random.default_rng(2).integers(0, 250, 37).tolist()
    expected = [int(oracle.logits(np.array([tokens]))[0, -1].argmax())]
    while len(expected) < 20:
        expected.append(int(oracle.logits(np.array([expected[-1:]]))[0, -1].argmax()))
    file = folder / "model.armnn-prepared"
    armnn_generate.compile_folder(folder, file, ["CpuAcc", "CpuRef"], capacity=64)
    for given in ("onnx/model.onnx", file.name):
        with armnn_generate.load(folder, ["CpuAcc", "CpuRef"], file=given) as generator:
            assert generator.model.is_in_place
            cache = generator.model.new_cache()
            made = [int(cache.append(tokens).argmax())]
            while len(made) < len(expected):
                made.append(int(cache.append(made[-1:]).argmax()))
        assert made == expected
