# SPDX-License-Identifier: MIT
"""Serves language models to clients of OpenAI's API, with KServe's SDK.

python chat.py smol=SmolLM2 --users 4 --backends CpuAcc,CpuRef
"""

import argparse
import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import takewhile
from typing import Any

import kserve
import uvloop
from fastapi import Request
from fastapi.responses import JSONResponse, StreamingResponse
from kserve.model_server import app, parser

import armnn
import armnn_generate

PASSED = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed")
READ = {"messages", "model", "stream", "stream_options", "max_tokens", "max_completion_tokens"}
NEUTRAL = {"n": 1, "frequency_penalty": 0, "presence_penalty": 0, "logprobs": False}
"""What clients may send as long as it changes nothing."""
IGNORED = {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"}

models: dict[str, "Chats"] = {}


class Chats(kserve.Model):
    """A language model with a conversation for each of several users."""

    def __init__(self, name: str, generator: Any, users: int) -> None:
        super().__init__(name)
        generator.prepare()
        self.generator = generator
        self.idle = [generator.conversation() for _ in range(users)]
        self.free = asyncio.Semaphore(users)
        self.ready = True

    @asynccontextmanager
    async def conversation(self, tokens: list[int]) -> AsyncIterator[Any]:
        """Yield the idle conversation that has most of the tokens; others wait for one."""

        def kept(each: Any) -> int:
            pairs = zip(each.tokens, tokens, strict=False)
            return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

        async with self.free:
            chosen = max(self.idle, key=kept)  # of equals the one that is idle for longest
            self.idle.remove(chosen)
            try:
                yield chosen
            finally:
                self.idle.append(chosen)


def options_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a generation; what is not supported is refused."""
    for name, value in body.items():
        known = name in {*PASSED, *READ, *IGNORED, "stop"} or value in (None, NEUTRAL.get(name))
        if not known:
            raise armnn.errors.InvalidArgumentError(f"{name} is not supported: got {value!r:.80}")
    options = {name: body[name] for name in PASSED if body.get(name) is not None}
    stop, most = body.get("stop"), body.get("max_completion_tokens") or body.get("max_tokens")
    if stop:
        options["stop"] = [stop] if isinstance(stop, str) else stop
    return options if most is None else {**options, "max_tokens": most}


def plain(message: Any) -> Any:
    """Return a message whose content is a text, as chat templates take it."""
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return message
    parts = message["content"]
    if not all(isinstance(each, dict) and each.get("type") == "text" for each in parts):
        raise armnn.errors.InvalidArgumentError("a message has parts that are no text")
    return {**message, "content": "".join(str(each["text"]) for each in parts)}


def answer(
    begun: dict[str, Any], kind: str, name: str, content: Any, reason: Any
) -> dict[str, Any]:
    """Return a document of one choice, whole or a piece."""
    choice = {"index": 0, name: content, "finish_reason": reason}
    return {**begun, "object": kind, "choices": [choice]}


def usage(generation: Any) -> dict[str, Any]:
    """Return how many tokens an answer took, and how many of them were computed before."""
    prompt, made = len(generation.prompt), len(generation.tokens)
    counts = {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}
    return {**counts, "prompt_tokens_details": {"cached_tokens": generation.kept}}


async def chat(request: Request) -> Any:
    """Answer ``POST /v1/chat/completions``."""
    try:
        body = json.loads(await request.body())
        options = options_of(body)
        model = models[body["model"]]
        messages = [plain(each) for each in body["messages"]]
        tokens = await asyncio.to_thread(model.generator.tokens_of, messages)
        model.generator.conversation().stream(tokens, **options)  # says now what is wrong
    except (armnn.ArmnnError, ValueError, TypeError, KeyError, AttributeError) as error:
        status = 404 if isinstance(error, KeyError) and error.args[0] not in READ else 400
        return refusal(status, f"{type(error).__name__}: {error}")
    identity, created = f"chatcmpl-{uuid.uuid4().hex}", int(time.time())
    begun = {"id": identity, "created": created, "model": body["model"]}
    if body.get("stream"):
        wants_usage = (body.get("stream_options") or {}).get("include_usage")
        events = streamed(model, tokens, options, begun, wants_usage)
        return StreamingResponse(events, media_type="text/event-stream")
    async with model.conversation(tokens) as conversation:
        generation = conversation.stream(tokens, **options)
        async for _ in generation:
            if await request.is_disconnected():
                return refusal(499, "the client has left")
    message = {"role": "assistant", "content": generation.text}
    whole = answer(begun, "chat.completion", "message", message, generation.finish_reason)
    return JSONResponse({**whole, "usage": usage(generation)})


async def streamed(
    model: Chats, tokens: list[int], options: Any, begun: Any, wants_usage: Any
) -> AsyncIterator[str]:
    """Yield the events of an answer; it ends when the client leaves."""

    def event(delta: dict[str, Any], reason: str | None = None) -> str:
        piece = answer(begun, "chat.completion.chunk", "delta", delta, reason)
        return f"data: {json.dumps(piece)}\n\n"

    async with model.conversation(tokens) as conversation:
        generation = conversation.stream(tokens, **options)
        yield event({"role": "assistant", "content": ""})
        try:
            async for text in generation:
                yield event({"content": text})
        except armnn.ArmnnError as error:  # the status has been sent
            yield f"data: {json.dumps({'error': {'message': str(error)}})}\n\n"
            return
        yield event({}, generation.finish_reason)
        if wants_usage:
            last = {**begun, "object": "chat.completion.chunk", "choices": []}
            yield f"data: {json.dumps({**last, 'usage': usage(generation)})}\n\n"
        yield "data: [DONE]\n\n"


def refusal(status: int, message: str) -> JSONResponse:
    """Return an error as OpenAI's clients read it."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return JSONResponse({"error": error}, status)


async def listed() -> Any:
    """Answer ``GET /v1/models``."""
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "armnn"} for name in models]
    return {"object": "list", "data": data}


def main() -> None:
    """Load the models and serve them."""
    options = argparse.ArgumentParser(description=__doc__, parents=[parser])
    options.add_argument("folders", nargs="+", metavar="NAME=FOLDER")
    options.add_argument("--backends", type=lambda ids: ids.split(","), help="CpuAcc,CpuRef")
    options.add_argument("--users", type=int, default=4, help="how many generate at once")
    given = options.parse_args()
    for prefix in ("/v1", "/openai/v1"):
        app.add_api_route(f"{prefix}/chat/completions", chat, methods=["POST"])
        app.add_api_route(f"{prefix}/models", listed)
    app.max_body_size = given.grpc_max_receive_message_length
    asyncio.run = uvloop.run  # the SDK runs its servers by it, and its --event_loop has no effect
    with armnn.Runtime() as runtime:
        for each in given.folders:
            name, folder = each.split("=", 1)
            generator = armnn_generate.load(folder, given.backends, runtime=runtime)
            models[name] = Chats(name, generator, given.users)
        kserve.ModelServer().start([*models.values()])


if __name__ == "__main__":
    main()
