# SPDX-License-Identifier: MIT
"""What rounding and extreme values do in a layer type."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Terms: TypeAlias = "Callable[[Any, tuple[int, ...]], int]"
"""From descriptor and shape of the first input to the number of terms of an output's element."""


@dataclass(frozen=True, slots=True)
class Numerics:
    """What rounding and extreme values do in a layer type.

    Tools that compare backends allow for it. The default is right for layers that compute each
    element by a few operations.

    Attributes:
        terms: About how many terms are summed up in each element of an output, for the rounding
            noise. None for its multiply-adds, or for the elements of the first input, per element
            of the outputs.
        linear: Whether its elements are sums of products of its inputs: of their squares it makes
            the squared size of the sums.
        averages: Whether its elements are averages, which are never larger than the largest of
            their terms.
        sums: Whether its elements are sums of another kind.
        rounds_inside: Whether it rounds inner tensors to steps, so that an output may be off by
            two steps.
        picks: The output that holds the indices of elements picked along an axis, None without one.
        decides: Whether one decision moves many outputs.
        overflows: Why a partial result may overflow where the result is a number; "" if none does
            but that of a sum.
    """

    terms: int | Terms | None = None
    linear: bool = False
    averages: bool = False
    sums: bool = False
    rounds_inside: bool = False
    picks: int | None = None
    decides: bool = False
    overflows: str = ""

    @property
    def is_sum(self) -> bool:
        """Whether its elements are sums, in an order that a backend chooses."""
        return self.linear or self.averages or self.sums


PLAIN = Numerics()
"""Each element is computed by a few operations."""


def along_axis(descriptor: Any, shape: tuple[int, ...]) -> int:
    """Return the length of the axis that the parameter ``axis`` names."""
    length: int = shape[descriptor.axis] if shape else 1
    return length


def within_item(_descriptor: Any, shape: tuple[int, ...]) -> int:
    """Return the number of elements of one item of a batch."""
    return math.prod(shape[1:])
