# SPDX-License-Identifier: MIT
"""Generators and conversations: what is computed, kept, stopped and refused."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import armnn
import armnn_generate
from armnn.errors import ArmnnError, ExecutionError, InvalidArgumentError, ModelFileError
from armnn.optimizer import OptimizedNetwork
from armnn_generate import Generator, decoder
from fakes.decoders import CONTEXT, genai_config

PROMPT = "The other thé"


@pytest.fixture(scope="module", params=["genai", "hugging_face"])
def either(request: pytest.FixtureRequest) -> Iterator[Generator]:
    """Return a generator whose cache is written in place, or one whose cache gets longer."""
    with armnn_generate.load(request.getfixturevalue(f"{request.param}_folder"), ["CpuRef"]) as it:
        yield it


def logits_of(generator: Generator, *parts: list[int]) -> np.ndarray:
    """Return the last logits of tokens that come in parts, on a fresh cache."""
    cache = generator.model.new_cache()
    for part in parts:
        logits = cache.append(part)
    assert cache.tokens == [token for part in parts for token in part]
    return logits


def test_logits_do_not_depend_on_how_tokens_come(either: Generator) -> None:
    tokens = np.random.default_rng(3).integers(0, 250, 300).tolist()
    one_by_one, together = [[token] for token in tokens[:20]], [tokens[:290], tokens[290:]]
    for count, parts in ((20, one_by_one), (300, together)):
        expected = logits_of(either, *parts)
        for other in ([tokens[:count]], [tokens[:13], tokens[13:count]]):
            np.testing.assert_allclose(logits_of(either, *other), expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(
    ("count", "room", "expected"),
    [
        (1, 9, [1]),
        (3, 9, [1, 1, 1]),
        (4, 9, [8]),
        (4, 7, [1, 1, 1, 1]),
        (37, 99, [32, 8]),
        (140, 999, [128, 8, 8]),
        (140, 140, [128, 8, 1, 1, 1, 1]),
    ],
)
def test_prompts_come_in_chunks_of_few_sizes(count: int, room: int, expected: list[int]) -> None:
    made = [*decoder.chunks([*range(count)], room)]
    assert [size for _, size in made] == expected
    assert [token for part, _ in made for token in part] == [*range(count)]


def test_a_second_turn_computes_its_new_tokens_only(either: Generator) -> None:
    chat = either.conversation()
    messages = [{"role": "user", "content": "Hello"}]
    first = chat.stream(messages, max_tokens=12, do_sample=False)
    text = "".join(first)
    assert text == first.text
    assert first.kept == 0
    before = chat.cache.computed
    assert before == len(first.prompt) + first.steps
    prompt = [*first.prompt, *first.tokens, *either.tokenizer.encode("And then?")]
    second = chat.stream(prompt, max_tokens=1, do_sample=False)
    "".join(second)
    # The last token of the first text was chosen and not computed, unless a stop followed it.
    assert second.kept == before
    assert chat.cache.computed == len(prompt)
    alone = either.conversation().stream(prompt, max_tokens=1, do_sample=False)
    assert "".join(alone) == second.text
    assert alone.tokens == second.tokens


def test_a_long_prompt_makes_plans_for_one_size_of_caches(genai_folder: Path) -> None:
    with armnn_generate.load(genai_folder, ["CpuRef"]) as generator:
        cache, tokens = generator.model.new_cache(), [*range(256)]
        for _ in range(2):
            logits = cache.append([*tokens, 7])
            cache.rewind(0)
        plans = {row.specialisation for row in generator.model.network.report}
        assert len(plans) == 2  # of 128 tokens and of one
        apart = generator.model.new_cache()
        apart.append(tokens[:100])
        apart.append(tokens[100:])
        np.testing.assert_allclose(apart.append([7]), logits, rtol=0, atol=1e-5)


def test_a_prompt_that_differs_computes_what_differs(either: Generator) -> None:
    chat = either.conversation()
    tokens = [*range(40)]
    "".join(chat.stream(tokens, max_tokens=0))
    other = [*range(30), 99, 98]
    generation = chat.stream(other, max_tokens=4, do_sample=False)
    "".join(generation)
    assert (generation.kept, chat.cache.computed) == (30, 40 + 2 + 3)
    alone = either.conversation().stream(other, max_tokens=4, do_sample=False)
    "".join(alone)
    assert alone.tokens == generation.tokens
    again = chat.stream(other, max_tokens=4, do_sample=False)
    "".join(again)
    assert (again.kept, again.tokens) == (31, alone.tokens)  # the last one gives the logits


def test_a_conversation_is_rewound(generator: Generator) -> None:
    chat = generator.conversation()
    "".join(chat.stream([1, 2, 3, 4], max_tokens=3))
    assert chat.tokens[:4] == (1, 2, 3, 4)
    chat.rewind(2)
    assert chat.tokens == (1, 2)
    for length in (3, -1):
        with pytest.raises(InvalidArgumentError, match=f"rewind to is {length}, expected 0 to 2"):
            chat.rewind(length)
    "".join(chat.stream([1, 2, 9], max_tokens=0))
    assert chat.tokens == (1, 2, 9)


def test_conversations_run_at_once(either: Generator) -> None:
    prompts = [f"{word} {PROMPT}" for word in ("One", "Two", "Three", "Four")]

    def text(prompt: str) -> str:
        return "".join(either.conversation().stream(prompt, max_tokens=10, do_sample=False))

    alone = [text(prompt) for prompt in prompts]
    assert len({*alone}) > 1
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(text, prompts)] == alone


def test_pieces_come_to_coroutines(generator: Generator) -> None:
    async def text() -> tuple[str, set[int]]:
        seen = ""
        async for piece in generator.conversation().stream(PROMPT, max_tokens=9):
            seen += piece
        return seen

    expected = "".join(generator.conversation().stream(PROMPT, max_tokens=9))
    assert asyncio.run(text()) == expected


def test_a_canceled_piece_is_in_nobodys_way(generator: Generator) -> None:
    async def text() -> str:
        chat = generator.conversation()
        step = asyncio.ensure_future(anext(chat.stream(PROMPT)))
        await asyncio.sleep(0)  # it begins
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        return "".join(chat.stream(PROMPT, max_tokens=9))

    assert asyncio.run(text()) == "".join(generator.conversation().stream(PROMPT, max_tokens=9))


def test_a_text_ends_at_tokens_texts_and_lengths(generator: Generator, genai_folder: Path) -> None:
    free = generator.conversation().stream(PROMPT, max_tokens=30)
    text = "".join(free)
    assert (free.finish_reason, len(free.tokens), free.steps) == ("length", 30, 29)
    stop = text[6:9]
    stopped = generator.conversation().stream(PROMPT, max_tokens=30, stop=["never", stop])
    assert "".join(stopped) == text[: text.index(stop)]
    assert stopped.finish_reason == "stop"
    assert len(stopped.tokens) < 30
    none = generator.conversation().stream(PROMPT, max_tokens=0)
    assert ("".join(none), none.finish_reason, none.tokens) == ("", "length", [])
    few = generator.conversation().stream(PROMPT, max_length=len(none.prompt) + 2)
    "".join(few)
    assert (few.finish_reason, few.tokens) == ("length", free.tokens[:2])


def test_a_stop_token_of_several_is_no_text(genai_folder: Path, tmp_path: Path) -> None:
    with armnn_generate.load(genai_folder, ["CpuRef"]) as free:
        tokens = free.stream(PROMPT, max_tokens=8)
        "".join(tokens)
    folder = shutil.copytree(genai_folder, tmp_path / "model")
    stop = tokens.tokens[5]
    first = tokens.tokens.index(stop)
    config = genai_config(262, eos_token_id=[261, stop])
    (folder / "genai_config.json").write_text(json.dumps(config))
    with armnn_generate.load(folder, ["CpuRef"]) as generator:
        stopped = generator.stream(PROMPT)
        assert "".join(stopped) == generator.tokenizer.decode(tokens.tokens[:first])
        assert (stopped.finish_reason, stopped.tokens) == ("stop", tokens.tokens[:first])


def test_the_context_ends_a_text(generator: Generator) -> None:
    tokens = np.random.default_rng(1).integers(0, 250, CONTEXT - 2).tolist()
    generation = generator.conversation().stream(tokens)
    "".join(generation)
    assert generation.finish_reason == "length"
    assert len(generation.tokens) <= 2
    full = generator.conversation().stream([*tokens, 1, 2])
    assert ("".join(full), full.finish_reason) == ("", "length")
    with pytest.raises(InvalidArgumentError, match=r"has 385 tokens, expected 384 at most, the co"):
        generator.stream([*tokens, 1, 2, 3])


def test_a_seed_repeats_a_text(generator: Generator) -> None:
    def text(seed: int) -> str:
        options = {"temperature": 2.0, "top_k": 0, "max_tokens": 12, "seed": seed}
        return "".join(generator.stream(PROMPT, **options))

    assert text(1) == text(1)
    assert text(1) != text(2)


def test_a_generation_that_is_overtaken_says_so(generator: Generator) -> None:
    chat = generator.conversation()
    first = chat.stream(PROMPT, max_tokens=30)
    next(first)
    "".join(chat.stream("Another one", max_tokens=2))
    with pytest.raises(ExecutionError, match=r"its conversation got another prompt or was"):
        next(first)
    second = chat.stream(PROMPT, max_tokens=30)
    next(second)
    chat.rewind(0)
    with pytest.raises(ExecutionError, match="was rewound"):
        next(second)


def test_another_thread_waits_for_a_call(generator: Generator, monkeypatch: Any) -> None:
    chat = generator.conversation()
    inside, outside = threading.Event(), threading.Event()
    append = chat.cache.append

    def waiting(tokens: list[int]) -> Any:
        inside.set()
        outside.wait(30)
        return append(tokens)

    monkeypatch.setattr(chat.cache, "append", waiting)
    overtaken = chat.stream(PROMPT, max_tokens=9)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(next, overtaken)
        inside.wait(30)
        second = pool.submit("".join, chat.stream([1, 2, 3], max_tokens=3))
        assert not second.done()
        outside.set()
        with pytest.raises(ExecutionError, match="got another prompt"):
            [first.result(), *overtaken]
        text = second.result()
    assert text == "".join(generator.conversation().stream([1, 2, 3], max_tokens=3))


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("", "the prompt has no tokens"),
        ([], "the prompt has no tokens"),
        (7, "the prompt is 7, expected a text, messages, or tokens"),
        ([1, "a"], "a token of the prompt is 'a', expected a whole number"),
        ([1, -1], "a token of the prompt is -1, expected a whole number from 0 up"),
        ([1, 1 << 40], "a token of the prompt is 1099511627776, expected"),
        ([{"role": "user"}, "a"], "message 1 is 'a', expected a mapping"),
    ],
)
def test_a_prompt_that_is_none_is_named(generator: Generator, prompt: Any, told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=told):
        generator.stream(prompt)


def test_an_unknown_token_is_an_error_and_the_conversation_goes_on(generator: Generator) -> None:
    chat = generator.conversation()
    "".join(chat.stream([1, 2], max_tokens=0))
    with pytest.raises(ArmnnError, match="9999"):
        "".join(chat.stream([1, 2, 3, 9999], max_tokens=1))
    assert chat.tokens[:1] == (1,)
    assert "".join(chat.stream(PROMPT, max_tokens=5)) == "".join(
        generator.conversation().stream(PROMPT, max_tokens=5)
    )


def changed(folder: Path, target: Path, change: Any) -> Path:
    """Return a copy of a folder whose ONNX model was changed."""
    shutil.copytree(folder, target)
    model = onnx.load(target / "model.onnx")
    change(model.graph)
    onnx.save(model, target / "model.onnx")
    return target


def test_models_that_are_none_are_named(genai_folder: Path, tmp_path: Path) -> None:
    def without_caches(graph: onnx.GraphProto) -> None:
        del graph.input[2:]
        for name in {name for node in graph.node for name in node.input if "past" in name}:
            shape = [1, 2, 0, 16]
            graph.initializer.append(onnx.helper.make_tensor(name, 1, shape, []))

    def another_input(graph: onnx.GraphProto) -> None:
        graph.input.append(onnx.helper.make_tensor_value_info("pixels", 1, [1]))
        graph.output.append(onnx.helper.make_tensor_value_info("seen", 1, [1]))
        graph.node.append(onnx.helper.make_node("Abs", ["pixels"], ["seen"]))

    def other_names(graph: onnx.GraphProto) -> None:
        graph.input[0].name = "ids"
        for node in graph.node:
            node.input[:] = ["ids" if each == "input_ids" else each for each in node.input]

    for at, (change, told) in enumerate(
        (
            (without_caches, r"it has no inputs such as 'past_key_values\.0\.key', without which"),
            (another_input, "the meaning of its input 'pixels' is not known: expected one of"),
            (other_names, "the meaning of its input 'ids' is not known: expected one of"),
        )
    ):
        folder = changed(genai_folder, tmp_path / str(at), change)
        with pytest.raises(ModelFileError, match=told):
            armnn_generate.load(folder, ["CpuRef"])


def test_what_is_prepared_is_not_specialized_again(
    genai_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    specialize = OptimizedNetwork.specialize

    def counted(*arguments: Any, **named: Any) -> Any:
        made.append(1)
        return specialize(*arguments, **named)

    monkeypatch.setattr(OptimizedNetwork, "specialize", counted)
    with armnn_generate.load(genai_folder, ["CpuRef"]) as generator:
        generator.prepare(5)  # one chunk of eight, and the single tokens of the text
        assert len(made) == 2
        "".join(generator.stream([1, 2, 3, 4, 5], max_tokens=4, stop=["never"]))
        assert len(made) == 2
        generator.prepare()
        assert len(made) == len(decoder.CHUNKS)
        "".join(generator.stream([*range(200)], max_tokens=4))
        assert len(made) == len(decoder.CHUNKS)


def test_a_runtime_may_be_shared(genai_folder: Path) -> None:
    with armnn.Runtime() as runtime:
        with armnn_generate.load(genai_folder, ["CpuRef"], runtime=runtime) as generator:
            assert generator.model.network.runtime is runtime
            "".join(generator.stream(PROMPT, max_tokens=1))
        with pytest.raises(ArmnnError, match="was closed"):
            "".join(generator.stream(PROMPT, max_tokens=1))
        assert repr(generator) == f"<Generator of {str(genai_folder)!r}>"


def test_a_model_that_asks_how_many_logits_it_should_compute(
    genai_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(genai_folder, tmp_path / "model")
    model = onnx.load(folder / "model.onnx")
    nodes = model.graph.node
    at = next(at for at, node in enumerate(nodes) if "head" in node.output)
    wanted = onnx.helper.make_tensor_value_info("num_logits_to_keep", onnx.TensorProto.INT64, [])
    model.graph.input.append(wanted)
    for name, value in (("one", [1]), ("most", [1 << 40]), ("second", [1])):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(value), f"of.{name}"))
    before = nodes[at].input[0]
    nodes[at].input[0] = "kept"
    for node in (
        onnx.helper.make_node("Slice", [before, "first", "of.most", "of.second"], ["kept"]),
        onnx.helper.make_node("Neg", ["count"], ["first"]),
        onnx.helper.make_node("Reshape", ["num_logits_to_keep", "of.one"], ["count"]),
    ):
        nodes.insert(at, node)
    onnx.save(model, folder / "model.onnx")
    options = {"max_tokens": 12, "temperature": 0.0}
    with (
        armnn_generate.load(genai_folder, ["CpuRef"]) as plain,
        armnn_generate.load(folder, ["CpuRef"]) as asking,
    ):
        for prompt in (PROMPT, PROMPT * 4):
            expected, made = (it.stream(prompt, **options) for it in (plain, asking))
            assert "".join(made) == "".join(expected)


def test_bytes_of_weights_are_those_that_a_token_reads(generator: Generator) -> None:
    # Products of 4 bits with a scale for each block of 32 and a zero point of 4 bits for each,
    # and five norms of 64; nothing of the table, and rotations of 8 numbers a place.
    products = [(64, 128), (64, 64), (64, 128), (64, 128), (128, 64)] * 2 + [(64, 262)]
    expected = sum(n * (k // 2 + k // 32 * 4 + -(-(k // 32) // 2)) for k, n in products)
    small = 5 * 64 * 4
    tables = 2 * CONTEXT * 8 * 4
    assert expected + small <= generator.model.weight_bytes <= expected + small + tables + 100


def test_a_worker_killed_in_a_sentence_loses_no_token(genai_folder: Path) -> None:
    options = {"max_tokens": 12, "temperature": 0.0}
    with armnn_generate.load(genai_folder, ["CpuRef"]) as plain:
        expected = plain.stream("the quick", **options)
        text = "".join(expected)
    with (
        armnn.Runtime(armnn.CreationOptions(isolate=["CpuRef"])) as runtime,
        armnn_generate.load(genai_folder, ["CpuRef"], runtime=runtime) as generator,
    ):
        supervisor: Any = runtime.registry.get("CpuRef").supervisor  # type: ignore[attr-defined]  # of an isolated one
        answer = generator.stream("the quick", **options)
        pieces = []
        for number, piece in enumerate(answer):
            pieces.append(piece)
            if number == 2:
                os.kill(supervisor.link().pid, signal.SIGKILL)
        assert answer.tokens == expected.tokens
        assert "".join(pieces) == text


def test_a_prepared_model_makes_the_same_text(genai_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(genai_folder, tmp_path / "model")
    file = folder / "model.armnn-prepared"
    report = armnn_generate.compile_folder(folder, file, ["CpuRef"], capacity=200)
    assert {row.backend for row in report} == {"CpuRef"}
    (folder / "model.onnx").unlink()
    with (
        armnn_generate.load(genai_folder, ["CpuRef"]) as plain,
        armnn_generate.load(folder, file=file.name) as prepared,
    ):
        assert prepared.model.folder.context_length == 200
        assert prepared.model.weight_bytes == 0
        prepared.prepare()
        for prompt in (PROMPT, PROMPT * 9):  # in one call, and in chunks
            expected, made = (
                it.stream(prompt, max_tokens=6, temperature=0.0) for it in (plain, prepared)
            )
            assert "".join(made) == "".join(expected)
            assert made.tokens == expected.tokens
        with pytest.raises(InvalidArgumentError, match="expected 200 at most, the context"):
            prepared.stream([1] * 201)
        with pytest.raises(ModelFileError, match="holds 4 sets of shapes only"):
            prepared.model.network.stream().run({"input_ids": [[1, 2, 3]], "logits.row": [2]})


@pytest.mark.parametrize("capacity", [0, CONTEXT + 1])
def test_a_capacity_is_within_the_context(
    capacity: int, genai_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgumentError, match=f"expected 1 to {CONTEXT}, the context"):
        armnn_generate.compile_folder(
            genai_folder, tmp_path / "m.armnn-prepared", ["CpuRef"], capacity=capacity
        )
