# SPDX-License-Identifier: MIT
"""Graphs of several claimed layers, through the public API.

Each check is a function that raises :class:`~armnn_conformance.running.NonconformityError`.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import OptimizationError
from armnn.runtime import LoadedNetwork, Runtime
from armnn_conformance.checks.stress import frequent_switches
from armnn_conformance.graphs._graph import Graph, GraphValue, output_name
from armnn_conformance.operands import decode, tensor
from armnn_conformance.running import (
    SHARED,
    NonconformityError,
    types_after_rewriting,
    without_advice,
)
from armnn_conformance.subject import Subject

_IN_C = (
    "A backend in C answers ARMNN_UNSUPPORTED_NODE with the node's id where compile cannot take a "
    "node; query refuses the same nodes, as both get whole graphs."
)
THREADS = 4
_ROUNDS = 8
_BATCHES = (3, 1)
"""The batch sizes of inputs besides the one that a graph was drawn with."""


def check_graph(subject: Subject, graph: Graph) -> bool:
    """Run a graph twice; return False if it is rewritten.

    Raises:
        NonconformityError: A result is not what the composed oracles say.
    """
    with _loaded(subject.runtime, subject.id, graph) as network:
        if network is None:
            return False
        for whose in ("the", "the second run's"):
            _compare(network, graph, whose)
    return True


def check_batches(subject: Subject, graph: Graph) -> bool:
    """Run a graph with several batches, then prepared anew.

    The program of a batch has to stay right when those of others are made (``armnn.replan/1``), and
    to be right when it is made again after it was freed.

    Raises:
        NonconformityError: A result is not what the composed oracles say.
    """
    others = [graph.with_inputs([_rebatched(v, n) for v in graph.inputs]) for n in _BATCHES]
    with _loaded(subject.runtime, subject.id, graph, any_batch=True) as network:
        if network is None:
            return False
        for each in (graph, *others, graph):
            _compare(network, each, f"with a batch of {each.inputs[0].shape[0]}, the")
    with (
        Runtime(replace(subject.options, plan_limit=1)) as runtime,
        _loaded(runtime, subject.id, graph, any_batch=True) as network,
    ):
        assert network is not None  # as before
        for each in (graph, *others, graph):
            batch = each.inputs[0].shape[0]
            _compare(network, each, f"with a batch of {batch}, prepared anew after others, the")
    return True


def check_stored(subject: Subject, graph: Graph) -> bool:
    """Run a graph from stored programs.

    Raises:
        NonconformityError: A result is not what the composed oracles say.
    """
    with tempfile.TemporaryDirectory() as folder:
        for whose in ("stored, the", "loaded from the cache, the"):
            with (
                Runtime(replace(subject.options)) as runtime,
                _loaded(runtime, subject.id, graph, cache_dir=folder) as network,
            ):
                if network is None:
                    return False
                _compare(network, graph, whose)
    return True


def check_graph_in_threads(subject: Subject, graph: Graph) -> bool:
    """Run a graph in four threads, with different inputs.

    Raises:
        NonconformityError: A thread got something else than it gets alone.
    """
    with _loaded(subject.runtime, subject.id, graph) as network:
        if network is None:
            return False
        _compare(network, graph, "the")
        feeds = [
            {name: np.roll(array, places) for name, array in graph.feeds().items()}
            for places in range(THREADS)
        ]
        alone = [_stored(network.run(each)) for each in feeds]
        start = threading.Barrier(THREADS)

        def run(thread: int) -> list[list[NDArray[Any]]]:
            start.wait()
            return [_stored(network.run(feeds[thread])) for _ in range(_ROUNDS)]

        with frequent_switches(), ThreadPoolExecutor(THREADS) as pool:
            together = list(pool.map(run, range(THREADS)))
    for expected, rounds in zip(alone, together, strict=True):
        wrong = sum(_differ(results, expected, graph) for results in rounds)
        if wrong:
            raise NonconformityError(
                f"{graph}: in {THREADS} threads, {wrong} of {len(rounds)} runs of one gave "
                f"something else than one thread alone gets: {SHARED}"
            )
    return True


CHECKS: dict[str, Callable[[Subject, Graph], bool]] = {
    "graph": check_graph,
    "batches": check_batches,
    "stored": check_stored,
    "threads": check_graph_in_threads,
}


def _compare(network: LoadedNetwork, graph: Graph, whose: str) -> None:
    problem = graph.problem(_stored(network.run(graph.feeds())))
    if problem:
        raise NonconformityError(f"{graph}: {whose} result is wrong: {problem}")


def _differ(
    results: Sequence[NDArray[Any]], expected: Sequence[NDArray[Any]], graph: Graph
) -> bool:
    rows = zip(results, expected, graph.outputs, strict=True)
    return any(
        not (np.abs(decode(one, v.info) - decode(other, v.info)) <= v.error).all()
        for one, other, v in rows
    )


def _rebatched(value: GraphValue, batch: int) -> GraphValue:
    """Return an input of another batch and the same range."""
    reals = np.random.default_rng(batch).uniform(
        value.real.min(), value.real.max(), (batch, *value.shape[1:])
    )
    made = tensor(value.info.data_type, reals, info=value.info)
    return GraphValue(made.info, made.real, 0.0, made.stored)


@contextmanager
def _loaded(
    runtime: Runtime, backend_id: str, graph: Graph, *, any_batch: bool = False, **how: Any
) -> Iterator[LoadedNetwork | None]:
    """Yield a graph as a loaded network, None if rewritten."""
    network = graph.network(any_batch=any_batch)
    try:
        optimized = runtime.optimize(network, backends=[backend_id], **how)
    except OptimizationError as error:
        types = types_after_rewriting(network)
        if all(node.layer in types for node in graph.nodes):
            raise NonconformityError(
                f"{graph}: each layer alone is claimed, but not all of them together: "
                f"{without_advice(error)}\n{_IN_C}"
            ) from None
        yield None
        return
    loaded = runtime.load_network(optimized)
    try:
        yield loaded
    finally:
        runtime.unload_network(loaded)


def _stored(results: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    return [results[output_name(number)] for number in range(len(results))]
