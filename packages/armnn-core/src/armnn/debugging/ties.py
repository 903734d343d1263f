# SPDX-License-Identifier: MIT
"""What rounding alone explains: ties, and terms that cancel.

A decision between two numbers is right either way if they are closer than their own rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.debugging.noise import unit_of
from armnn.errors import ArmnnError
from armnn.types import BinaryOperation, ResizeMethod, UnaryOperation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.debugging.clean_values import Visit
    from armnn.debugging.reference import Reference
    from armnn.graph import Layer

    Array = NDArray[Any]

_PICKS = {"ArgMinMax": 0, "TopK": 1}
"""Layer types that pick elements along an axis, and the output with the indices."""

_JUMPING = (
    BinaryOperation.FLOOR_DIV,
    BinaryOperation.FMOD,
    BinaryOperation.MOD,
    UnaryOperation.CEIL,
    UnaryOperation.ROUND,
)
"""Operations of one element or two that jump, after a step that rounds."""

_CHOOSES = ("DetectionPostProcess", "NonMaxSuppression", "Unique")
"""Layer types of which one decision moves many outputs."""


class Ties:
    """One layer's decisions that rounding alone may turn over.

    Args:
        visit: The layer with its clean inputs and outputs.
        reference: Computes the layer of inputs that are two units away.
    """

    def __init__(self, visit: Visit, reference: Reference) -> None:
        self._visit, self._reference = visit, reference
        self._nearby: list[Sequence[Array]] | None = None
        self._squares: Sequence[Array | None] | None = None

    def size_of_sums(self, output: int) -> float:
        """Return the size of sums before their terms cancel.

        It is the largest root of the sum of their squares, 0 where it is not known.
        """
        if self._squares is None:
            visit = self._visit
            self._squares = self._reference.exact(visit.layer, visit.operands, narrowed=np.square)
        squares = self._squares[output]
        return 0.0 if squares is None else float(np.sqrt(np.abs(squares).max(initial=0.0)))

    def explain(self, output: int, got: Array) -> bool:
        """Return whether an output differs by such decisions only."""
        layer = self._visit.layer
        if _PICKS.get(layer.type) == output:
            return _picks_equals(self._visit, output, got)
        chooses = layer.type in _CHOOSES
        if not chooses and not _jumps(layer):
            return False
        clean = self._visit.outputs[output].astype(np.float64)
        low, high, moved = clean, clean, False
        for outputs in self._outputs_nearby():
            nearby = outputs[output].astype(np.float64)
            if nearby.shape == clean.shape:
                moved = moved or not np.array_equal(nearby, clean, equal_nan=True)
                low, high = np.minimum(low, nearby), np.maximum(high, nearby)
            else:
                moved = True
        if chooses or not moved or got.shape != clean.shape:
            return moved and chooses
        found = got.astype(np.float64)
        inside = (found >= low) & (found <= high)
        return bool((inside | (np.isnan(found) & np.isnan(clean))).all())

    def _outputs_nearby(self) -> list[Sequence[Array]]:
        if self._nearby is None:
            chooses = self._visit.layer.type in _CHOOSES
            try:
                moves = _DRAWN if chooses else _ALTERNATING
                self._nearby = [self._moved(signs) for signs in moves]
            except ArmnnError:
                self._nearby = []
        return self._nearby

    def _moved(self, signs: Signs) -> Sequence[Array]:
        """Return the outputs of inputs moved by two units."""
        visit = self._visit
        operands = [
            array
            if array is None or value is None or not value.info.data_type.is_float
            else (array * (1 + signs(at, array) * 2 * unit_of(value.info))).astype(array.dtype)
            for at, (array, value) in enumerate(
                zip(visit.operands, visit.layer.inputs, strict=True)
            )
        ]
        return self._reference.own(visit.layer, operands)


Signs = Callable[[int, "Array"], Any]
"""From the number of an input and its data to the directions in which it moves."""


def _alternating(even: int, odd: int) -> Signs:
    return lambda at, _: odd if at % 2 else even


def _drawn(seed: int) -> Signs:
    """Return directions of each element, so that no ratio stays."""
    return lambda at, array: np.random.default_rng((seed, at)).choice((-1, 1), array.shape)


_ALTERNATING = tuple(_alternating(*signs) for signs in ((1, 1), (-1, -1), (1, -1), (-1, 1)))
_DRAWN = tuple(map(_drawn, range(8)))


def _jumps(layer: Layer) -> bool:
    """Return whether a layer's function of one element jumps."""
    if layer.type == "Cast":
        return not layer.outputs[0].info.data_type.is_float
    if layer.type == "Resize":
        return getattr(layer.descriptor, "method", None) is ResizeMethod.NEAREST_NEIGHBOR
    operation = getattr(layer.descriptor, "operation", None)
    return layer.type in ("Floor", "Quantize") or operation in _JUMPING


def _picks_equals(visit: Visit, output: int, got: Array) -> bool:
    """Return whether the elements picked are the reference's."""
    source = visit.operands[0]
    clean = visit.outputs[output]
    if source is None or got.shape != clean.shape:
        return False
    axis = int(getattr(visit.layer.descriptor, "axis", -1))
    if got.ndim < source.ndim:
        got, clean = np.expand_dims(got, axis), np.expand_dims(clean, axis)
    size = source.shape[axis]
    if got.size and (got.min() < -size or got.max() >= size):
        return False
    picked, right = (
        np.take_along_axis(source, each.astype(np.int64), axis) for each in (got, clean)
    )
    return bool(np.array_equal(picked, right, equal_nan=picked.dtype.kind in "f"))
