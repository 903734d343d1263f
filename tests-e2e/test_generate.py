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
from armnn.errors import InvalidArgumentError
from armnn_generate import compile_folder
from armnn_tools.cli.main import main
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


def prune_head(model: onnx.ModelProto) -> None:
    """Let logits be of the last token only, as ``prune_lm_head`` of onnxruntime-genai's builder."""
    (head,) = (node for node in model.graph.node if node.output[0] == "head")
    held = {"minus one": np.array(-1), "second axis": np.array([1])}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(v, n) for n, v in held.items())
    make = onnx.helper.make_node
    nodes = [
        make("Gather", [head.input[0], "minus one"], ["taken"], axis=1),
        make("Unsqueeze", ["taken", "second axis"], ["pruned"]),
    ]
    head.input[0] = "pruned"
    at = [*model.graph.node].index(head)
    for node in reversed(nodes):
        model.graph.node.insert(at, node)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 1


def hide_pruning(model: onnx.ModelProto) -> None:
    """Let logits be of the last token only, in a way that the parser does not change."""
    prune_head(model)
    (node,) = (node for node in model.graph.node if node.op_type == "Unsqueeze")
    node.op_type = "Reshape"
    node.input[1] = "pruned shape"
    model.graph.initializer.append(
        onnx.numpy_helper.from_array(np.array([0, 1, -1]), "pruned shape")
    )


@pytest.mark.parametrize("change", [prune_head, hide_pruning])
def test_models_of_the_last_logits_only(tmp_path: Path, change: Any) -> None:
    folder = write_genai_folder(tmp_path / "model")
    model = onnx.load(folder / "model.onnx")
    change(model)
    onnx.save(model, folder / "model.onnx")
    session = ort.InferenceSession(folder / "model.onnx")
    tokens = np.random.default_rng(2).integers(0, 250, 45).tolist()
    with armnn_generate.load(folder, ["CpuRef"]) as generator:
        chat = generator.conversation().stream(tokens, max_tokens=12, do_sample=False)
        "".join(chat)
    assert chat.tokens == greedy(session, tokens, 12)


def add_long_angles(folder: Path, short: int) -> None:
    """Let texts of more tokens have other angles, as models with LongRoPE have."""
    model = onnx.load(folder / "model.onnx")
    graph, make = model.graph, onnx.helper.make_node
    tables = [each for each in graph.initializer if each.name in ("cos", "sin")]
    branches = []
    for name, rows in (("long", slice(None)), ("short", slice(short))):
        made = []
        for table in tables:
            held = onnx.numpy_helper.to_array(table)[rows]
            held = held[::-1].copy() if name == "long" else held
            tensor = onnx.numpy_helper.from_array(held, f"{table.name}.{name}")
            made.append(make("Constant", [], [tensor.name], value=tensor))
        outputs = [
            onnx.helper.make_tensor_value_info(each.output[0], onnx.TensorProto.FLOAT, None)
            for each in made
        ]
        branches.append(onnx.helper.make_graph(made, name, [], outputs))
    for table in tables:
        graph.initializer.remove(table)
    graph.initializer.append(onnx.numpy_helper.from_array(np.array(short), "short"))
    at = [*graph.node].index(next(node for node in graph.node if node.output[0] == "total_64")) + 1
    names = [table.name for table in tables]
    branch = dict(zip(("then_branch", "else_branch"), branches, strict=True))
    graph.node.insert(at, make("If", ["is_long"], names, **branch))
    graph.node.insert(at, make("Greater", ["total_64", "short"], ["is_long"]))
    onnx.save(model, folder / "model.onnx")


def test_long_texts_have_their_own_angles(tmp_path: Path) -> None:
    """Each token is onnxruntime's for all tokens before it at once."""
    folder = write_genai_folder(tmp_path / "model")
    add_long_angles(folder, 50)
    session = ort.InferenceSession(folder / "model.onnx")
    tokens = np.random.default_rng(2).integers(0, 250, 45).tolist()
    with armnn_generate.load(folder, ["CpuRef"]) as generator:
        cache = generator.model.new_cache()
        made = [int(cache.append(tokens).argmax())]
        while len(made) < 9:
            assert made[-1:] == greedy(session, [*tokens, *made[:-1]], 1)
            made.append(int(cache.append(made[-1:]).argmax()))
        assert made[-1:] == greedy(session, [*tokens, *made[:-1]], 1)
        assert cache.computed == 45 + 8 + 50  # the 50 before the first long text twice
        cache.rewind(40)
        assert [int(cache.append(tokens[40:]).argmax())] == made[:1]
    with pytest.raises(InvalidArgumentError, match="the capacity is 51, expected 1 to 50"):
        compile_folder(folder, folder / "m.armnn-prepared", ["CpuRef"], capacity=51)
    compile_folder(folder, folder / "m.armnn-prepared", ["CpuRef"])
    with armnn_generate.load(folder, ["CpuRef"], file="m.armnn-prepared") as generator:
        assert generator.folder.context_length == 50
        assert [int(generator.model.new_cache().append(tokens).argmax())] == made[:1]


@pytest.mark.parametrize("level", [0, 4])
def test_rounded_activations_are_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], level: int
) -> None:
    folder = write_genai_folder(tmp_path / "model")
    model = onnx.load(folder / "model.onnx")
    for node in model.graph.node:
        if node.op_type == "MatMulNBits":
            node.attribute.append(onnx.helper.make_attribute("accuracy_level", level))
    onnx.save(model, folder / "model.onnx")
    main(["compare", str(folder), "--backends", "CpuAcc", "--prompt", "the quick brown fox"])
    assert "No layer is wrong." in capsys.readouterr().out


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
