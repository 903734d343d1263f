# SPDX-License-Identifier: MIT
"""Chat templates: messages to the text of a prompt.

A template is a program in a stranger's folder. It runs in jinja2's sandbox, in a process of its own
that is bounded in time, memory and output, as a sandbox bounds none of these.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Final

from armnn.arguments import mapping, refused, text
from armnn.errors import ClosedError, InvalidArgumentError, ModelFileError
from armnn_backend_api.processes import Bounds, JsonChild, NoReplyError

SECONDS: Final = 5.0
"""How long a template may take."""

CHARACTERS: Final = 1 << 18
"""How long the text of a prompt may be."""

_START_SECONDS: Final = 30.0
_MEMORY: Final = 1 << 29
_FUNCTION: Final = "armnn_generate._template:serve"


class ChatTemplate:
    """The chat template of a folder. Several threads may use it.

    Args:
        template: Its text, "" for none.
        special_tokens: The tokens that it may use as ``bos_token`` and so on.
        source: The file that it belongs to, for errors.
    """

    def __init__(self, template: str, special_tokens: Mapping[str, str], source: str) -> None:
        self._template, self._special, self._source = template, dict(special_tokens), source
        self._lock = threading.Lock()
        self._child: JsonChild | None = None
        self._is_closed = False

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        adds_generation_prompt: bool = True,
        tools: Sequence[Any] | None = None,
        template: str | None = None,
    ) -> str:
        """Return the text of a prompt.

        Args:
            messages: The messages of the chat, such as ``{"role": "user", "content": "Hello"}``.
            adds_generation_prompt: Whether the text ends where the model is to answer.
            tools: The functions that the model may call, as its template describes it.
            template: Another template in the place of the folder's.

        Raises:
            InvalidArgumentError: The folder has no template, a message has no role, or the template
                refuses the messages.
            ClosedError: It was closed.
            ModelFileError: The template is wrong, or exceeds its time, memory or output.
        """
        chosen = self._template if template is None else template
        if not chosen:
            raise InvalidArgumentError(
                f"{self._source} has no chat template: give the prompt as a text"
            )
        request = {
            "template": chosen,
            "values": {
                **self._special,
                "messages": checked_messages(messages),
                "tools": tools,
                "add_generation_prompt": adds_generation_prompt,
            },
            "characters": CHARACTERS,
        }
        try:
            json.dumps(request)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"the messages cannot be written as JSON: {error}"
            ) from error
        with self._lock:
            try:
                reply = self._started().ask(request, SECONDS)
            except NoReplyError as error:
                self._close()
                raise ModelFileError(
                    f"the chat template of {self._source}: {error}; expected {SECONDS:g} s and "
                    f"{_MEMORY >> 20} MiB at most"
                ) from error
        if "refused" in reply:
            raise InvalidArgumentError(
                f"the chat template of {self._source} refuses the messages: {reply['refused']}"
            )
        if "fault" in reply:
            raise ModelFileError(f"the chat template of {self._source} fails: {reply['fault']}")
        return str(reply["text"])

    def close(self) -> None:
        """End the process, if there is one; no other one begins."""
        with self._lock:
            self._is_closed = True
            self._close()

    def _started(self) -> JsonChild:
        if self._is_closed:
            raise ClosedError(f"the generator of {self._source} was closed before this call")
        if self._child is None:
            child = JsonChild(_FUNCTION, None, Bounds(memory=_MEMORY))
            try:
                child.reply(_START_SECONDS)
            except NoReplyError:
                child.close()
                raise
            self._child = child
            self._end = weakref.finalize(self, child.close)
        return self._child

    def _close(self) -> None:
        if self._child is not None:
            self._child = None
            self._end()


def checked_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return messages as JSON holds them, once checked."""
    made = []
    for at, message in enumerate(messages):
        what = f"message {at}"
        given = dict(mapping(message, what, "a mapping such as {'role': ..., 'content': ...}"))
        if "role" not in given:
            raise refused(what, given, "one that has a 'role'")
        text(given["role"], f"the role of {what}")
        made.append(given)
    if not made:
        raise refused("the messages", messages, "one message or more")
    return made
