# SPDX-License-Identifier: MIT
"""Text that comes token by token: whole characters, and nothing after a stop text."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Other
from tokenizers import decoders, models, pre_tokenizers

from armnn.errors import InvalidArgumentError, ModelFileError
from armnn_generate import TextStream, Tokenizer
from armnn_generate.tokenizer import StopTexts

TEXT = "naïve 你好 👩‍👩‍👧 the other end\n"


@pytest.fixture(scope="module")
def tokenizer(genai_folder: Path) -> Tokenizer:
    return Tokenizer(genai_folder / "tokenizer.json")


def test_no_piece_has_half_a_character(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.encode(TEXT)
    assert len(tokens) > len(TEXT)  # most characters are of several tokens
    stream = TextStream(tokenizer)
    pieces = [stream.add(token) for token in tokens]
    assert "".join(pieces) == TEXT
    assert "\ufffd" not in "".join(pieces)
    assert {"ï", "你", "好", "👩"} <= {*pieces}
    assert stream.end() == ""


def test_what_nothing_completes_comes_at_the_end(tokenizer: Tokenizer) -> None:
    stream = TextStream(tokenizer)
    first, *_ = tokenizer.encode("你")
    assert [stream.add(token) for token in [*tokenizer.encode("a"), first]] == ["a", ""]
    assert stream.end() == "\ufffd"
    broken = TextStream(tokenizer)
    pieces = [broken.add(token) for token in [first, *tokenizer.encode("bc")]]
    assert pieces == ["", "\ufffdb", "c"]


def test_any_tokens_make_the_text_that_they_make_at_once(tokenizer: Tokenizer) -> None:
    chance = random.Random(5)
    for _ in range(50):
        tokens = [chance.randrange(tokenizer.vocabulary_size) for _ in range(40)]
        stream = TextStream(tokenizer)
        pieces = [stream.add(token) for token in tokens]
        assert "".join(pieces) + stream.end() == tokenizer.decode(tokens)


@pytest.mark.parametrize("before", ["", "ab", "你好世界"])
def test_runs_of_bytes_stay_whole(tmp_path: Path, before: str) -> None:
    # Llama's decoder writes a whole run of bytes as U+FFFD if the run begins inside of a character.
    words = {"<unk>": 0, **{f"<0x{byte:02X}>": byte + 1 for byte in range(256)}, "a": 257}
    made = Other(models.BPE(words, [], unk_token="<unk>", byte_fallback=True))
    made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer(tmp_path / "tokenizer.json")
    text = "你好世界a你好世界你好世界👩"
    stream = TextStream(tokenizer, tokenizer.encode(before))
    pieces = [stream.add(token) for token in tokenizer.encode(text)]
    assert [piece for piece in pieces if piece] == [*text]
    assert stream.end() == ""


def test_a_first_word_keeps_the_space_before_it(tmp_path: Path) -> None:
    words = {"<unk>": 0, "\u2581Hello": 1, "\u2581world": 2}
    made = Other(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer(tmp_path / "tokenizer.json")
    assert tokenizer.decode([2]) == "world"
    assert TextStream(tokenizer, [1]).add(2) == " world"


def test_marks_are_no_text(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.encode("a<|end|>")
    assert tokens[-1] == tokenizer.token_of("<|end|>") == tokenizer.vocabulary_size - 1
    assert tokenizer.decode(tokens) == "a"
    assert tokenizer.decode(tokens, skips_special_tokens=False) == "a<|end|>"
    stream = TextStream(tokenizer)
    assert [stream.add(token) for token in tokens] == ["a", ""]


@pytest.mark.parametrize(
    ("stops", "pieces", "expected"),
    [
        (["END"], ["a E", "N", "D b"], ["a ", "", ""]),
        (["END"], ["a E", "N", "X"], ["a ", "", "ENX"]),
        (["aab"], ["a", "a", "a", "b"], ["", "", "a", ""]),
        (["xyz", "y"], ["x", "y"], ["", "x"]),
        (["b", "abc"], ["ab", "c"], ["a", ""]),
        ([], ["a", "b"], ["a", "b"]),
    ],
)
def test_stop_texts_span_pieces(stops: list[str], pieces: list[str], expected: list[str]) -> None:
    found = StopTexts(stops)
    assert ["" if found.is_found else found.add(piece) for piece in pieces] == expected
    whole = "".join(pieces)
    assert found.is_found == any(stop in whole for stop in stops)


def test_the_beginning_of_a_stop_text_comes_at_the_end() -> None:
    found = StopTexts(["END"])
    assert found.add("a EN") == "a "
    assert found.end() == "EN"
    assert found.end() == ""


def test_a_text_that_is_none_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be written as UTF-8"):
        tokenizer.encode("a\ud800")


def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"model": {"type": "None"}}))
    with pytest.raises(ModelFileError, match=r"tokenizer\.json' is not a tokenizer: "):
        Tokenizer(path)
