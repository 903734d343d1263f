# SPDX-License-Identifier: MIT
"""``armnn generate``: what it prints where, and how it fails."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from armnn_generate import Generator, command
from armnn_tools.cli.main import main

PROMPT = "The other"


@pytest.fixture(autouse=True)
def no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_BANDWIDTH_BYTES", 1 << 20)


def generate(folder: Path, *options: str) -> int:
    return main(["generate", str(folder), "--backends", "CpuRef", "--max-tokens", "6", *options])


def checked(text: str) -> Any:
    """Return a document, which has the schema of the command."""
    found = json.loads(text)
    jsonschema.validate(found, command.SCHEMA)
    return found


def text_of(generator: Generator, prompt: Any, **options: Any) -> str:
    return "".join(generator.conversation().stream(prompt, max_tokens=6, **options))


def test_the_text_is_on_stdout_and_the_speed_on_stderr(
    genai_folder: Path, generator: Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate(genai_folder, "-p", PROMPT, "-p", "And") == 0
    printed, told = capsys.readouterr()
    expected = [text_of(generator, prompt) for prompt in (PROMPT, "And")]
    assert printed == "".join(command._for_terminal(text) + "\n" for text in expected)
    # The second prompt has nothing in common with the first one.
    assert told.startswith("prompt 10 tokens (")
    assert "/s); text 12 tokens (" in told
    assert "% of the memory's " in told


def test_threads_are_told_to_backends_that_can_be_told(
    genai_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate(genai_folder, "-p", PROMPT, "--threads", "2") == 1
    assert "--threads got 2, but none of the backends CpuRef has" in capsys.readouterr().err


def test_a_document_has_all_of_it(
    genai_folder: Path, generator: Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--temperature", "1.5", "--top-k", "0", "--seed", "4", "--json")
    assert generate(genai_folder, "-p", PROMPT, *options) == 0
    document = checked(capsys.readouterr().out)
    (result,) = document["results"]
    assert result["text"] == text_of(generator, PROMPT, temperature=1.5, top_k=0, seed=4)
    assert len(result["tokens"]) == 6
    assert (result["finish_reason"], result["prompt_tokens"]) == ("length", 7)
    assert result["kept_tokens"] == 0
    assert result["decode_tokens"] == 5
    speed = document["speed"]
    rate = speed["decode_tokens_per_second"] * speed["weight_bytes_per_token"]
    assert speed["share_of_bandwidth"] == pytest.approx(rate / speed["memory_bytes_per_second"])


def test_a_prompt_comes_from_stdin(
    genai_folder: Path,
    generator: Generator,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Two\nlines"))
    assert generate(genai_folder, "--json") == 0
    (result,) = checked(capsys.readouterr().out)["results"]
    assert result["prompt"] == "Two\nlines"
    assert result["text"] == text_of(generator, "Two\nlines")


def test_a_chat_has_turns(
    genai_folder: Path, generator: Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--chat", "--system", "Be brief", "-p", "Hello", "-p", "More", "--json")
    assert generate(genai_folder, *options) == 0
    first, second = checked(capsys.readouterr().out)["results"]
    messages = [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": first["text"]},
        {"role": "user", "content": "More"},
    ]
    assert first["text"] == text_of(generator, messages[:2])
    assert second["text"] == text_of(generator, messages)
    assert second["kept_tokens"] >= first["prompt_tokens"]


def test_lines_that_are_typed_are_turns(
    genai_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("Hello\n\nMore\n"))
    assert generate(genai_folder, "--chat", "--json") == 0
    printed, told = capsys.readouterr()
    results = json.loads(printed)["results"]
    assert [each["prompt"] for each in results] == ["Hello", "More"]
    assert told.startswith("> > > ")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-p", "a", "--system", "b"], "--system begins a chat: give --chat, too"),
        (["-p", "a", "--top-p", "2"], "top_p is 2.0, expected a number above 0, up to 1"),
        (["-p", "a", "--file", "../x.onnx"], "'../x.onnx' leads out of the folder"),
        (["-p", ""], "the prompt has no tokens"),
        (["-p", "a", "--option", "CpuRef"], "--option got 'CpuRef'"),
    ],
)
def test_what_goes_wrong_is_one_line(
    genai_folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    assert generate(genai_folder, *options) == 1
    printed, errors = capsys.readouterr()
    assert printed == ""
    assert errors.startswith("armnn: error: ")
    assert told in errors
    assert errors.count("\n") == 1


def test_wrong_usage_is_2(genai_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        generate(genai_folder, "-p", "a", "--top-k", "-1")
    assert caught.value.code == 2
    assert "--top-k: got '-1', expected a whole number from 0" in capsys.readouterr().err


def test_a_text_cannot_control_a_terminal() -> None:
    assert command._for_terminal("a\x1b[31m\n\tb\x07é") == "a\\x1b[31m\n\tb\\x07é"


def test_a_prepared_model_is_kept(
    genai_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["generate", str(genai_folder), "-p", "the quick", "--max-tokens", "3", "--greedy"]
    arguments += ["--backends", "CpuRef", "--cache-dir", str(tmp_path / "kept")]
    texts = []
    for _ in range(2):
        assert main(arguments) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert list((tmp_path / "kept").iterdir())


def test_a_folder_is_compiled(
    genai_folder: Path, generator: Generator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(genai_folder, tmp_path / "model")
    out = ["-o", str(folder / "m.armnn-prepared"), "--backends", "CpuRef"]
    assert main(["compile", str(folder), "--capacity", "40", *out]) == 0
    assert "layers on CpuRef" in capsys.readouterr().out
    assert generate(folder, "--file", "m.armnn-prepared", "-p", PROMPT) == 0
    printed, told = capsys.readouterr()
    assert printed == command._for_terminal(text_of(generator, PROMPT)) + "\n"
    assert "memory" not in told  # a prepared model does not say how large its weights are
