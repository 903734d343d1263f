# SPDX-License-Identifier: MIT
"""The true values of chains of layers.

The truth is computed in float64 from the first layer's operands on, and nothing between is rounded.
Other values show what rounding between quantised layers explains.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.debugging.alone import as_bfloat16
from armnn.debugging.noise import UNITS
from armnn.layers import LAYERS
from armnn.quantization import quantization_arrays
from armnn.types import DataType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from armnn.debugging.alone import Examiner
    from armnn.graph import Layer, Value

    Array = NDArray[Any]
    Reals = NDArray[np.float64]
    RealValues = dict[Value, Reals]

ROUNDINGS = 3
"""Ways to round the values between quantised layers that are tried."""

SPREAD = 1.5
"""How many times the largest error of those ways another one's may be."""


STORED_ERROR = UNITS[DataType.BFLOAT16] / 4
"""The error of a number that is stored in BFloat16, as a part of it.

Errors are even up to half a unit of the number's power of two, so that their RMS is 0.4 of half a
unit of the number. The ratios of a judgement have room for the largest, which is twice this.
"""


@dataclass(slots=True)
class Chains:
    """Computes the values of chains of one compiled part.

    Attributes:
        examiner: Has the reference, which computes the truth.
        clean: The reference's value of each value that the layers read.
        backend: The id of the backend that is examined.
    """

    examiner: Examiner
    clean: Mapping[Value, Array]
    backend: str
    _known: dict[Layer, tuple[int, tuple[RealValues, RealValues]]] = field(default_factory=dict)
    _rounded: dict[tuple[Layer, ...], list[RealValues]] = field(default_factory=dict)

    def of(self, layers: Sequence[Layer]) -> tuple[RealValues, RealValues]:
        """Return a chain's truth, and its values with narrowed operands.

        The values of a chain are those of every longer one with the same beginning.
        """
        length, known = self._known.get(layers[0], (0, ({}, {})))
        if length < len(layers):
            known = self._both(layers, None)
            self._known[layers[0]] = len(layers), known
        return known

    def compute(self, layers: Sequence[Layer], kept: Collection[Value]) -> None:
        """Compute a chain and keep some of its values only."""
        self._known[layers[0]] = len(layers), self._both(layers, kept)

    def forget(self, first: Layer) -> None:
        """Drop the chain with that beginning."""
        self._known.pop(first, None)

    def rounded(self, layers: Sequence[Layer], kept: Collection[Value]) -> list[RealValues]:
        """Return a chain's values with other roundings between layers.

        A right backend rounds a number to either of the steps beside it where its arithmetic
        differs from the reference's in the last place, such as at a tie. What the reference's own
        roundings add up to behind it is one case of many. With fast math it may also store numbers
        in BFloat16.

        Args:
            layers: The chain.
            kept: The values that are wanted.

        Returns:
            Nothing where no value between layers is rounded.
        """
        key = tuple(layers)
        if key not in self._rounded:
            errors = _errors_between(layers, is_fast=self.examiner.is_fast(self.backend))
            self._rounded[key] = [
                self._chain(layers, self._narrow(layers), kept, partial(_moved, errors, generator))
                for generator in (np.random.default_rng(seed) for seed in range(ROUNDINGS))
                if errors
            ]
        return self._rounded[key]

    def _both(
        self, layers: Sequence[Layer], kept: Collection[Value] | None
    ) -> tuple[RealValues, RealValues]:
        narrow = self._narrow(layers)
        narrowed = self._chain(layers, narrow, kept) if narrow else {}
        return self._chain(layers, (), kept), narrowed

    def _narrow(self, layers: Sequence[Layer]) -> list[Layer]:
        return [layer for layer in layers if self.examiner.narrows(layer, self.backend)]

    def _chain(
        self,
        layers: Sequence[Layer],
        narrow: Collection[Layer],
        kept: Collection[Value] | None,
        rounded: Callable[[Value, Reals], Reals] | None = None,
    ) -> RealValues:
        """Return a chain's values in float64.

        Args:
            layers: The layers.
            narrow: Those whose operands are rounded to BFloat16.
            kept: The values that are wanted; None for all.
            rounded: What is done to each value for the layers behind it.
        """
        reals: RealValues = {}
        last = {v: at for at, layer in enumerate(layers) for v in layer.inputs if v is not None}
        for at, layer in enumerate(layers):
            operands = [None if value is None else self._operand(value) for value in layer.inputs]
            narrowed = as_bfloat16 if layer in narrow else None
            made = self.examiner.reference.exact(layer, operands, reals, narrowed)
            for value, real in zip(layer.outputs, made, strict=True):
                if real is not None:
                    reals[value] = real if rounded is None else rounded(value, real)
            if kept is not None:
                read = (each for each in layer.inputs if each is not None and last[each] == at)
                for value in (each for each in read if each not in kept):
                    reals.pop(value, None)
        return reals

    def _operand(self, value: Value) -> Array:
        if value.constant is not None:
            return value.constant
        known = self.clean.get(value)
        if known is None:  # its real values take its place
            return np.empty(value.info.static_shape, value.info.data_type.numpy_dtype)
        return known


def _errors_between(layers: Sequence[Layer], *, is_fast: bool) -> dict[Value, tuple[Any, float]]:
    """Return the errors of rounded values between layers.

    They are absolute and relative ones.
    """
    made = [v for each in layers if not LAYERS[each.type].moves_data for v in each.outputs]
    found: dict[Value, tuple[Any, float]] = {}
    for value in (v for v in made if any(reader in layers for reader in v.consumers)):
        if value.info.scales:
            found[value] = 0.5 * quantization_arrays(value.info)[0].astype(np.float64), 0.0
        elif is_fast and value.info.data_type is DataType.FLOAT32:
            found[value] = 0.0, STORED_ERROR
    return found


def _moved(
    errors: Mapping[Value, tuple[Any, float]],
    generator: np.random.Generator,
    value: Value,
    real: Reals,
) -> Reals:
    if value not in errors:
        return real
    absolute, relative = errors[value]
    moved: Reals = real + generator.choice([-1, 1], real.shape) * (absolute + relative * real)
    return moved


def farthest(truth: Mapping[Value, Reals], others: Sequence[Mapping[Value, Reals]]) -> RealValues:
    """Return the truth moved by what others allow.

    Args:
        truth: The truth.
        others: Other right values of some of its tensors.
    """
    found: RealValues = {}
    for value in {value for other in others for value in other}:
        distances = [np.abs(other[value] - truth[value]) for other in others if value in other]
        found[value] = truth[value] + SPREAD * np.maximum.reduce(distances)
    return found
