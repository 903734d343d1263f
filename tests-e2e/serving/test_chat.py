# SPDX-License-Identifier: MIT
"""The chat recipe with OpenAI's client, unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest
from serving.recipe import CHAT, PATIENCE, Server, launched

import armnn_generate
from fakes.decoders import write_genai_folder

PROMPTS = ["Hello", "And the other?", "Thé", "One, two"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_genai_folder(tmp_path_factory.mktemp("chat") / "model")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    started = launched(f"tiny={folder}", "--users", "4", "--backends", "CpuRef", recipe=CHAT)
    started.wait_for("Uvicorn running on")
    yield started
    started.process.kill()
    started.process.wait()


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    url = f"http://{server.http}/v1"
    with openai.OpenAI(base_url=url, api_key="none", timeout=PATIENCE, max_retries=0) as made:
        yield made


def messages(*texts: str) -> list[Any]:
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]


def expected(folder: Path, prompts: list[str]) -> list[str]:
    with armnn_generate.load(folder, ["CpuRef"]) as generator:
        return ["".join(generator.stream(messages(each), max_tokens=24)) for each in prompts]


def told(client: openai.OpenAI, prompt: str) -> str:
    text = ""
    for event in client.chat.completions.create(
        model="tiny", messages=messages(prompt), max_tokens=24, stream=True
    ):
        text += event.choices[0].delta.content or ""
    return text


def test_four_users_at_once_get_what_each_gets_alone(folder: Path, client: openai.OpenAI) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = [*pool.map(lambda prompt: told(client, prompt), PROMPTS * 2)]
    assert made == expected(folder, PROMPTS) * 2


def test_a_whole_answer_has_reason_and_usage(folder: Path, client: openai.OpenAI) -> None:
    ask = client.chat.completions.create
    first = ask(model="tiny", messages=messages("Hello"), max_completion_tokens=5)
    (choice,) = first.choices
    assert (choice.finish_reason, choice.message.role) == ("length", "assistant")
    assert first.usage is not None
    assert first.usage.completion_tokens == 5
    turns = messages("Hello", choice.message.content or "", "More")
    second = ask(model="tiny", messages=turns, max_tokens=5, temperature=0, stop="never")
    assert second.usage is not None
    assert second.usage.prompt_tokens_details is not None
    # The conversation of the first turn was found again.
    assert (second.usage.prompt_tokens_details.cached_tokens or 0) >= first.usage.prompt_tokens
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
    again = ask(model="tiny", messages=parts, max_tokens=5)  # type: ignore[arg-type]  # as sent
    assert again.choices[0].message.content == choice.message.content
    drawn = [
        ask(model="tiny", messages=messages("Hello"), max_tokens=9, temperature=2, seed=seed)
        for seed in (1, 1, 2)
    ]
    one, same, other = (each.choices[0].message.content for each in drawn)
    assert one == same != other


def test_a_stream_ends_with_usage_where_it_is_wanted(client: openai.OpenAI) -> None:
    *_, last = client.chat.completions.create(
        model="tiny",
        messages=messages("Hello"),
        max_tokens=3,
        stream=True,
        stream_options={"include_usage": True},
    )
    assert last.usage is not None
    assert last.usage.completion_tokens == 3


def test_a_user_who_leaves_makes_room(folder: Path, client: openai.OpenAI) -> None:
    for _ in range(6):  # more than there are conversations
        with client.chat.completions.create(
            model="tiny", messages=messages("Hello"), stream=True
        ) as events:
            next(iter(events))
    assert told(client, "Thé") == expected(folder, ["Thé"])[0]


def test_wrong_requests_say_why(client: openai.OpenAI) -> None:
    assert [each.id for each in client.models.list()] == ["tiny"]
    ask = client.chat.completions.create
    with pytest.raises(openai.NotFoundError):
        ask(model="other", messages=messages("Hello"))
    for given, why in (
        ({"n": 2}, "n is not supported"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools is not supported"),
        ({"temperature": -1}, "temperature is -1"),
        ({"messages": []}, "the prompt has no tokens"),
        ({"messages": messages("a" * 500)}, "tokens, expected 384 at most"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "no text"),
    ):
        with pytest.raises(openai.BadRequestError, match=why):
            ask(**{"model": "tiny", "messages": messages("Hello"), **given})  # type: ignore[arg-type]
    assert ask(model="tiny", messages=messages("Hello"), max_tokens=1, n=1, user="me").choices


def test_it_ends_at_a_signal(server: Server) -> None:
    assert server.stop() == 0
