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
from armnn.errors import ExecutionError
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


def run_on_cpuacc(network: Network, feeds: dict[str, Array], threads: int = 1) -> Array:
    given = {"CpuAcc": {"NumberOfThreads": threads}}
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"], backend_options=given)
        return np.array(loaded.run(feeds)["y"])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("heads", "queries", "depth"), [(6, 1, 40), (14, 1, 13), (4, 4, 64), (6, 5, 40), (6, 40, 40)]
)
@pytest.mark.parametrize("width", [24, 64])
@pytest.mark.usefixtures("level")
def test_a_cache_agrees_with_numpy(
    threads: int, heads: int, queries: int, depth: int, width: int
) -> None:
    rng = np.random.default_rng(2)
    n, groups, keys = 2, 2, 150
    lengths = np.array([150, 61])
    query = rng.standard_normal((n, heads, queries, depth), np.float32)
    key = rng.standard_normal((n, groups, keys, depth), np.float32)
    value = rng.standard_normal((n, groups, keys, width), np.float32)
    key[1, :, 61:] = value[1, :, 61:] = np.nan  # not read
    added = rng.standard_normal((n, 1, queries, keys), np.float32)
    sink = rng.standard_normal(heads, np.float32)
    at = lengths[:, None, None] - queries + np.arange(queries)[:, None]
    places = np.arange(keys)
    for window, has_mask, has_sink in [(0, False, False), (9, True, False), (70, False, True)]:
        is_seen = (places <= at) & ((places > at - window) if window else True)
        equal = np.where(is_seen, 0, -np.inf)[:, None] + (added if has_mask else 0)
        expected = attended(query, *(np.nan_to_num(each) for each in (key, value)), equal)
        if has_sink:
            scores = query.astype(np.float64) @ np.repeat(
                np.nan_to_num(key), heads // groups, 1
            ).swapaxes(2, 3)
            total = np.exp(scores / np.sqrt(depth) + equal).sum(-1, keepdims=True)
            expected = expected * total / (total + np.exp(sink)[:, None, None])
        feeds = {"q": query, "k": key, "v": value, "l": lengths}
        feeds |= {"m": added} if has_mask else {}
        feeds |= {"s": sink} if has_sink else {}
        network = Network()
        given = {name: network.add_input(name, info_of(each)) for name, each in feeds.items()}
        operands = [given["q"], given["k"], given["v"], given["l"], given.get("m"), given.get("s")]
        network.add_output("y", network.add_cached_attention(*operands, window=window))
        actual = run_on_cpuacc(network, feeds, threads)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5, err_msg=str(window))


@pytest.mark.parametrize("lengths", [[3, 8], [-1, 0], [2**40, 1]])
def test_a_length_beyond_the_cache_is_an_error(lengths: list[int]) -> None:
    feeds = {"q": np.ones((2, 1, 1, 4), np.float32), "k": np.ones((2, 1, 7, 4), np.float32)}
    feeds |= {"v": feeds["k"], "l": np.array(lengths)}
    network = Network()
    given = [network.add_input(name, info_of(each)) for name, each in feeds.items()]
    network.add_output("y", network.add_cached_attention(*given))
    with pytest.raises(ExecutionError, match="a cache of 7 keys cannot have"):
        run_on_cpuacc(network, feeds)
