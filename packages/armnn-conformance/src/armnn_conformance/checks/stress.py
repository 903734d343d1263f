# SPDX-License-Identifier: MIT
"""The checks of a claimed layer under stress.

Each check is a function that raises :class:`~armnn_conformance.running.NonconformityError`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends import CreationOptions, HostAllocator
from armnn.errors import ArmnnError, CancelledError, DeadlineExceededError, OptimizationError
from armnn.layers import LAYERS
from armnn.runtime import LoadedNetwork, Runtime
from armnn.types import MemorySource
from armnn_conformance.cases import LayerCase
from armnn_conformance.checks.correctness import compare
from armnn_conformance.comparison import difference
from armnn_conformance.operands import decode
from armnn_conformance.running import (
    NonconformityError,
    feeds_of,
    input_name,
    is_rewritten,
    network_of,
    output_name,
)
from armnn_conformance.subject import Subject

THREADS = 4
ROUNDS = 12

_SWITCH_SECONDS = 1e-6
"""How long a thread keeps the interpreter; the usual 5 ms would hide most races."""


class LimitedAllocator(HostAllocator):
    """Host memory that can run out and that is counted.

    Attributes:
        is_exhausted: Whether :meth:`allocate` raises MemoryError.
        in_use: How many blocks were not given back.
    """

    def __init__(self, source: MemorySource = MemorySource.MALLOC) -> None:
        """Begin without memory, of the stated source."""
        self.memory_source = source
        self.is_exhausted = True
        self.in_use = 0

    def allocate(self, size: int, alignment: int) -> NDArray[np.uint8]:
        """Return memory while there is some."""
        if self.is_exhausted:
            raise MemoryError(f"told to have no {size} bytes")
        self.in_use += 1
        return super().allocate(size, alignment)

    def free(self, memory: NDArray[np.uint8]) -> None:  # NumPy frees it
        """Count the block as given back."""
        self.in_use -= 1


def check_concurrent_runs(subject: Subject, case: LayerCase) -> None:
    """Check that several threads get the results of one.

    Raises:
        NonconformityError: A thread got something else, or an error.
    """
    with loaded(subject.runtime, subject.id, case) as network:
        if network is None:
            return
        feeds = [_rolled(case, thread) for thread in range(THREADS)]
        alone = [stored(network.run(each)) for each in feeds]
        start = threading.Barrier(THREADS)

        def run(thread: int) -> list[list[NDArray[Any]]]:
            start.wait()
            return [stored(network.run(feeds[thread])) for _ in range(ROUNDS)]

        with frequent_switches(), ThreadPoolExecutor(THREADS) as pool:
            together = list(pool.map(run, range(THREADS)))
    for expected, rounds in zip(alone, together, strict=True):
        for results in rounds:
            _check_same(results, expected, case)


def check_out_of_memory(
    subject: Subject, case: LayerCase, source: MemorySource = MemorySource.MALLOC
) -> None:
    """Check that a run without memory fails, and frees everything.

    It raises an error, the next one with memory works, and all memory is given back. A backend may
    refuse custom allocators, with a reason.

    Raises:
        NonconformityError: It is otherwise.
    """
    allocator = LimitedAllocator(source)
    answer = subject.backend.accepts_allocator(allocator)
    if not answer:
        if not answer.reason.strip():
            raise NonconformityError("accepts_allocator() refuses without a reason")
        return
    options: CreationOptions = replace(subject.options, custom_allocators={subject.id: allocator})
    with (
        Runtime(options) as runtime,
        loaded(runtime, subject.id, case) as network,
    ):
        if network is None:
            return
        try:
            network.run(feeds_of(case))
        except (MemoryError, ArmnnError):
            allocator.is_exhausted = False
        else:
            raise NonconformityError("a run without working memory did not fail")
        compare(stored(network.run(feeds_of(case))), case, "after an error, the runtime's")
    if allocator.in_use:
        raise NonconformityError(f"{allocator.in_use} blocks of memory were not given back")


def check_interrupted_runs(subject: Subject, case: LayerCase) -> None:
    """Check that cancelled and late runs raise, without lasting effects.

    Raises:
        NonconformityError: It is otherwise.
    """
    cancel = threading.Event()
    cancel.set()
    with loaded(subject.runtime, subject.id, case) as network:
        if network is None:
            return
        try:
            network.run(feeds_of(case), cancel=cancel)
        except CancelledError:
            pass
        else:
            raise NonconformityError("a cancelled run returned normally: expected an error")
        try:
            network.run(feeds_of(case), timeout=0)
        except DeadlineExceededError:
            pass
        else:
            raise NonconformityError("a run without time returned normally: expected an error")
        compare(stored(network.run(feeds_of(case))), case, "after a cancelled run, the runtime's")


@contextmanager
def loaded(runtime: Runtime, backend_id: str, case: LayerCase) -> Iterator[LoadedNetwork | None]:
    """Yield a case as a loaded network, unless rewritten."""
    network = network_of(case)
    try:
        optimized = runtime.optimize(network, backends=[backend_id])
    except OptimizationError:
        if not is_rewritten(network):
            raise
        yield None
        return
    loaded = runtime.load_network(optimized)
    try:
        yield loaded
    finally:
        runtime.unload_network(loaded)


def _rolled(case: LayerCase, places: int) -> dict[str, NDArray[Any]]:
    """Return a case's inputs with elements rotated, except shape arguments."""
    feeds = feeds_of(case)
    spec = LAYERS[case.layer]
    for index, operand in enumerate(case.inputs):
        name = input_name(index)
        if operand is None or name not in feeds or spec.input_slot(index).shapes_output:
            continue
        is_real = operand.info.data_type.is_float or operand.info.is_quantized
        if is_real or operand.stored.ndim == 0:
            feeds[name] = np.roll(feeds[name], places)
        else:  # rows of indices keep their values
            feeds[name] = np.roll(feeds[name], places, axis=0)
    return feeds


def stored(results: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the outputs of a run of a case, in order."""
    return [results[output_name(index)] for index in range(len(results))]


def _check_same(
    results: Sequence[NDArray[Any]], expected: Sequence[NDArray[Any]], case: LayerCase
) -> None:
    for index, (stored, alone) in enumerate(zip(results, expected, strict=True)):
        info = case.outputs[index].with_shape(alone.shape)
        problem = difference(stored, info, decode(alone, info), case.tolerance)
        if problem:
            raise NonconformityError(
                f"in several threads, output {index} differs from that of one thread: {problem}"
            )


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Let Python switch between threads as often as it can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)
