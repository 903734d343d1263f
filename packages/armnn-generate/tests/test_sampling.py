# SPDX-License-Identifier: MIT
"""The choice of tokens: against values worked out by hand, and counts of many draws."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from armnn.errors import ExecutionError, InvalidArgumentError
from armnn_generate.sampling import Options, Sampler, candidates, penalized

SHARES = np.array([0.1, 0.4, 0.05, 0.25, 0.2])
LOGITS = np.log(SHARES).astype(np.float32)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"top_k": 0}, {1: 0.4, 3: 0.25, 4: 0.2, 0: 0.1, 2: 0.05}),
        ({"top_k": 2}, {1: 0.4 / 0.65, 3: 0.25 / 0.65}),
        ({"top_k": 5}, {1: 0.4, 3: 0.25, 4: 0.2, 0: 0.1, 2: 0.05}),
        ({"top_k": 9}, {1: 0.4, 3: 0.25, 4: 0.2, 0: 0.1, 2: 0.05}),
        # The tokens before the third one have 0.65 together.
        ({"top_p": 0.64}, {1: 0.4 / 0.65, 3: 0.25 / 0.65}),
        ({"top_p": 0.66}, {1: 0.4 / 0.85, 3: 0.25 / 0.85, 4: 0.2 / 0.85}),
        ({"top_p": 1e-9}, {1: 1.0}),
        # 0.5 of the largest is 0.2, which one token has.
        ({"min_p": 0.49}, {1: 0.4 / 0.85, 3: 0.25 / 0.85, 4: 0.2 / 0.85}),
        ({"min_p": 1.0}, {1: 1.0}),
        # Probabilities of the three that top-k leaves: 0.47, 0.29, 0.24.
        ({"top_k": 3, "top_p": 0.5}, {1: 0.4 / 0.65, 3: 0.25 / 0.65}),
        # Squares of the shares: 0.16, 0.0625, 0.04 of 0.275 in all; the first two have 0.81.
        ({"temperature": 0.5, "top_p": 0.8}, {1: 0.16 / 0.2225, 3: 0.0625 / 0.2225}),
        ({"temperature": 1e-320, "min_p": 0.1}, {1: 1.0}),
    ],
)
def test_candidates_are_those_worked_out(options: dict[str, Any], expected: Any) -> None:
    chosen, probabilities = candidates(LOGITS, Options(**options))
    assert chosen.tolist() == [*expected]
    np.testing.assert_allclose(probabilities, [*expected.values()], rtol=1e-6)


def test_top_k_keeps_all_of_the_last_that_are_as_likely() -> None:
    chosen, _ = candidates(np.array([1.0, 2.0, 1.0, 0.0]), Options(top_k=2))
    assert chosen.tolist() == [1, 0, 2]


def test_draws_have_the_probabilities() -> None:
    sampler = Sampler(Options(do_sample=True, top_k=0, seed=7))
    counts = Counter(sampler.choose(LOGITS, ()) for _ in range(4000))
    for token, share in enumerate(SHARES):
        spread = (share * (1 - share) / 4000) ** 0.5
        assert abs(counts[token] / 4000 - share) < 5 * spread


def test_a_seed_repeats_draws_and_no_seed_does_not() -> None:
    flat = np.zeros(1000, np.float32)

    def draws(seed: int | None) -> list[int]:
        sampler = Sampler(Options(do_sample=True, top_k=0, seed=seed))
        return [sampler.choose(flat, ()) for _ in range(8)]

    assert draws(3) == draws(3)
    assert draws(3) != draws(4)
    assert draws(None) != draws(None)


@pytest.mark.parametrize("options", [{}, {"do_sample": True, "temperature": 0}, {"top_k": 1}])
def test_greedy_takes_the_first_of_the_most_likely(options: dict[str, Any]) -> None:
    logits = np.array([0, 3, 3, -np.inf], np.float32)
    assert Sampler(Options(**options)).choose(logits, ()) == 1


def test_tokens_that_were_there_are_less_likely() -> None:
    logits = np.array([2, 1.5, -1, -2], np.float32)
    np.testing.assert_allclose(penalized(logits, [0, 2, 0], 2.0), [1, 1.5, -2, -2])
    assert Sampler(Options(repetition_penalty=2.0)).choose(logits, [0]) == 1
    assert logits.tolist() == [2, 1.5, -1, -2]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_logit_that_is_no_number_is_an_error(bad: float) -> None:
    with pytest.raises(ExecutionError, match=r"the largest logit .* expected a finite number"):
        Sampler(Options()).choose(np.array([0, bad], np.float32), ())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.1}, r"temperature is -0\.1, expected a number from 0 up"),
        ({"temperature": float("nan")}, "temperature is nan, expected"),
        ({"top_p": 0}, "top_p is 0, expected a number above 0, up to 1"),
        ({"top_p": 1.5}, r"top_p is 1\.5, expected"),
        ({"min_p": 2}, "min_p is 2, expected a number from 0 to 1"),
        ({"repetition_penalty": 0}, "repetition_penalty is 0, expected a number above 0"),
        ({"max_tokens": -1}, "max_tokens is -1, expected a whole number from 0 up"),
        ({"seed": "1"}, "seed is '1', expected a whole number"),
        ({"stop": "end"}, "stop is 'end', expected a list of texts"),
        ({"stop": ["a", ""]}, "expected texts that are not empty"),
        ({"tok_p": 1}, "no option 'tok_p' of a generation; did you mean 'top_p'"),
    ],
)
def test_options_out_of_range_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Options().updated(**options)


def test_an_option_of_sampling_asks_for_it() -> None:
    assert Options().is_greedy
    assert not Options().updated(temperature=0.7).is_greedy
    assert not Options().updated(seed=1).is_greedy
    assert Options().updated(temperature=0).is_greedy
    assert Options(do_sample=True).updated(do_sample=False, top_p=0.5).is_greedy
    assert Options().updated(max_tokens=3, repetition_penalty=1.1).is_greedy
