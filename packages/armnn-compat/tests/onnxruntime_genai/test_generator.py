# SPDX-License-Identifier: MIT
"""The stand-in for onnxruntime-genai: its steps, and its refusals as RuntimeErrors."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import armnn
from armnn_compat import onnxruntime_genai as og
from fakes.decoders import CONTEXT, write_genai_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Model]:
    config = og.Config(str(write_genai_folder(tmp_path_factory.mktemp("genai") / "model")))
    config.append_provider("CpuRef")
    made = og.Model(config)
    yield made
    made.generator.close()


def generator(model: og.Model, **options: Any) -> og.Generator:
    params = og.GeneratorParams(model)
    params.set_search_options(**options)
    return og.Generator(model, params)


def test_tokens_come_one_by_one(model: og.Model) -> None:
    made = generator(model, max_length=12)
    made.append_tokens([1, 2, 3])
    first = made.get_logits()
    assert first.shape == (1, 1, 262)
    made.generate_next_token()
    assert made.get_next_tokens().tolist() == [int(first.argmax())]
    assert made.get_sequence(0).tolist() == [1, 2, 3, int(first.argmax())]
    assert made.token_count() == 4
    while not made.is_done():
        made.generate_next_token()
    whole = made.get_sequence(0).tolist()
    assert len(whole) == 12 or made.get_next_tokens().tolist() == [261]
    made.rewind_to(3)
    assert (made.token_count(), made.is_done()) == (3, False)
    while not made.is_done():
        made.generate_next_token()
    assert made.get_sequence(0).tolist() == whole
    made.rewind_to(2)
    made.append_tokens(np.array([[9]], np.int32))
    assert made.get_sequence(0).tolist() == [1, 2, 9]


def test_logits_may_be_set(model: og.Model) -> None:
    made = generator(model, max_length=9)
    made.append_tokens([1, 2])
    made.set_logits(np.eye(262, dtype=np.float32)[7])
    made.generate_next_token()
    assert made.get_next_tokens().tolist() == [7]
    made.set_logits(np.eye(262, dtype=np.float32)[261])
    made.generate_next_token()
    assert made.is_done()
    assert made.get_sequence(0).tolist() == [1, 2, 7]  # what ends a text is not in it


def test_a_text_goes_both_ways(model: og.Model) -> None:
    tokenizer = og.Tokenizer(model)
    messages = json.dumps([{"role": "user", "content": "thé"}])
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=False)
    assert text == "<|begin|>user\nthé<|end|>"
    tokens = tokenizer.encode(text)
    assert tokens.dtype == np.int32
    assert tokens[-1] == tokenizer.eos_token_ids[0] == tokenizer.pad_token_id == 261
    assert tokens[0] == tokenizer.bos_token_id == tokenizer.to_token_id("<|begin|>") == 260
    assert tokenizer.decode(tokens) == "user\nthé"
    stream = tokenizer.create_stream()
    assert "".join(stream.decode(token) for token in tokens) == "user\nthé"


def test_options_are_those_of_the_folder(model: og.Model) -> None:
    options = og.GeneratorParams(model).get_search_options()
    assert (options["max_length"], options["do_sample"], options["top_k"]) == (CONTEXT, False, 50)
    assert (model.type, model.device_type) == ("llama", "CPU")
    drawn = [
        generator(model, max_length=20, do_sample=True, temperature=9.0, top_k=0, random_seed=seed)
        for seed in (1, 1, 2)
    ]
    for each in drawn:
        each.append_tokens([1])
        while not each.is_done():
            each.generate_next_token()
    one, again, other = (each.get_sequence(0).tolist() for each in drawn)
    assert one == again != other


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"foo": 1}, 'Unknown value "foo"'),
        ({"num_beams": 4}, "num_beams is 4: expected 1"),
        ({"batch_size": 2}, "batch_size is 2: expected 1"),
        ({"temperature": -1.0}, r"temperature is -1\.0"),
        ({"max_length": 0}, "max_length is 0"),
    ],
)
def test_options_that_are_none_are_runtime_errors(
    model: og.Model, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(RuntimeError, match=told) as caught:
        generator(model, **options)
    assert isinstance(caught.value, armnn.ArmnnError)


def test_calls_out_of_turn_are_runtime_errors(model: og.Model) -> None:
    made = generator(model, max_length=4)
    with pytest.raises(RuntimeError, match="called with no prior state"):
        made.generate_next_token()
    with pytest.raises(RuntimeError, match=r"size \(5\) \+ current sequence length \(0\) exceeds"):
        made.append_tokens([1, 2, 3, 4, 5])
    with pytest.raises(RuntimeError, match=r"array of int64\[2, 1\], expected whole numbers"):
        made.append_tokens([[1], [2]])
    made.append_tokens([1, 2, 3, 4])
    with pytest.raises(RuntimeError, match=r"already at max_length \(4\)"):
        made.generate_next_token()
    with pytest.raises(RuntimeError, match="Cannot rewind to a length greater"):
        made.rewind_to(9)
    with pytest.raises(RuntimeError, match="there is no sequence 1"):
        made.get_sequence(1)
    with pytest.raises(RuntimeError, match="there is no folder"):
        og.Model("/nowhere")
    with pytest.raises(RuntimeError, match=r"onnxruntime_genai\.Engine is not supported here"):
        og.Engine(model)


def test_it_takes_the_name_and_gives_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("onnxruntime_genai", "onnxruntime_genai.onnxruntime_genai"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with og.install():
        import onnxruntime_genai

        assert onnxruntime_genai is og
    assert "onnxruntime_genai" not in sys.modules
