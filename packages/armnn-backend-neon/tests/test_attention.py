# SPDX-License-Identifier: MIT
"""Attention of odd sizes, on every level, against float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import Network
from armnn.tensor import info_of

Array = NDArray[Any]


@pytest.fixture
def compute(level: str) -> Callable[..., Array]:
    """Return a function that runs an Attention at a level."""

    def run(threads: int, operands: list[Array], **options: Any) -> Array:
        network = Network()
        feeds = {f"input {i}": operand for i, operand in enumerate(operands)}
        values = [network.add_input(name, info_of(each)) for name, each in feeds.items()]
        network.add_output("y", network.add_attention(*values, **options))
        with armnn.Runtime() as runtime:
            given = {"CpuAcc": {"NumberOfThreads": threads}}
            loaded = runtime.load_model(network, backends=["CpuAcc"], backend_options=given)
            return np.array(loaded.run(feeds)["y"])

    return run


def attended(query: Array, key: Array, value: Array, added: Array) -> Array:
    """Return softmax(scale * query * key^T + added) * value.

    It is 0 where a query sees nothing.
    """
    shared = query.shape[1] // key.shape[1]
    key, value = (np.repeat(each, shared, 1).astype(np.float64) for each in (key, value))
    scores = query.astype(np.float64) @ key.swapaxes(2, 3) / np.sqrt(query.shape[3]) + added
    top = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total == 0, 1, total) @ value


SIZES = [
    # items, heads, heads of keys, queries, keys, depth, width
    (1, 1, 1, 1, 1, 1, 1),
    (2, 4, 2, 70, 133, 40, 24),
    (1, 3, 1, 5, 17, 7, 3),
]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("threads", [1, 3])
def test_attention_agrees_with_numpy(
    compute: Callable[..., Array], sizes: tuple[int, ...], threads: int
) -> None:
    n, heads, groups, queries, keys, depth, width = sizes
    rng = np.random.default_rng(1)
    query = rng.standard_normal((n, heads, queries, depth), np.float32)
    key = rng.standard_normal((n, groups, keys, depth), np.float32)
    value = rng.standard_normal((n, groups, keys, width), np.float32)
    added = rng.standard_normal((queries, keys), np.float32)
    sees = rng.integers(0, 2, (n, 1, 1, keys)).astype(np.bool_)
    triangle = np.tri(queries, keys, dtype=np.bool_)
    from_end = np.tri(queries, keys, keys - queries, dtype=np.bool_)
    rows: list[tuple[list[Array], dict[str, Any], Array]] = [
        ([], {}, np.zeros(())),
        ([added], {}, added),
        ([sees], {}, np.where(sees, 0, -np.inf)),
        ([], {"causal": True}, np.where(triangle, 0, -np.inf)),
        ([], {"causal": True, "causal_from_end": True}, np.where(from_end, 0, -np.inf)),
    ]
    for mask, options, equal in rows:
        actual = compute(threads, [query, key, value, *mask], **options)
        expected = attended(query, key, value, equal)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5, err_msg=str(options))
