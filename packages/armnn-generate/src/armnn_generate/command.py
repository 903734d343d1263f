# SPDX-License-Identifier: MIT
"""``armnn generate``: generates text with a language model.

armnn-tools imports this module, and only this one imports armnn-tools.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from armnn.errors import InvalidArgumentError
from armnn.schemas import INTEGER, NUMBER, TEXT, document, fixed, listed, or_null
from armnn_generate.generator import Generation, Generator, Prompt, load
from armnn_tools.cli.options import (
    add_backend_arguments,
    add_command,
    layer_backends,
    natural_number,
    number,
    opened_runtime,
    options_of_backends,
)
from armnn_tools.cli.output import print_json, printable, progress

SUMMARY: Final = "generate text with a language model"

_EXAMPLES: Final = """\
examples:
  armnn generate FOLDER -p "The capital of France is" --max-tokens 20
  armnn generate FOLDER --chat -p "What is a tensor?"
  armnn generate FOLDER --chat                      # a chat, line by line, on a terminal
  armnn generate FOLDER < prompt.txt --json         # one prompt, from standard input
  armnn generate FOLDER -p "Once" --temperature 0.8 --top-p 0.9 --seed 1
"""

SCHEMA: Final = document(
    "command-generate",
    "armnn generate --json",
    fixed(
        {
            "folder": TEXT,
            "model": TEXT,
            "load_seconds": NUMBER,
            "results": listed(
                fixed(
                    {
                        "prompt": TEXT,
                        "text": TEXT,
                        "tokens": listed(INTEGER),
                        "finish_reason": or_null(TEXT),
                        "prompt_tokens": INTEGER,
                        "kept_tokens": or_null(INTEGER),
                        "prompt_seconds": NUMBER,
                        "decode_tokens": INTEGER,
                        "decode_seconds": NUMBER,
                    }
                )
            ),
            "speed": fixed(
                {
                    "prompt_tokens": INTEGER,
                    "prompt_tokens_per_second": or_null(NUMBER),
                    "decode_tokens": INTEGER,
                    "decode_tokens_per_second": or_null(NUMBER),
                    "weight_bytes_per_token": INTEGER,
                    "memory_bytes_per_second": or_null(NUMBER),
                    "share_of_bandwidth": or_null(NUMBER),
                }
            ),
        }
    ),
)
"""The JSON Schema of the document that ``--json`` prints."""

_BANDWIDTH_BYTES: Final = 1 << 28
"""The bytes that are read to measure the bandwidth of memory: more than caches hold."""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn generate``."""
    parser = add_command(
        subparsers,
        "generate",
        summary,
        "Generate text with the language model of a folder: one of onnxruntime-genai, or an ONNX "
        "export of Hugging Face, as it is. The text goes to standard output as it comes, its "
        "speed to standard error.",
        _EXAMPLES,
        generate,
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder of the model")
    parser.add_argument(
        "-p",
        "--prompt",
        metavar="TEXT",
        action="append",
        default=[],
        help="a prompt (may be repeated; default: what comes from standard input)",
    )
    parser.add_argument(
        "--chat",
        action="store_true",
        help="put prompts into the chat template of the folder; several are the turns of one chat, "
        "and without any each line that is typed is one",
    )
    parser.add_argument(
        "--system", metavar="TEXT", help="the message that a chat begins with, which sets its rules"
    )
    parser.add_argument(
        "--file",
        metavar="NAME",
        help="the ONNX file of the folder, where there are several, or one of 'armnn compile'",
    )
    parser.add_argument(
        "--cache-dir",
        metavar="DIR",
        help="keep the prepared model in this folder: the next process begins at once",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document at the end")
    group = parser.add_argument_group("the text (default: as the folder says)")
    group.add_argument(
        "--max-tokens", type=natural_number, metavar="N", help="end a text after so many tokens"
    )
    group.add_argument(
        "--stop",
        metavar="TEXT",
        action="append",
        default=[],
        help="end a text before this one (may be repeated)",
    )
    group.add_argument("--greedy", action="store_true", help="take the most likely token each time")
    for name, kind, mark, purpose in (
        ("temperature", number, "T", "divide logits by this; 0 is the same as --greedy"),
        ("top-k", natural_number, "N", "draw among the N most likely tokens; 0: all"),
        ("top-p", number, "P", "draw among the likely tokens that have probability P together"),
        ("min-p", number, "P", "draw among tokens that are P times as likely as the first"),
        ("repetition-penalty", number, "X", "make tokens X times less likely that were there"),
        ("seed", natural_number, "N", "draw the same tokens each time"),
    ):
        group.add_argument(f"--{name}", type=kind, metavar=mark, help=purpose)
    add_backend_arguments(parser)


def generate(arguments: argparse.Namespace) -> int:
    """Run ``armnn generate``; return 0."""
    if arguments.system is not None and not arguments.chat:
        raise InvalidArgumentError("--system begins a chat: give --chat, too")
    options = _options(arguments)
    with opened_runtime(arguments) as runtime:
        with progress(f"Loading {arguments.folder}"):
            began = time.perf_counter()
            generator = load(
                arguments.folder,
                arguments.backends,
                file=arguments.file,
                runtime=runtime,
                backend_options=options_of_backends(arguments),
                layer_backends=layer_backends(arguments.layer_backend),
                strict=arguments.strict,
                cache_dir=arguments.cache_dir,
            )
            prompts = [] if arguments.chat else arguments.prompt or [sys.stdin.read()]
            generator.prepare(*(len(generator.tokens_of(each)) for each in prompts))
            load_seconds = time.perf_counter() - began
        with generator:
            made = []
            for shown, generation in _generations(generator, arguments, prompts, options):
                for text in generation:
                    if not arguments.json:
                        print(_for_terminal(text), end="", flush=True)
                if not arguments.json:
                    print(flush=True)
                made.append((shown, generation))
            measured = _measured([each for _, each in made], generator.model.weight_bytes)
            if arguments.json:
                print_json(_document(arguments, generator, made, measured, load_seconds))
            else:
                print(_summary(made, measured), file=sys.stderr)
    return 0


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given."""
    names = ("max_tokens", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed")
    found = {name: getattr(arguments, name) for name in names}
    found = {name: value for name, value in found.items() if value is not None}
    if arguments.stop:
        found["stop"] = tuple(arguments.stop)
    if arguments.greedy:
        found["do_sample"] = False
    return found


def _generations(
    generator: Generator,
    arguments: argparse.Namespace,
    prompts: Sequence[str],
    options: Mapping[str, Any],
) -> Iterator[tuple[str, Generation]]:
    """Yield each prompt and the generation of its text, which the caller completes."""
    if not arguments.chat:
        for text in prompts:
            yield text, generator.stream(text, **options)
        return
    messages: list[dict[str, Any]] = []
    if arguments.system is not None:
        messages.append({"role": "system", "content": arguments.system})
    for text in arguments.prompt or _typed():
        messages.append({"role": "user", "content": text})
        generation = generator.stream(messages, **options)
        yield text, generation
        messages.append({"role": "assistant", "content": generation.text})


def _typed() -> Iterator[str]:
    """Yield the lines that a person types, or everything that a program writes as one text."""
    if not sys.stdin.isatty():
        yield sys.stdin.read()
        return
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.rstrip("\n")


def _measured(generations: Sequence[Generation], weight_bytes: int) -> dict[str, Any]:
    """Return the speed of all generations together; None for figures that were not measured."""
    prompt = sum(len(each.prompt) - (each.kept or 0) for each in generations)
    prompt_seconds = sum(each.prompt_seconds for each in generations)
    steps = sum(each.steps for each in generations)
    step_seconds = sum(each.step_seconds for each in generations)
    speed = steps / step_seconds if steps else None
    bandwidth = _bandwidth() if steps and weight_bytes else None  # a prepared model says no bytes
    return {
        "prompt_tokens": prompt,
        "prompt_tokens_per_second": prompt / prompt_seconds if prompt_seconds else None,
        "decode_tokens": steps,
        "decode_tokens_per_second": speed,
        "weight_bytes_per_token": weight_bytes,
        "memory_bytes_per_second": bandwidth,
        "share_of_bandwidth": speed * weight_bytes / bandwidth if speed and bandwidth else None,
    }


def _bandwidth() -> float:
    """Return the bytes per second that this machine's processors read from memory together."""
    count = len(os.sched_getaffinity(0))
    parts = np.array_split(np.zeros(_BANDWIDTH_BYTES // 8), count)
    with ThreadPoolExecutor(count) as pool:
        seconds = []
        for _ in range(4):  # the first one also maps the pages
            began = time.perf_counter()
            list(pool.map(np.max, parts))
            seconds.append(time.perf_counter() - began)
    return _BANDWIDTH_BYTES / min(seconds)


def _summary(made: Sequence[tuple[Prompt, Generation]], measured: Mapping[str, Any]) -> str:
    """Return the line about all texts; their first tokens come with the prompts, at its speed."""
    text_tokens = sum(len(each.tokens) for _, each in made)

    def speed(value: float | None) -> str:
        return "" if value is None else f" ({value:.1f}/s)"

    told = [
        f"prompt {measured['prompt_tokens']} tokens{speed(measured['prompt_tokens_per_second'])}",
        f"text {text_tokens} tokens{speed(measured['decode_tokens_per_second'])}",
    ]
    if measured["share_of_bandwidth"] is not None:
        told.append(
            f"{measured['share_of_bandwidth']:.0%} of the memory's "
            f"{measured['memory_bytes_per_second'] / 1e9:.1f} GB/s"
        )
    return "; ".join(told)


def _document(
    arguments: argparse.Namespace,
    generator: Generator,
    made: Sequence[tuple[Prompt, Generation]],
    measured: Mapping[str, Any],
    load_seconds: float,
) -> dict[str, Any]:
    return {
        "folder": arguments.folder,
        "model": str(generator.folder.model),
        "load_seconds": load_seconds,
        "results": [
            {
                "prompt": prompt,
                "text": each.text,
                "tokens": each.tokens,
                "finish_reason": each.finish_reason,
                "prompt_tokens": len(each.prompt),
                "kept_tokens": each.kept,
                "prompt_seconds": each.prompt_seconds,
                "decode_tokens": each.steps,
                "decode_seconds": each.step_seconds,
            }
            for prompt, each in made
        ],
        "speed": dict(measured),
    }


def _for_terminal(text: str) -> str:
    """Return a text in which line ends and tabs alone control a terminal."""
    return "".join(each if each in "\n\t" else printable(each) for each in text)
