# SPDX-License-Identifier: MIT
"""Text of language models: each token as onnxruntime's, and onnxruntime-genai's for its folders."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_genai as genai
import pytest

import armnn_generate
from fakes.decoders import SIZE, write_genai_folder, write_hugging_face_folder

MESSAGES = [{"role": "user", "content": "Hello thé, one and the other"}]
BACKENDS = pytest.mark.parametrize("backend", ["CpuRef", "CpuAcc"])


def add_windows(folder: Path, size: int) -> None:
    """Let caches move with the windows of attention, as those of onnxruntime-genai's builder do."""
    model = onnx.load(folder / "model.onnx")
    for node in model.graph.node:
        if node.op_type == "GroupQueryAttention":
            moves = {"local_window_size": size, "sliding_window_cache": 1}
            node.attribute.extend([onnx.helper.make_attribute(*each) for each in moves.items()])
    onnx.save(model, folder / "model.onnx")
    config = json.loads((folder / "genai_config.json").read_text())
    config["model"]["decoder"]["sliding_window"] = {
        "window_size": size,
        "slide_key_value_cache": False,
        "slide_inputs": False,
        "layers": [0, 1],
        "cache_slack": 4,
    }
    (folder / "genai_config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("points", ["none", "packed", "real", "window"])
@BACKENDS
def test_a_chat_is_onnxruntime_genais(tmp_path: Path, points: str, backend: str) -> None:
    folder = write_genai_folder(tmp_path / "model", points.replace("window", "packed"))
    if points == "window":
        add_windows(folder, 8)
    model = genai.Model(str(folder))
    tokenizer = genai.Tokenizer(model)
    text = tokenizer.apply_chat_template(json.dumps(MESSAGES), add_generation_prompt=True)
    prompt = tokenizer.encode(text)
    options = genai.GeneratorParams(model)
    options.set_search_options(max_length=len(prompt) + 40)
    theirs = genai.Generator(model, options)
    theirs.append_tokens(prompt)
    while not theirs.is_done():
        theirs.generate_next_token()
    expected = theirs.get_sequence(0)
    with armnn_generate.load(folder, [backend, "CpuRef"]) as generator:
        assert generator.template.render(MESSAGES) == text
        assert generator.model.is_in_place
        generation = generator.stream(MESSAGES, max_tokens=40)
        "".join(generation)
    assert generation.prompt == prompt.tolist()
    assert generation.prompt + generation.tokens == expected.tolist()


def test_text_comes_in_the_pieces_of_onnxruntime_genai(tmp_path: Path) -> None:
    folder = write_genai_folder(tmp_path / "model")
    theirs = genai.Tokenizer(genai.Model(str(folder)))
    mine = armnn_generate.Tokenizer(folder / "tokenizer.json")
    tokens = mine.encode("naïve 你好 👩‍👧 the other<|end|>")
    assert tokens == theirs.encode("naïve 你好 👩‍👧 the other<|end|>").tolist()
    their_stream, my_stream = theirs.create_stream(), armnn_generate.TextStream(mine)
    for token in tokens:
        assert my_stream.add(token) == their_stream.decode(token)


def greedy(session: ort.InferenceSession, tokens: list[int], count: int) -> list[int]:
    """Return the tokens that follow by plain calls, each on the caches of the one before."""
    names = [each.name for each in session.get_outputs()]
    shapes = {each.name: each.shape for each in session.get_inputs()}
    caches = {
        name: np.zeros((1, shape[1], 0, SIZE), np.float32)
        for name, shape in shapes.items()
        if name.startswith("past")
    }
    made: list[int] = []
    new, total = tokens, len(tokens)
    for _ in range(count):
        feeds: dict[str, Any] = {
            "input_ids": np.array([new]),
            "attention_mask": np.ones((1, total), np.int64),
            "position_ids": np.arange(total - len(new), total)[None],
        }
        feeds = {name: each for name, each in feeds.items() if name in shapes}
        results = dict(zip(names, session.run(None, {**feeds, **caches}), strict=True))
        caches = {name: results[name.replace("past_key_values", "present")] for name in caches}
        new, total = [int(results["logits"][0, -1].argmax())], total + 1
        made += new
    return made


@pytest.mark.parametrize("write", [write_genai_folder, write_hugging_face_folder])
@BACKENDS
def test_tokens_are_those_of_onnxruntime(tmp_path: Path, write: Any, backend: str) -> None:
    folder = write(tmp_path / "model")
    tokens = np.random.default_rng(2).integers(0, 250, 45).tolist()
    with armnn_generate.load(folder, [backend, "CpuRef"]) as generator:
        session = ort.InferenceSession(generator.folder.model)
        expected = greedy(session, tokens, 24)
        cache = generator.model.new_cache()
        made = [int(cache.append(tokens).argmax())]
        while len(made) < len(expected):
            made.append(int(cache.append(made[-1:]).argmax()))
    assert made == expected


PROGRAM = """\
import json
import subprocess
import sys
import sys
import onnxruntime_genai as og

model = og.Model(sys.argv[1])
tokenizer = og.Tokenizer(model)
params = og.GeneratorParams(model)
params.set_search_options(max_length=90)
generator = og.Generator(model, params)
for text in ("Hello", "And the other one"):
    prompt = tokenizer.apply_chat_template(json.dumps([{"role": "user", "content": text}]))
    generator.append_tokens(tokenizer.encode(prompt))
    print(generator.token_count(), generator.get_logits().argmax())
    for _ in range(15):
        generator.generate_next_token()
        print(generator.get_next_tokens()[0], generator.is_done(), end=" ")
    generator.rewind_to(generator.token_count() - 3)
    generator.append_tokens([5])
    print(generator.get_sequence(0).tolist())
print(model.type, tokenizer.eos_token_ids, tokenizer.bos_token_id, tokenizer.encode("thé"))
"""


def test_a_program_for_onnxruntime_genai_runs_unchanged(tmp_path: Path) -> None:
    folder = write_genai_folder(tmp_path / "model")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    theirs, mine = (
        subprocess.run(
            [sys.executable, *stand_in, program, folder], capture_output=True, text=True, check=True
        ).stdout
        for stand_in in ((), ("-m", "armnn_compat.onnxruntime_genai"))
    )
    assert mine == theirs
    assert mine.count("\n") == 5
