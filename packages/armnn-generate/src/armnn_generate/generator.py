# SPDX-License-Identifier: MIT
"""Generators: a folder that is loaded, its conversations, and the text that they make."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator as PyGenerator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import takewhile
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

import armnn
from armnn.arguments import integer, items, refused
from armnn.errors import ExecutionError, InvalidArgumentError
from armnn_generate.chat import ChatTemplate
from armnn_generate.decoder import LanguageModel, TokenCache
from armnn_generate.folder import ModelFolder, read_folder
from armnn_generate.sampling import Options, Sampler
from armnn_generate.tokenizer import StopTexts, TextStream, Tokenizer

Prompt: TypeAlias = "str | Sequence[Mapping[str, Any]] | Sequence[int]"
"""A text, the messages of a chat, or tokens."""


def load(
    folder: str | os.PathLike[str],
    backends: Sequence[str] | None = None,
    *,
    file: str | None = None,
    runtime: armnn.Runtime | None = None,
    **keywords: Any,
) -> Generator:
    """Load a language model.

    Args:
        folder: A folder of onnxruntime-genai's (with ``genai_config.json``) or of Hugging Face's
            (with ``config.json`` and ONNX files in it or in its folder ``onnx``), as it is.
        backends: The backends, most preferred first; see :func:`armnn.load_model`.
        file: The ONNX file, below the folder, where there are several.
        runtime: Loads the network; without it the generator has one of its own.
        keywords: Other arguments of :meth:`armnn.Runtime.load_model`.

    Raises:
        ModelFileNotFoundError: The folder or a file in it is missing.
        ModelFileError: A file cannot be read, leads out of the folder, or asks for what is not
            supported, such as a library of operators or a provider of onnxruntime.
        InvalidArgumentError: See :func:`armnn.load_model`; or there are several ONNX files.
    """
    found = read_folder(folder, file)
    tokenizer = Tokenizer(found.tokenizer)
    with ExitStack() as undo:
        if runtime is None:
            runtime = undo.enter_context(armnn.Runtime())
        model = LanguageModel(runtime, found, {"backends": backends, **keywords})
        undo.callback(model.network.unload)
        return Generator(model, tokenizer, undo.pop_all())


class Generator:
    """A language model of a folder, ready to generate text; :func:`load` makes it.

    Attributes:
        folder: The facts of the folder.
        model: The loaded network, with what its inputs and outputs mean.
        tokenizer: Text to tokens and back.
        template: Messages to text.
    """

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer, undo: ExitStack) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.folder: ModelFolder = model.folder
        self.template = ChatTemplate(
            self.folder.template, self.folder.special_tokens or {}, repr(str(self.folder.path))
        )
        self._undo = undo
        self._undo.callback(self.template.close)
        self._own: Conversation | None = None

    def stream(self, prompt: Prompt, **options: Any) -> Generation:
        """Generate text for a prompt, on the generator's own conversation.

        See :meth:`Conversation.stream`.
        """
        if self._own is None:
            self._own = self.conversation()
        return self._own.stream(prompt, **options)

    def prepare(self, *prompts: int) -> None:
        """Make the plans of calls now, so that no prompt waits for them.

        Args:
            prompts: How many tokens prompts will have; without any, all lengths are prepared.
        """
        self.model.prepare(*prompts)

    def conversation(self) -> Conversation:
        """Return a new conversation. Several may generate at once, each in a thread of its own."""
        return Conversation(self)

    def tokens_of(self, prompt: Prompt) -> list[int]:
        """Return the tokens of a prompt.

        Args:
            prompt: A text; the messages of a chat, such as ``{"role": "user", "content": "Hi"}``,
                which the chat template of the folder turns into text; or tokens.

        Raises:
            InvalidArgumentError: The prompt is something else or empty, a token is not one of the
                model's, or the folder has no chat template or its template refuses the messages.
        """
        if isinstance(prompt, str):
            found = self.tokenizer.encode(prompt)
        else:
            given = items(prompt, "the prompt", "a text, messages, or tokens")
            if given and isinstance(given[0], Mapping):
                found = self.tokenizer.encode(
                    self.template.render(given), adds_special_tokens=False
                )
            else:
                found = [integer(each, "a token of the prompt") for each in given]
                # Embedding tables would take negative tokens from their ends.
                if wrong := [each for each in found if not 0 <= each < 1 << 31]:
                    raise refused("a token of the prompt", wrong[0], "a whole number from 0 up")
        if not found:
            raise InvalidArgumentError("the prompt has no tokens: expected one or more")
        return found

    def close(self) -> None:
        """Unload the network; conversations cannot go on."""
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Generator of {str(self.folder.path)!r}>"


class Conversation:
    """A sequence of prompts and texts whose keys and values are kept.

    Where a prompt begins with the last one and its text, as that of the next turn of a chat does,
    only its new tokens are computed. A conversation has one generation at a time, the latest one.

    Attributes:
        generator: The model that it is of.
        cache: The tokens that were computed, with their keys and values.
    """

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self.cache: TokenCache = generator.model.new_cache()
        self._lock = threading.Lock()
        self._latest: Generation | None = None

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens that are computed and kept."""
        return tuple(self.cache.tokens)

    def stream(self, prompt: Prompt, **options: Any) -> Generation:
        """Generate text for a prompt; iterating computes it, piece by piece.

        Args:
            prompt: The whole prompt, with what earlier calls have computed; see
                :meth:`Generator.tokens_of`.
            options: See :class:`Options`; those that are left out have the values of the folder.

        Raises:
            InvalidArgumentError: An option is unknown or out of range, the prompt is not valid, or
                it is longer than the context.
        """
        folder = self.generator.folder
        chosen = folder.options.updated(**options)
        tokens = self.generator.tokens_of(prompt)
        if len(tokens) > folder.context_length:
            raise InvalidArgumentError(
                f"the prompt has {len(tokens)} tokens, expected {folder.context_length} at most, "
                "the context of the model"
            )
        self._latest = Generation(self, tokens, chosen)
        return self._latest

    def rewind(self, length: int) -> None:
        """Forget all tokens but the first.

        Args:
            length: How many stay.

        Raises:
            InvalidArgumentError: There are fewer.
        """
        self._latest = None
        with self.running():
            self.cache.rewind(integer(length, "the length to rewind to"))

    @contextmanager
    def running(self, generation: Generation | None = None) -> Iterator[TokenCache]:
        """Yield the cache for the time of a call; other threads wait, even for a canceled call.

        Raises:
            ExecutionError: The generation is not the latest one.
        """
        with self._lock:
            if self._latest is not generation:
                raise ExecutionError(
                    "the generation has ended, because its conversation got another prompt or was "
                    "rewound: use a conversation() of its own for each of several generations"
                )
            yield self.cache

    def __repr__(self) -> str:
        return f"<Conversation of {self.generator!r} with {len(self.cache.tokens)} tokens>"


class Generation:
    """Text that is generated while it is iterated over, by ``for`` or ``async for``.

    With ``async for`` each piece is computed in another thread.

    Attributes:
        options: How it is generated.
        prompt: The tokens of the prompt.
        kept: How many of them the conversation had computed before; None before the first piece.
        tokens: The tokens that were generated so far, without one that ended the text.
        text: Their text, as far as it was returned.
        finish_reason: "stop" after a token or text that ends it, "length" where there was no room
            for more; "" until it has ended.
        prompt_seconds: The time of computing the prompt.
        steps: How many tokens were computed after the prompt.
        step_seconds: The time of these steps and of the choice of tokens.
    """

    def __init__(self, conversation: Conversation, prompt: list[int], options: Options) -> None:
        self.options, self.prompt = options, prompt
        self.kept: int | None = None
        self.tokens: list[int] = []
        self.text = ""
        self.finish_reason = ""
        self.prompt_seconds = self.step_seconds = 0.0
        self.steps = 0
        self._conversation = conversation
        self._pieces = self._generated()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        piece = next(self._pieces)
        self.text += piece
        return piece

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        import asyncio  # late: heavy, and whoever awaits has it

        piece = await asyncio.to_thread(next, self, None)
        if piece is None:
            raise StopAsyncIteration
        return piece

    def close(self) -> None:
        """Generate no more."""
        self._pieces.close()

    def _generated(self) -> PyGenerator[str, None, None]:
        generator = self._conversation.generator
        sampler, stops = Sampler(self.options), StopTexts(self.options.stop)
        text = TextStream(generator.tokenizer, self.prompt)
        folder, most = generator.folder, self.options.max_tokens
        room = (self.options.max_length or folder.context_length) - len(self.prompt)
        room = min(room, folder.context_length - len(self.prompt))
        room = room if most is None else min(room, most)
        logits = self._begun()
        while not self.finish_reason:
            if len(self.tokens) >= room:
                self.finish_reason = "length"
                break
            began = time.perf_counter()
            if self.tokens:
                with self._conversation.running(self) as cache:
                    logits = cache.append(self.tokens[-1:])
                self.steps += 1
            token = sampler.choose(logits, [*self.prompt, *self.tokens])
            if token in folder.stop_tokens:
                self.finish_reason = "stop"
            else:
                self.tokens.append(token)
            self.step_seconds += time.perf_counter() - began
            piece = "" if self.finish_reason else stops.add(text.add(token))
            if stops.is_found:
                self.finish_reason = "stop"
            if piece:
                yield piece
        rest = "" if stops.is_found else stops.add(text.end()) + stops.end()
        if rest:
            yield rest

    def _begun(self) -> NDArray[np.float32]:
        """Compute the tokens of the prompt that are not cached; return the logits of the last."""
        began = time.perf_counter()
        with self._conversation.running(self) as cache:
            # The last token is computed in any case, as its logits are not kept.
            pairs = zip(cache.tokens, self.prompt[:-1], strict=False)
            self.kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            cache.rewind(self.kept)
            logits = cache.append(self.prompt[self.kept :])
        self.prompt_seconds = time.perf_counter() - began
        return logits
