# SPDX-License-Identifier: MIT
"""Text on two lists of backends: the first token and the first layer that differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import armnn
from armnn.backends import ModelContext, Step, TensorHandle, Workload
from armnn.graph import Layer
from armnn_backend_ref.backend import RefBackend
from armnn_generate import compare_text
from armnn_tools.cli.main import main
from armnn_tools.cli.schema import SCHEMAS

PROMPT = "the quick brown fox"


class _Scaled(Workload):
    def __init__(self, inner: Workload) -> None:
        self._inner = inner

    def bind(self, inputs: list[TensorHandle | None], outputs: list[TensorHandle]) -> Step:
        step, made = self._inner.bind(inputs, outputs), outputs[0].map()

        def scaled() -> None:
            step()
            np.multiply(made, -1, out=made)

        return scaled


class Flipping(RefBackend):
    """CpuRef, but for the sign of one layer's results."""

    id = "Flipping"

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        inner = super().create_workload(layer, model)
        return _Scaled(inner) if layer.name.partition("_")[0] == "o1" else inner


@pytest.fixture
def flipping() -> Iterator[None]:
    with armnn.register_backend("Flipping", Flipping):
        yield


def test_equal_backends_choose_equal_tokens(genai_folder: Path, hugging_face_folder: Path) -> None:
    for folder in (genai_folder, hugging_face_folder):
        found = compare_text(folder, ["CpuRef"], PROMPT, reference=["CpuRef"], max_tokens=5)
        assert found.agrees
        assert found.largest_difference == 0
        assert 1 <= len(found.tokens) <= 5
        assert found.least_margin > 0
        assert "The backends choose the same" in str(found)


def test_the_token_that_parts_has_its_margins(genai_folder: Path, flipping: None) -> None:
    found = compare_text(genai_folder, ["Flipping"], PROMPT, reference=["CpuRef"])
    at = found.parting
    assert at is not None
    assert at.token != at.other
    assert at.margin > 0
    assert found.tokens[at.index] == at.token
    assert len(found.tokens) == at.index + 1
    again = armnn.load_model(found.model, backends=["CpuRef"]).run(found.inputs)
    logits = again["logits"][0, -1]
    assert int(np.argmax(logits)) == at.token
    second, first = np.sort(logits)[-2:]
    assert first - second == pytest.approx(at.margin, rel=1e-4)


def test_the_command_names_token_and_layer(
    genai_folder: Path, flipping: None, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compare", str(genai_folder), "--backends", "Flipping", "--prompt", PROMPT]
    assert main([*arguments, "--no-rewrite"]) == 1
    shown = capsys.readouterr().out
    assert " of the text is the first different one: " in shown
    assert re.search(r"Wrong: o1\w* \(MatMulNBits\) on Flipping\.", shown), shown
    assert main([*arguments, "--no-rewrite", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["text"]["parting"]["margin"] > 0
    jsonschema.validate(found, SCHEMAS["compare"])


def test_a_folder_needs_a_prompt(genai_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(genai_folder), "--backends", "CpuRef"]) == 1
    assert "is a folder: give --prompt, to compare a language model's text" in (
        capsys.readouterr().err
    )
