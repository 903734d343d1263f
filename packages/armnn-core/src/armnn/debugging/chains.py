# SPDX-License-Identifier: MIT
"""The true values of chains of layers.

The truth is computed in float64 from the first layer's operands on, and nothing between is rounded.
Other values show what rounding between quantised layers explains.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn._dataclasses import dataclass, field
from armnn.debugging.alone import as_bfloat16
from armnn.layers import LAYERS
from armnn.quantization import quantization_arrays

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
        roundings add up to behind it is one case of many.

        Args:
            layers: The chain.
            kept: The values that are wanted.

        Returns:
            Nothing where no value between layers is rounded.
        """
        key = tuple(layers)
        if key not in self._rounded:
            between = _rounded_between(layers)
            self._rounded[key] = [
                self._chain(layers, (), kept, partial(_half_a_step, between, generator))
                for generator in (np.random.default_rng(seed) for seed in range(ROUNDINGS))
                if between
            ]
        return self._rounded[key]

    def _both(
        self, layers: Sequence[Layer], kept: Collection[Value] | None
    ) -> tuple[RealValues, RealValues]:
        narrow = [layer for layer in layers if self.examiner.narrows(layer, self.backend)]
        narrowed = self._chain(layers, narrow, kept) if narrow else {}
        return self._chain(layers, (), kept), narrowed

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


def _rounded_between(layers: Sequence[Layer]) -> set[Value]:
    """Return quantised values between layers that compute."""
    return {
        value
        for layer in layers
        if not LAYERS[layer.type].moves_data
        for value in layer.outputs
        if value.info.scales and any(reader in layers for reader in value.consumers)
    }


def _half_a_step(
    between: Collection[Value], generator: np.random.Generator, value: Value, real: Reals
) -> Reals:
    if value not in between:
        return real
    steps = quantization_arrays(value.info)[0].astype(np.float64)
    moved: Reals = real + generator.choice([-0.5, 0.5], real.shape) * steps
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
