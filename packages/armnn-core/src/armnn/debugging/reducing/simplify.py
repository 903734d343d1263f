# SPDX-License-Identifier: MIT
"""Simplifications of a candidate beyond the deletion of layers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from armnn.debugging.reducing.candidate import Candidate, rebuilt, without_outputs
from armnn.debugging.reducing.shrinking import with_smaller_shapes
from armnn.errors import ArmnnError

Move = Callable[[Candidate], Iterator[Candidate]]
"""Yields simpler candidates, each of the candidate given; some may not fit together."""


def simplified(candidate: Candidate, fails: Callable[[Candidate], bool]) -> Candidate:
    """Return a candidate of which no simplification still fails."""
    is_changed = True
    while is_changed:
        is_changed = False
        for move in MOVES:
            found = _moved(candidate, move, fails)
            while found is not None:
                candidate, is_changed = found, True
                found = _moved(candidate, move, fails)
    return candidate


def _moved(
    candidate: Candidate, move: Move, fails: Callable[[Candidate], bool]
) -> Candidate | None:
    for simpler in move(candidate):
        if simpler.network.outputs and fails(simpler):
            return simpler
    return None


def _with_fewer_outputs(candidate: Candidate) -> Iterator[Candidate]:
    outputs = candidate.network.outputs
    if len(outputs) > 1:
        for kept in outputs:
            yield without_outputs(candidate, [each for each in outputs if each is not kept])
        for dropped in outputs:
            yield without_outputs(candidate, [dropped])


def _with_fewer_operands(candidate: Candidate) -> Iterator[Candidate]:
    """Yield candidates without an optional input."""
    for layer in candidate.layers:
        for at, value in enumerate(layer.inputs):
            slot = layer.spec.input_slot(at)
            if value is not None and (slot.optional or slot.variadic):
                yield from _fitting(candidate, absent=[(layer, at)])


def _with_default_parameters(candidate: Candidate) -> Iterator[Candidate]:
    for layer in candidate.layers:
        for field in dataclasses.fields(layer.descriptor):
            if getattr(layer.descriptor, field.name) == field.default:
                continue
            if field.default is dataclasses.MISSING:
                continue
            try:
                usual = dataclasses.replace(layer.descriptor, **{field.name: field.default})
            except (ArmnnError, ValueError):
                continue
            yield from _fitting(candidate, descriptors={layer: usual})


def _with_constants(candidate: Candidate) -> Iterator[Candidate]:
    """Yield candidates with one input less, which is recorded."""
    inputs = candidate.network.inputs
    if len(inputs) > 1:
        for layer in reversed(inputs):
            yield from _fitting(candidate, fixed=[layer])


def _with_splats(candidate: Candidate) -> Iterator[Candidate]:
    """Yield candidates with the same number all over a tensor."""
    for layer in candidate.sources:
        array, info = candidate.stored(layer)
        if not array.size:
            continue
        first = array.reshape(-1)[0]
        for number in (np.zeros((), array.dtype), np.ones((), array.dtype), first):
            splat = np.full(array.shape, number, array.dtype)
            if np.array_equal(array, splat):
                break  # what comes next is no simpler
            yield from _fitting(candidate, data={layer: (splat, info)})


def _with_short_numbers(candidate: Candidate) -> Iterator[Candidate]:
    """Yield candidates with inputs of two decimals."""
    for layer in candidate.sources:
        array, info = candidate.stored(layer)
        if info.data_type.is_float:
            short = np.round(array.astype(np.float64), 2).astype(array.dtype)
            if not np.array_equal(short, array, equal_nan=True):
                yield from _fitting(candidate, data={layer: (short, info)})


def _fitting(candidate: Candidate, **changes: object) -> Iterator[Candidate]:
    """Yield a changed candidate if its layers fit each other."""
    try:
        yield rebuilt(candidate, **changes)  # type: ignore[arg-type]  # those of rebuilt
    except (ArmnnError, ValueError, IndexError):
        return


MOVES: tuple[Move, ...] = (
    _with_fewer_outputs,
    with_smaller_shapes,
    _with_constants,
    _with_fewer_operands,
    _with_default_parameters,
    _with_splats,
    _with_short_numbers,
)
"""In the order in which they are tried: those that save most come first."""
