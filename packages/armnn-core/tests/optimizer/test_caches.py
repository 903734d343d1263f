# SPDX-License-Identifier: MIT
"""Caches of networks whose runs are told in several ways where their rows go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armnn
from armnn import Network, TensorInfo
from armnn.graph import Value

WAYS = ("first", "last", "count", "mask", "places")


def first_place(network: Network, way: str, x: Value, capacity: Any) -> Value:
    """Return the place of a run's first row, computed from an input that tells it in some way."""
    shape = {"mask": (2, capacity), "places": (2, (x.info.shape or ())[1])}.get(way, (2,))
    told = network.add_input("told", TensorInfo(shape, "Signed64"))
    if way == "places":
        return network.add_reduce(told, reduce_operation="Min", axis=(1,))
    if way == "first":
        return network.add_multiplication(told, network.add_constant(np.array([1])))
    if way == "mask":
        told = network.add_reduce(told, reduce_operation="Sum", axis=(1,))
    rows = network.add_gather(network.add_shape(x), network.add_constant(np.array([1])), axis=0)
    rows = network.add_cast(rows, output="Signed64")
    if way == "last":
        rows = network.add_subtraction(rows, network.add_constant(np.array([1])))
    return network.add_subtraction(told, rows)


def cache(way: str, capacity: Any = 12, rows: Any = 3) -> Network:
    """Return a cache that runs add rows to."""
    network = Network(way)
    x = network.add_input("x", TensorInfo((2, rows, 4)))
    past = network.add_input("past", TensorInfo((2, capacity, 4)))
    place = first_place(network, way, x, capacity if isinstance(capacity, int) else "total")
    network.add_output("present", network.add_tensor_scatter(past, x, place, axis=1))
    network.add_output("y", network.add_reduce(x, reduce_operation="Max", axis=(0, 1, 2)))
    return network


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sizes", [(12, 3), ("capacity", "rows"), (12, "rows")])
def test_a_stream_tells_a_run_where_its_rows_go(way: str, sizes: tuple[Any, Any]) -> None:
    stream = armnn.load_model(cache(way, *sizes), ["CpuRef"], states="auto").stream()
    seen = np.empty((2, 0, 4), np.float32)
    for rows in (3, 3, 3) if sizes[1] == 3 else (4, 1, 1, 6):
        x = np.arange(8 * rows, dtype=np.float32).reshape(2, rows, 4) + seen.shape[1]
        before = stream.copied_bytes
        assert stream.run({"x": x})["y"] == x.max()
        seen = np.concatenate([seen, x], axis=1)
        assert (stream.length, stream.copied_bytes - before) == (seen.shape[1], x.nbytes)
        np.testing.assert_array_equal(stream.states()["past"], seen)
    stream.rewind(3)
    stream.run({"x": x[:, :3]})
    np.testing.assert_array_equal(
        stream.states()["past"], np.concatenate([seen[:, :3], x[:, :3]], 1)
    )


def test_rows_whose_place_follows_from_more_than_their_number_are_the_callers() -> None:
    network = cache("first")
    (place,) = (layer for layer in network.layers if layer.type == "TensorScatter")
    other = network.add_input("other", TensorInfo((2,), "Signed64"))
    told = place.inputs[2]
    assert told is not None
    network.replace_input(place, 2, network.add_addition(told, other))
    stream = armnn.load_model(network, ["CpuRef"], states={"present": "past"}).stream()
    x = np.ones((2, 3, 4), np.float32)
    stream.run({"x": x, "told": np.array([1, 2]), "other": np.array([3, 4])})
    (rows,) = stream.states().values()
    assert rows.any(2).nonzero()[1].tolist() == [4, 5, 6, 6, 7, 8]
    assert stream.length == 0
