# SPDX-License-Identifier: MIT
"""What families of language models have of their own: every token as onnxruntime's."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import armnn
from fakes.decoders import GROUPS
from fakes.families import FAMILIES, SIZE, WORDS, family_decoder

TOLERANCES = {"CpuRef": 1e-5, "CpuAcc": 3e-4}
"""In parts of the largest logit; CpuAcc rounds factors to 15 or 16 bits, by groups of 16."""


@pytest.mark.parametrize("name", FAMILIES)
def test_tokens_are_onnxruntimes(name: str) -> None:
    content = family_decoder(FAMILIES[name])
    session = ort.InferenceSession(content)
    names = [each.name for each in session.get_outputs()]
    kinds = [each.name for each in session.get_inputs()]
    streams = {}
    for backend in TOLERANCES:
        model = armnn.load_model(armnn.parse(content, suffix="onnx"), [backend], states="auto")
        streams[backend] = model.stream(capacity=32)
    rng = np.random.default_rng(5)
    tokens = rng.integers(0, WORDS, (1, 9))
    caches: dict[str, Any] = {
        kind: np.zeros((1, GROUPS, 0, SIZE), np.float32) for kind in kinds if "past" in kind
    }
    total = 0
    for _ in range(8):
        rows = tokens.shape[1]
        total += rows
        feeds = {
            "input_ids": tokens,
            "attention_mask": np.ones((1, total), np.int64),
            "position_ids": np.arange(total - rows, total)[None],
        }
        given = {kind: feeds[kind] for kind in kinds if kind in feeds}
        made = dict(zip(names, session.run(None, {**given, **caches}), strict=True))
        caches = {
            name.replace("present", "past_key_values"): each
            for name, each in made.items()
            if name != "logits"
        }
        expected = made["logits"]
        for backend, stream in streams.items():
            before = stream.copied_bytes
            found = stream.run({"input_ids": tokens})["logits"]
            error = np.abs(found - expected).max() / np.abs(expected).max()
            assert error < TOLERANCES[backend], backend
            # Each row is copied into the caches of keys and values of two layers, and nothing else.
            assert stream.copied_bytes - before == rows * 2 * 2 * GROUPS * SIZE * 4, backend
        tokens = expected[:, -1:].argmax(-1)
