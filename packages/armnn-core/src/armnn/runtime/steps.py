# SPDX-License-Identifier: MIT
"""The bound steps of a context, run once or again.

Failures name their layers. For models that take microseconds, the functions that repeat a run are
most of it: they look up and make nothing that could be kept, and keep it in variables of functions,
which are read in less time than attributes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from operator import length_hint
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.backends import Step
from armnn.backends.contract import RunControl
from armnn.backends.memory import overlaps_itself
from armnn.errors import CancelledError, DeadlineExceededError, ExecutionError
from armnn.graph.aliases import Aliased, empty_aliased
from armnn.optimizer.plan import PlannedLayer, PlannedTensor
from armnn_backend_api.processes.channel import text_of

Targets: TypeAlias = "Mapping[str, NDArray[Any]]"
"""The caller's arrays by the name of the output that is written into them."""
Inputs: TypeAlias = "Mapping[str, ArrayLike]"
Named: TypeAlias = "Sequence[tuple[str, NDArray[Any]]]"
Repeat: TypeAlias = "Callable[[Inputs], dict[str, NDArray[Any]] | None]"
RepeatInto: TypeAlias = "Callable[[Inputs, Targets], dict[str, NDArray[Any]] | None]"
_DICTIONARIES: Final = (dict, Aliased)
"""The types of mappings of given arrays, such as the one that an earlier run returned."""
_COPIES: Final = ("Input", "Output", "MemCopy", "MemImport")
"""The layers whose steps only copy a tensor from one memory to another."""


def running(steps: Sequence[tuple[PlannedLayer, Step]]) -> Callable[[], None]:
    """Return a function that runs steps one after the other.

    It raises ExecutionError, which names the layer, if one failed. A bound method in its place
    would be a cycle, which keeps the memory of a context.

    Args:
        steps: Each with its layer.
    """
    if len(steps) == 1:
        return _running_one(*steps[0])
    layers, functions = [layer for layer, _ in steps], [step for _, step in steps]

    def run() -> None:
        remaining = iter(functions)
        try:
            for step in remaining:
                step()
        except Exception as error:
            index = len(functions) - length_hint(remaining) - 1
            raise _failure(layers[index], error) from error

    return run


def _running_one(layer: PlannedLayer, step: Step) -> Callable[[], None]:
    """Return a function that runs a single step, quicker than a loop."""

    def run() -> None:
        try:
            step()
        except Exception as error:
            raise _failure(layer, error) from error

    return run


def run_watched(steps: Sequence[tuple[PlannedLayer, Step]], control: RunControl) -> None:
    """Run steps one after the other while the caller watches.

    Raises:
        ExecutionError: A layer failed; the message names it.
        CancelledError: The caller cancelled the run.
        DeadlineExceededError: The time was up before the last layer.
    """
    for layer, step in steps:
        if control.cancel is not None and control.cancel.is_set():
            raise CancelledError(f"the run was cancelled before layer {layer.name!r}")
        start = time.perf_counter_ns()
        if control.deadline_ns is not None and start > control.deadline_ns:
            raise DeadlineExceededError(f"the time was up before layer {layer.name!r}")
        try:
            step()
        except Exception as error:
            raise _failure(layer, error) from error
        if control.profiler is not None:
            control.profiler.event(
                layer.name,
                start,
                time.perf_counter_ns(),
                category="layer",
                type=layer.type,
                backend=layer.backend,
            )


def _failure(layer: PlannedLayer, error: Exception) -> ExecutionError:
    """Return the error of a failed layer, naming it."""
    kind = type(error) if isinstance(error, ExecutionError) else ExecutionError
    if layer.type in _COPIES:
        return kind(f"{_copy_of(layer)} failed: {text_of(error)}")
    return kind(
        f"layer {layer.name!r} ({layer.type}) failed on {layer.backend or 'the host'}: "
        f"{text_of(error)}"
    )


def _copy_of(layer: PlannedLayer) -> str:
    """Return the words for the copy of a tensor between memories."""
    if layer.type == "Input":
        return f"the copy of the input {layer.name!r} into a tensor of {_memory_of(layer.outputs)}"
    (tensor,) = layer.inputs
    source = "a tensor" if tensor is None else f"tensor {tensor.name!r} of {_memory_of([tensor])}"
    if layer.type == "Output":
        return f"the copy of {source} to the output {layer.name!r}"
    return f"the copy of {source} into a tensor of {_memory_of(layer.outputs)}"


def _memory_of(tensors: Sequence[PlannedTensor]) -> str:
    owner = tensors[0].owner
    return f"backend {owner!r}" if owner else "the host"


def filling(arrays: Named) -> Callable[[Inputs], bool]:
    """Return a function that copies inputs into arrays.

    It returns False if the names, types or shapes of the inputs differ.
    """
    count = len(arrays)
    expected = [(name, array.dtype, array.shape, array) for name, array in arrays]

    def fill(inputs: Inputs) -> bool:
        if len(inputs) != count:
            return False
        try:
            for name, dtype, shape, array in expected:
                given: Any = inputs[name]
                if given.dtype is not dtype or given.shape != shape:
                    return False
                array[...] = given
        except (KeyError, AttributeError, TypeError):  # CuPy's arrays refuse with the last
            return False
        return True

    return fill


def repeating(
    read: Named, made: Named, run: Callable[[], None], second_names: Mapping[str, str]
) -> Repeat:
    """Return a function that runs steps on given inputs.

    It returns a new array per output, or None if :func:`filling` says False.

    Args:
        read: The arrays that the steps read, by input.
        made: The arrays that they write, by output.
        run: Runs the steps.
        second_names: Further names of outputs, which the returned outputs know.
    """
    if len(read) == len(made) == 1:
        return _repeating_one(*read[0], *made[0], run, second_names)
    fill = filling(read)
    copies = [(name, array.copy) for name, array in made]

    def repeat(inputs: Inputs) -> dict[str, NDArray[Any]] | None:
        if not fill(inputs):
            return None
        run()
        outputs = empty_aliased(second_names) if second_names else {}
        for name, copy in copies:
            outputs[name] = copy()
        return outputs

    return repeat


def _repeating_one(
    name: str,
    array: NDArray[Any],
    output: str,
    made: NDArray[Any],
    run: Callable[[], None],
    second_names: Mapping[str, str],
) -> Repeat:
    """Return a function that repeats a run of one input and one output, quicker."""
    dtype, shape, copy = array.dtype, array.shape, made.copy

    def repeat(inputs: Inputs) -> dict[str, NDArray[Any]] | None:
        try:
            given: Any = inputs[name]
            if given.dtype is not dtype or given.shape != shape or len(inputs) != 1:
                return None
            array[...] = given
        except (KeyError, AttributeError, TypeError):  # CuPy's arrays refuse with the last
            return None
        run()
        if not second_names:
            return {output: copy()}
        outputs = empty_aliased(second_names)
        outputs[output] = copy()
        return outputs

    return repeat


def repeating_into(
    fill: Callable[[Inputs], bool],
    made: Named,
    run: Callable[[], None],
    second_names: Mapping[str, str],
) -> RepeatInto:
    """Return a function that runs steps into given arrays.

    It takes arrays that are not checked. It returns None before anything runs if one does not fit
    an output of that first name, cannot be written to or may share memory with another, or if the
    inputs differ. Outputs without a given array get a new one.

    Args:
        fill: The function of :func:`filling`.
        made: The arrays that the steps write, by output.
        run: Runs the steps.
        second_names: Further names of outputs, which the returned outputs know.
    """
    names = {name for name, _ in made}

    def repeat(inputs: Inputs, targets: Targets) -> dict[str, NDArray[Any]] | None:
        if type(targets) not in _DICTIONARIES or not targets.keys() <= names:
            return None
        given = targets.keys()  # the first names only
        for name, array in made:
            if name in given and not _fits(targets[name], array):
                return None
        pairs = combinations(targets.values(), 2) if len(targets) > 1 else ()
        if any(np.may_share_memory(a, b) for a, b in pairs) or not fill(inputs):
            return None
        run()
        outputs = empty_aliased(second_names) if second_names else {}
        for name, array in made:
            if name in given:
                outputs[name] = targets[name]
                outputs[name][...] = array
            else:
                outputs[name] = array.copy()
        return outputs

    return repeat


def _fits(given: object, array: NDArray[Any]) -> bool:
    return (
        type(given) is np.ndarray
        and given.dtype is array.dtype
        and given.shape == array.shape
        and given.flags.writeable
        and not overlaps_itself(given)
    )
