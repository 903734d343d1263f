# SPDX-License-Identifier: MIT
"""Sliding windows: which elements each window position reads.

Layers with windows loop over the positions inside the window and handle all places of the window at
once, as one strided slice. Slices leave out the padding, so nothing is padded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from armnn_backend_ref.ops._registry import Array

Index: TypeAlias = tuple[Any, ...]
"""One index or slice per axis."""


class Window(NamedTuple):
    """A window over the spatial axes.

    Each field has one entry per axis, in order of the axes.

    Attributes:
        size: How many elements it reads.
        stride: The distance between two places of it.
        dilation: The distance between two elements that it reads.
        before: How many elements of padding stand before the first one.
    """

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]

    @property
    def is_pointwise(self) -> bool:
        """Whether each place of the window reads exactly one element."""
        ones = (1,) * len(self.size)
        return self.size == self.stride == ones and not any(self.before)

    def positions(
        self, inner: tuple[int, ...], outer: tuple[int, ...], first: int = 0
    ) -> Iterator[tuple[Index, Index, Index]]:
        """Yield each window position with the elements read there.

        Args:
            inner: The sizes of the axes that the window slides over.
            outer: The number of places of the window along each axis.
            first: The first place along the first axis, if not all of them are wanted.

        Yields:
            The position; the places for which it is not in the padding, counted from ``first``;
            and the elements that they read.
        """
        for position in itertools.product(*map(range, self.size)):
            pairs = [
                overlap(
                    size,
                    places,
                    index * self.dilation[axis]
                    - self.before[axis]
                    + (first * self.stride[0] if axis == 0 else 0),
                    self.stride[axis],
                )
                for axis, (index, size, places) in enumerate(
                    zip(position, inner, outer, strict=True)
                )
            ]
            yield position, tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)


def overlap(size: int, places: int, offset: int, stride: int) -> tuple[slice, slice]:
    """Return the places that read inside the axis, with elements.

    A place p in 0..places reads element offset + p * stride, which must be in 0..size.

    Both slices have the same length, which may be zero. With a stride of 0 there is one place.
    """
    stride = max(stride, 1)
    first = max(0, -(offset // stride))
    last = min(places, (size - 1 - offset) // stride + 1)
    if last <= first:
        return slice(0, 0), slice(0, 0)
    start = offset + first * stride
    return slice(first, last), slice(start, offset + (last - 1) * stride + 1, stride)


def sliding(
    combine: np.ufunc,
    start: float,
    x: Array,
    axis: int,
    places: int,
    size: int,
    *,
    stride: int = 1,
    before: int = 0,
    dilation: int = 1,
) -> Array:
    """Combine the elements that a window over one axis reads.

    The result has one element for each place of the window.

    Args:
        combine: An associative function of two arrays, as ``np.add``.
        start: Its neutral element; it is also the result where a window reads nothing.
        x: The values.
        axis: The axis that the window slides over.
        places: The number of places of the window.
        size: How many elements it reads.
        stride: The distance between two places.
        before: How many elements of padding stand before the first one.
        dilation: The distance between two elements that it reads.

    Returns:
        An array like ``x`` with ``places`` elements along the axis.
    """
    result = np.full((*x.shape[:axis], places, *x.shape[axis + 1 :]), start, x.dtype)
    source, target = np.moveaxis(x, axis, 0), np.moveaxis(result, axis, 0)
    for index in range(size):
        written, read = overlap(len(source), places, index * dilation - before, stride)
        combine(target[written], source[read], out=target[written])
    return result
