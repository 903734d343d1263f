# SPDX-License-Identifier: MIT
"""The choice of the next token from the logits of a model.

The filters come in the order of Hugging Face's and onnxruntime-genai's: repetition penalty,
temperature, top-k, top-p, min-p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import flag, integer, real, refused, texts, with_known_names
from armnn.errors import ExecutionError

_SAMPLING: Final = frozenset({"temperature", "top_k", "top_p", "min_p", "seed"})
"""The options that ask for sampling where ``do_sample`` is left out."""


@with_known_names("option {} of a generation")
@dataclass(frozen=True, kw_only=True)
class Options:
    """How text is generated.

    Attributes:
        max_tokens: How many tokens are generated at most; None for as many as fit.
        max_length: How many tokens prompt and text have together at most; None for as many as the
            context of the model has.
        stop: Texts that end the generation. The generated text contains none of them.
        do_sample: Whether tokens are drawn; otherwise each is the most likely one.
        temperature: The divisor of logits: below 1, likely tokens are drawn more often. 0 is the
            same as ``do_sample=False``.
        top_k: How many of the most likely tokens take part; 0 for all.
        top_p: The least probability that the tokens that take part have together; 1 for all.
        min_p: The least probability of a token that takes part, as a share of the highest one.
        repetition_penalty: What logits of the tokens of prompt and text are divided by where they
            are positive, and multiplied by where they are not.
        seed: Makes the draws repeatable; None for other draws each time.
    """

    max_tokens: int | None = None
    max_length: int | None = None
    stop: tuple[str, ...] = ()
    do_sample: bool = False
    temperature: float = 1.0
    top_k: int = 50
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        """Check all values.

        Raises:
            InvalidArgumentError: One is outside of its range, or of another type.
        """
        for name, least in (("max_tokens", 0), ("max_length", 1), ("seed", 0), ("top_k", 0)):
            value = getattr(self, name)
            if value is not None and integer(value, name) < least:
                raise refused(name, value, f"a whole number from {least} up")
        object.__setattr__(self, "stop", texts(self.stop, "stop"))
        if not all(self.stop):
            raise refused("stop", self.stop, "texts that are not empty")
        flag(self.do_sample, "do_sample")
        temperature = real(self.temperature, "temperature")
        if not 0 <= temperature < np.inf:
            raise refused("temperature", self.temperature, "a number from 0 up")
        if not 0 < real(self.top_p, "top_p") <= 1:
            raise refused("top_p", self.top_p, "a number above 0, up to 1")
        if not 0 <= real(self.min_p, "min_p") <= 1:
            raise refused("min_p", self.min_p, "a number from 0 to 1")
        if not 0 < real(self.repetition_penalty, "repetition_penalty") < np.inf:
            raise refused("repetition_penalty", self.repetition_penalty, "a number above 0")

    @property
    def is_greedy(self) -> bool:
        """Whether each token is the most likely one."""
        return not self.do_sample or self.temperature == 0 or self.top_k == 1

    def updated(self, **given: Any) -> Options:
        """Return these options with others in their place.

        An option of sampling turns sampling on, unless ``do_sample`` is given, too.
        """
        if "do_sample" not in given and not _SAMPLING.isdisjoint(given):
            given["do_sample"] = True
        Options(**given)  # names what is unknown, which replace() would not
        return replace(self, **given)


class Sampler:
    """Chooses tokens. Two samplers with the same options and seed choose the same.

    Args:
        options: How tokens are chosen.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._random = np.random.default_rng(options.seed)

    def choose(self, logits: NDArray[Any], tokens: Sequence[int]) -> int:
        """Return the next token.

        Args:
            logits: One for each word of the vocabulary.
            tokens: The tokens of prompt and text so far.

        Raises:
            ExecutionError: A logit is NaN, or the largest one infinite.
        """
        scores = penalized(logits, tokens, self.options.repetition_penalty)
        if not np.isfinite(scores.max()):  # also where any of them is NaN
            raise ExecutionError(
                f"the largest logit that the model computed is {scores.max()}, expected a finite "
                "number: armnn compare finds the first layer that a backend computes wrongly"
            )
        if self.options.is_greedy:
            return int(scores.argmax())
        chosen, probabilities = candidates(scores, self.options)
        bounds = probabilities.cumsum()
        at = int(np.searchsorted(bounds, self._random.random() * bounds[-1], side="right"))
        return int(chosen[min(at, len(chosen) - 1)])


def penalized(logits: NDArray[Any], tokens: Sequence[int], penalty: float) -> NDArray[Any]:
    """Return logits, lower for tokens that are there already."""
    if penalty == 1 or not len(tokens):
        return logits
    made = logits.copy()
    there = np.unique(np.asarray(tokens))
    made[there] = np.where(made[there] > 0, made[there] / penalty, made[there] * penalty)
    return made


def candidates(
    scores: NDArray[Any], options: Options
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the tokens that may be drawn, the most likely first, and their probabilities.

    Args:
        scores: Logits after the repetition penalty.
        options: A temperature above 0, and what decides who takes part.
    """
    with np.errstate(over="ignore"):  # of a tiny temperature: unlikely tokens get -inf
        scaled = (scores.astype(np.float64) - scores.max()) / options.temperature
    chosen = np.arange(len(scaled))
    if 0 < options.top_k < len(scaled):
        # All of those that are as likely as the last one stay.
        chosen = np.flatnonzero(scaled >= np.partition(scaled, -options.top_k)[-options.top_k])
    chosen = chosen[np.argsort(-scaled[chosen], kind="stable")]
    powers = np.exp(scaled[chosen])
    probabilities = powers / powers.sum()
    stays = probabilities.cumsum() - probabilities < options.top_p
    stays &= probabilities >= options.min_p * probabilities[0]
    stays[0] = True
    chosen, probabilities = chosen[stays], probabilities[stays]
    return chosen, probabilities / probabilities.sum()
