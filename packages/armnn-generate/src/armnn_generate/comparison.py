# SPDX-License-Identifier: MIT
"""Comparison of two lists of backends on one text: the first token that they choose differently.

Both compute the tokens that the reference chooses, so that what follows a difference is compared,
too. ``armnn compare FOLDER`` runs the layers of the call that made the parting token one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import armnn
from armnn_generate.decoder import TokenCache
from armnn_generate.generator import Generator, Prompt, load


@dataclass(frozen=True, slots=True)
class Parting:
    """The first token that the backends choose differently.

    Attributes:
        index: Which token of the generated text it is, from 0.
        token: The token that the reference chooses.
        text: Its text.
        other: The token that the backends choose.
        other_text: Its text.
        margin: By how much the reference prefers its token to the second one, in logits.
        other_margin: By how much the backends prefer theirs.
    """

    index: int
    token: int
    text: str
    other: int
    other_text: str
    margin: float
    other_margin: float


@dataclass(frozen=True, slots=True)
class TextComparison:
    """The result of the comparison of a text.

    Attributes:
        model: The ONNX file of the folder.
        prompt: How many tokens the prompt has.
        tokens: The tokens that the reference chose, up to the first different one.
        text: Their text.
        parting: The first token that they choose differently, None if all are equal.
        largest_difference: The largest one of any logit of any compared token.
        least_margin: The least margin of the reference's choices.
        inputs: The inputs of the call that made the parting token, or, where there is none, of the
            prompt; keys and values of earlier tokens are the reference's.
    """

    model: Path
    prompt: int
    tokens: tuple[int, ...]
    text: str
    parting: Parting | None
    largest_difference: float
    least_margin: float
    inputs: dict[str, NDArray[Any]] = field(repr=False)

    @property
    def agrees(self) -> bool:
        """Whether all tokens are the same."""
        return self.parting is None

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as data for JSON, without the inputs of the call."""
        return {
            "prompt_tokens": self.prompt,
            "tokens": list(self.tokens),
            "text": self.text,
            "parting": None if self.parting is None else asdict(self.parting),
            "largest_difference": self.largest_difference,
            "least_margin": self.least_margin,
        }

    def __str__(self) -> str:
        most = f"largest difference of a logit {self.largest_difference:.2g}"
        if self.parting is None:
            return (
                f"The backends choose the same {len(self.tokens)} tokens; {most}, least margin "
                f"{self.least_margin:.2g}."
            )
        at = self.parting
        return (
            f"Token {at.index} of the text is the first different one: {at.text!r} by "
            f"{at.margin:.2g} on the reference, {at.other_text!r} by {at.other_margin:.2g} on the "
            f"backends; {most}."
        )


def compare_text(
    folder: str | Path,
    backends: Sequence[str],
    prompt: Prompt,
    *,
    reference: Sequence[str],
    max_tokens: int = 32,
    file: str | None = None,
    runtime: armnn.Runtime | None = None,
    **keywords: Any,
) -> TextComparison:
    """Generate a text on a reference, and find the first token that backends choose differently.

    Args:
        folder: See :func:`armnn_generate.load`.
        backends: The backends to compare.
        prompt: See :meth:`armnn_generate.Generator.tokens_of`.
        reference: The backends that define the text.
        max_tokens: How many tokens are compared, at most.
        file: See :func:`armnn_generate.load`.
        runtime: As there.
        keywords: Others of :meth:`armnn.Runtime.load_model`, for the backends.

    Raises:
        ArmnnError: See :func:`armnn_generate.load`.
    """
    with (
        load(folder, reference, file=file, runtime=runtime) as right,
        load(folder, backends, file=file, runtime=runtime, **keywords) as other,
    ):
        given = right.tokens_of(prompt)
        caches = right.model.new_cache(), other.model.new_cache()
        made: list[int] = []
        parting: Parting | None = None
        largest, least = 0.0, float("inf")
        while parting is None:
            step = made[-1:] or given
            logits, others = (cache.append(step) for cache in caches)
            largest = max(largest, float(np.max(np.abs(logits - others), initial=0)))
            least = min(least, _margin(logits))
            parting = _parting(right, len(made), logits, others)
            token = int(np.argmax(logits))
            if token in right.folder.stop_tokens and parting is None:
                break
            made.append(token)
            if len(made) >= max_tokens or caches[0].room <= 0:
                break
        cache = caches[0]
        cache.rewind(len(given) + len(made) - 2 if parting and parting.index else 0)
        wanted = made[-2:-1] if parting and parting.index else given
        return TextComparison(
            right.folder.model,
            len(given),
            tuple(made),
            right.tokenizer.decode(made),
            parting,
            largest,
            least,
            _inputs_of(cache, wanted),
        )


def _inputs_of(cache: TokenCache, tokens: Sequence[int]) -> dict[str, NDArray[Any]]:
    return cache.inputs_of(np.array([tokens], np.int64))


def _parting(
    right: Generator, index: int, logits: NDArray[np.float32], others: NDArray[np.float32]
) -> Parting | None:
    token, other = int(np.argmax(logits)), int(np.argmax(others))
    if token == other:
        return None
    texts = (right.tokenizer.decode([each]) for each in (token, other))
    text, other_text = texts
    return Parting(index, token, text, other, other_text, _margin(logits), _margin(others))


def _margin(logits: NDArray[np.float32]) -> float:
    """Return by how much the largest logit exceeds the second one."""
    second, first = np.partition(logits, -2)[-2:]
    return float(first - second)
