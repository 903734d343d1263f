# SPDX-License-Identifier: MIT
"""Chat templates: what they write, and that one from a stranger's folder gets nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armnn.errors import ClosedError, InvalidArgumentError, ModelFileError
from armnn_generate import chat
from armnn_generate.chat import ChatTemplate
from fakes.decoders import TEMPLATE

HELLO = [{"role": "user", "content": "Hello <b>"}]


@pytest.fixture(scope="module")
def template() -> Iterator[ChatTemplate]:
    made = ChatTemplate(TEMPLATE, {"bos_token": "<s>"}, "the folder")
    yield made
    made.close()


def test_messages_become_a_prompt(template: ChatTemplate) -> None:
    expected = "<|begin|>user\nHello <b><|end|>"
    assert template.render(HELLO) == expected + "<|begin|>assistant\n"
    assert template.render(HELLO, adds_generation_prompt=False) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ bos_token }}{{ messages[0].content }}", "<s>Hello <b>"),
        ("{{ messages | tojson }}", '[{"role": "user", "content": "Hello <b>"}]'),
        ("{{ tools | tojson(indent=1) }}", "null"),
        # As Hugging Face's: a block's line end and the blanks before it are left out.
        ("  {% if true %}\na\n  {% endif %}\nb", "a\nb"),
        ("{% for m in [1, 2, 3] %}{% if m == 2 %}{% break %}{% endif %}{{ m }}{% endfor %}", "1"),
        ("{{ strftime_now('%%') }}", "%"),
    ],
)
def test_what_templates_of_hugging_face_use(
    template: ChatTemplate, text: str, expected: str
) -> None:
    assert template.render(HELLO, template=text) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ ''.__class__.__mro__ }}", "SecurityError"),
        ("{{ cycler.__init__.__globals__ }}", "SecurityError"),
        ("{{ messages.append(1) }}", "SecurityError"),
        ("{{ messages[0].update(role='system') }}", "SecurityError"),
        ("{% include '/etc/passwd' %}", "no loader"),
        ("{{ 'a' * 10 ** 10 }}", "MemoryError|memory"),
        ("{% for i in range(999) %}{{ 'x' * 999 }}{% endfor %}", "more than 262144 characters"),
        ("{% if", "TemplateSyntaxError"),
    ],
)
def test_a_strangers_template_gets_nowhere(template: ChatTemplate, text: str, told: str) -> None:
    with pytest.raises(ModelFileError, match=f"chat template of the folder.*({told})"):
        template.render(HELLO, template=text)
    assert template.render(HELLO)  # it goes on


def test_a_template_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "SECONDS", 0.3)
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    template = ChatTemplate(loops, {}, "the folder")
    with pytest.raises(ModelFileError, match=r"exceeded time; expected 0\.3 s and 512 MiB at most"):
        template.render(HELLO)
    assert template.render(HELLO, template="a") == "a"
    template.close()
    template.close()
    with pytest.raises(ClosedError, match="the generator of the folder was closed"):
        template.render(HELLO)


def test_a_template_may_refuse(template: ChatTemplate) -> None:
    told = "the chat template of the folder refuses the messages: roles must alternate"
    with pytest.raises(InvalidArgumentError, match=told):
        template.render(HELLO, template="{{ raise_exception('roles must alternate') }}")


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([], "one message or more"),
        (["Hello"], "message 0 is 'Hello', expected a mapping"),
        ([{"content": "Hello"}], "one that has a 'role'"),
        ([{"role": 1}], "the role of message 0 is 1, expected a text"),
        ([{"role": "user", "content": Path("x")}], "cannot be written as JSON"),
    ],
)
def test_messages_that_are_none_are_named(template: ChatTemplate, messages: Any, told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=told):
        template.render(messages)


def test_no_template_is_an_error() -> None:
    with pytest.raises(InvalidArgumentError, match="the folder has no chat template: give the pro"):
        ChatTemplate("", {}, "the folder").render(HELLO)
