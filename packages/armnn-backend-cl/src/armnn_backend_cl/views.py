# SPDX-License-Identifier: MIT
"""Strided views of tensors: where each element of a tensor lies, without its memory.

Layers that move elements are copies from one view to another, and layers that broadcast read views
with strides of 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from armnn_backend_cl.launches import Refused

MOST_AXES: Final = 8
"""Axes that kernels walk, after those that lie behind each other were made one."""


@dataclass(frozen=True, slots=True)
class View:
    """Elements of a tensor.

    Attributes:
        shape: How many there are along each axis.
        strides: Elements of memory from one to the next along each axis.
        start: Elements of memory before the first one.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int = 0

    @classmethod
    def of(cls, shape: Sequence[int]) -> View:
        """Return all elements of a tensor in row-major order."""
        strides = accumulate(reversed(shape[1:]), int.__mul__, initial=1) if shape else ()
        return cls(tuple(shape), tuple(strides)[::-1])

    def transposed(self, axes: Sequence[int]) -> View:
        """Return the view whose axis i is axis ``axes[i]``."""
        return View(
            tuple(self.shape[axis] for axis in axes),
            tuple(self.strides[axis] for axis in axes),
            self.start,
        )

    def part(self, axis: int, first: int, count: int, step: int = 1) -> View:
        """Return ``count`` elements along an axis, ``step`` apart, from ``first`` on."""
        shape, strides = list(self.shape), list(self.strides)
        start = self.start + first * strides[axis]
        shape[axis], strides[axis] = count, strides[axis] * step
        return View(tuple(shape), tuple(strides), start)

    def split(self, axis: int, *sizes: int) -> View:
        """Return the view with an axis as several, the slowest first."""
        inner = View.of(sizes)
        step = self.strides[axis]
        return View(
            (*self.shape[:axis], *sizes, *self.shape[axis + 1 :]),
            (
                *self.strides[:axis],
                *(step * stride for stride in inner.strides),
                *self.strides[axis + 1 :],
            ),
            self.start,
        )

    def without(self, axis: int) -> View:
        """Return the view without an axis of one element."""
        return View(
            self.shape[:axis] + self.shape[axis + 1 :],
            self.strides[:axis] + self.strides[axis + 1 :],
            self.start,
        )

    def broadcast(self, shape: Sequence[int]) -> View:
        """Return the view of another shape by NumPy's rule."""
        missing = len(shape) - len(self.shape)
        strides = (0,) * missing + tuple(
            0 if size == 1 else stride
            for size, stride in zip(self.shape, self.strides, strict=True)
        )
        return View(tuple(shape), strides, self.start)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)


def outer_and_inner(view: View, axes: Sequence[int]) -> tuple[View, View]:
    """Return the axes of a view that stay and those of a row, as views of their own."""
    kept = [axis for axis in range(len(view.shape)) if axis not in axes]
    outer, inner = view.transposed(kept), view.transposed(sorted(axes))
    assert outer.size * inner.size == view.size
    return outer, inner


def walked(*views: View) -> tuple[list[int], list[list[int]]]:
    """Return sizes and strides for a kernel that walks views of one shape together.

    Axes of one element are left out, and neighbors that lie behind each other in all views are
    one axis.

    Returns:
        The sizes of :data:`MOST_AXES` axes, the fastest first, and for each view their strides.

    Raises:
        Refused: There are more axes.
    """
    shape = views[0].shape
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in views]
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            continue
        steps = [view.strides[axis] for view in views]
        if sizes and all(
            step == found[-1] * sizes[-1] for step, found in zip(steps, strides, strict=True)
        ):
            sizes[-1] *= shape[axis]
            continue
        sizes.append(shape[axis])
        for found, step in zip(strides, steps, strict=True):
            found.append(step)
    if len(sizes) > MOST_AXES:
        raise Refused(
            f"its elements lie along {len(sizes)} axes that cannot be walked as fewer, expected at "
            f"most {MOST_AXES}"
        )
    rest = MOST_AXES - len(sizes)
    return sizes + [1] * rest, [found + [0] * rest for found in strides]
