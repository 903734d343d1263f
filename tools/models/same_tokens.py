# SPDX-License-Identifier: MIT
"""Greedy tokens of a folder beside those of onnxruntime-genai.

    python -m tools.models.same_tokens FOLDER [--tokens 256] [--tolerance 0.01]

Twenty prompts are continued by CpuAcc, one by one as ``armnn generate`` does, and by
onnxruntime-genai, all at once. The first token at which two texts part is printed with its margin
in both: how far its logit is from that of the other one. It is an error where one exceeds the
tolerance, as rounding explains no such difference.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime_genai as genai
from numpy.typing import NDArray

import armnn_generate

LENGTH = 6
"""Tokens of each prompt: a batch without padding."""

PROMPTS = """\
The capital of France is a city where people have lived
Once upon a time there was a small fox who lived
Water boils when its temperature is high enough, and then
def fibonacci(n): if n < 2: return n
The three most important inventions of the last century were
In 1969, two men walked on the moon for the
Photosynthesis is the process by which green plants and some
My favorite recipe for bread needs flour, water, salt and
Dear Sir or Madam, I am writing to you because
The difference between a virus and a bacterium is that
If x + 3 = 10, then x is equal to
She opened the door, and behind it she saw a
The history of the Roman Empire begins with the founding
To sort a list in Python, you can call the
Les enfants jouent dans le jardin pendant que leurs parents
Der schnellste Weg von Berlin nach Hamburg ist mit dem
A good scientist always asks why, and then she tries
The weather tomorrow will be sunny in the morning, but
Question: How many legs does a spider have? Answer: a spider
import numpy as np; x = np.zeros((3, 4)); print
""".splitlines()


class Text(NamedTuple):
    """Tokens after a prompt, with the two largest logits from which each was chosen.

    Attributes:
        tokens: The tokens, each the likeliest one.
        margins: By how much each exceeds the second one.
    """

    tokens: list[int]
    margins: list[float]


def margins_of(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return by how much the largest logit of each row exceeds the second one."""
    two = np.partition(logits, -2)[..., -2:]
    return two[..., 1] - two[..., 0]


def texts_of_genai(folder: Path, prompts: list[list[int]], count: int) -> list[Text]:
    """Return what onnxruntime-genai continues prompts of the same length with."""
    model = genai.Model(str(folder))
    parameters = genai.GeneratorParams(model)
    # One that has come to its end goes on with padding, which the caller leaves out.
    length = len(prompts[0]) + count
    parameters.set_search_options(batch_size=len(prompts), max_length=length, do_sample=False)
    generator = genai.Generator(model, parameters)
    generator.append_tokens(np.array(prompts, np.int32))
    texts = [Text([], []) for _ in prompts]
    while not generator.is_done():
        logits = generator.get_logits()[:, -1]
        generator.generate_next_token()
        rows = zip(texts, generator.get_next_tokens(), margins_of(logits), strict=True)
        for text, token, margin in rows:
            text.tokens.append(int(token))
            text.margins.append(float(margin))
    return texts


def text_of_armnn(model: armnn_generate.Generator, prompt: list[int], count: int) -> Text:
    """Return what CpuAcc continues a prompt with, up to a token that ends the text."""
    cache, text = model.model.new_cache(), Text([], [])
    logits = cache.append(prompt)
    while True:
        text.tokens.append(int(logits.argmax()))
        text.margins.append(float(margins_of(logits)))
        if len(text.tokens) == count or text.tokens[-1] in model.folder.stop_tokens:
            return text
        logits = cache.append(text.tokens[-1:])


def main() -> None:
    """Compare all prompts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="of onnxruntime-genai")
    parser.add_argument("--tokens", type=int, default=256, help="of each text")
    parser.add_argument("--tolerance", type=float, default=0.01, help="of a margin")
    given = parser.parse_args()
    same = failures = 0
    with armnn_generate.load(given.folder, ["CpuAcc"]) as model:
        prompts = [model.tokens_of(text)[:LENGTH] for text in PROMPTS]
        expected = texts_of_genai(given.folder, prompts, given.tokens)
        for prompt, other in zip(prompts, expected, strict=True):
            text = text_of_armnn(model, prompt, given.tokens)
            pairs = zip(text.tokens, other.tokens, strict=False)
            at = next((i for i, (one, two) in enumerate(pairs) if one != two), None)
            words = repr(model.tokenizer.decode(prompt))
            if at is None:
                same += 1
                print(f"{words}: {len(text.tokens)} tokens are the same", flush=True)
                continue
            margins = text.margins[at], other.margins[at]
            failures += max(margins) > given.tolerance
            print(
                f"{words}: token {at} is {text.tokens[at]} with a margin of {margins[0]:.2g}, "
                f"of onnxruntime-genai {other.tokens[at]} with {margins[1]:.2g}",
                flush=True,
            )
    print(
        f"{same} of {len(prompts)} texts are the same; {failures} part at a margin above "
        f"{given.tolerance:g}"
    )
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
