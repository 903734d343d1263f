# SPDX-License-Identifier: MIT
"""Smaller shapes: weights and inputs are sliced together.

Which dimensions belong together follows from what fits: those of one size are cut at once, then two
of them, then each alone. Shape inference refuses what does not fit, before anything is run.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armnn.debugging.reducing.candidate import Candidate, rebuilt
from armnn.errors import ArmnnError
from armnn.tensor import TensorInfo

if TYPE_CHECKING:
    from armnn.debugging.reducing.candidate import Stored
    from armnn.graph import Layer
    from armnn.layers import Descriptor

_MOST_PAIRED = 12
"""Dimensions of one size up to which all pairs are tried."""


class _Dimension(NamedTuple):
    source: Layer
    axis: int


def with_smaller_shapes(candidate: Candidate) -> Iterator[Candidate]:
    """Yield candidates with shorter dimensions."""
    by_size: dict[int, list[_Dimension]] = defaultdict(list)
    for source in candidate.sources:
        for axis, size in enumerate(candidate.stored(source)[0].shape):
            by_size[size].append(_Dimension(source, axis))
    for size in sorted(by_size, reverse=True):
        if size > 1:
            for target in dict.fromkeys((1, 2, size // 2, size - 1)):
                if 0 < target < size:
                    yield from _cut(candidate, by_size[size], size, target)


def _cut(
    candidate: Candidate, dimensions: Sequence[_Dimension], size: int, target: int
) -> Iterator[Candidate]:
    groups = [tuple(dimensions)]
    if 2 < len(dimensions) <= _MOST_PAIRED:
        groups += combinations(dimensions, 2)
    groups += [(each,) for each in dimensions if len(dimensions) > 1]
    for group in groups:
        for part in (slice(0, target), slice(size - target, size)):
            data: dict[Layer, Stored] = {}
            for source, axis in group:
                array, info = data.get(source) or candidate.stored(source)
                data[source] = _sliced(array, info, axis, part)
            for descriptors in ({}, _with_numbers(candidate, size, target)):
                try:
                    yield rebuilt(candidate, data, descriptors)
                except (ArmnnError, ValueError, IndexError):
                    continue


def _sliced(array: Any, info: TensorInfo, axis: int, part: slice) -> Stored:
    place = [slice(None)] * array.ndim
    place[axis] = part
    cut = np.ascontiguousarray(array[tuple(place)])
    if info.is_per_axis and info.axis == axis:
        scales, zeros = info.scales[part], info.zero_points[part]
        return cut, TensorInfo(cut.shape, info.data_type, scales, zeros, axis)
    return cut, info.with_shape(cut.shape)


def _with_numbers(candidate: Candidate, size: int, target: int) -> Mapping[Layer, Descriptor]:
    """Return descriptors that have the size in their lists, changed."""
    found: dict[Layer, Descriptor] = {}
    for layer in candidate.layers:
        changed = {}
        for field in dataclasses.fields(layer.descriptor):
            value = getattr(layer.descriptor, field.name)
            if isinstance(value, tuple) and size in value:
                changed[field.name] = tuple(target if each == size else each for each in value)
        if changed:
            found[layer] = dataclasses.replace(layer.descriptor, **changed)
    return found
