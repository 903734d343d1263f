# SPDX-License-Identifier: MIT
"""Sums over large outputs, block by block.

Judging needs several numbers of 8 bytes for each element. For a whole output at once that would be
more memory than the reference's run takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Reals = NDArray[np.float64]

ELEMENTS: Final = 1 << 14
"""Of a block."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some elements of the opinions about an output.

    Attributes:
        got: The output's.
        reference: The reference's.
        truth: The truth's.
        allowed: Those whose distance from the truth is also allowed; the truth's without any.
    """

    got: Reals
    reference: Reals
    truth: Reals
    allowed: Reals

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Where all but the allowed ones are finite."""
        return np.isfinite(self.got) & np.isfinite(self.reference) & np.isfinite(self.truth)


def blocks_of(
    got: Array, reference: Array, truth: Array | None, allowed: Array | None
) -> Iterator[Block]:
    """Yield the elements of four arrays of one size.

    Args:
        got: The output.
        reference: The reference's.
        truth: The truth; the reference's if it is None.
        allowed: What is also allowed, if anything.
    """
    arrays = [got, reference, reference if truth is None else truth]
    arrays.append(arrays[-1] if allowed is None else allowed)
    flat = [np.ascontiguousarray(each).reshape(-1) for each in arrays]
    for at in range(0, got.size, ELEMENTS):
        yield Block(*(each[at : at + ELEMENTS].astype(np.float64) for each in flat))


def where(
    blocks: Iterator[Block], chosen: Callable[[Block], Array], shape: tuple[int, ...]
) -> Array:
    """Return where a condition holds, of all blocks.

    Args:
        blocks: All of an output.
        chosen: The condition of a block's elements.
        shape: That of the output.
    """
    return np.concatenate([chosen(each) for each in blocks]).reshape(shape)


@dataclass(slots=True)
class Sums:
    """Sums and largest numbers over finite elements.

    Attributes:
        count: How many there are.
        error: The largest distance of the output from the truth.
        noise: The largest distance of the reference, or of what is allowed, from the truth.
        size: The largest number of the truth.
        error_squares: The sum of the squares of those distances.
        noise_squares: The same of the noise.
        truth_squares: The same of the truth.
        got_squares: The same of the output.
        products: The sum of the products of output and truth.
    """

    count: int = 0
    error: float = 0.0
    noise: float = 0.0
    size: float = 0.0
    error_squares: float = 0.0
    noise_squares: float = 0.0
    truth_squares: float = 0.0
    got_squares: float = 0.0
    products: float = 0.0

    def add(self, block: Block) -> None:
        """Add a block's finite elements."""
        usable = block.usable
        got, truth = block.got[usable], block.truth[usable]
        if not got.size:
            return
        errors = np.abs(got - truth)
        noise = np.abs(block.reference[usable] - truth)
        narrow = np.abs(block.allowed[usable] - truth)
        noise = np.maximum(noise, np.where(np.isfinite(narrow), narrow, 0))
        self.count += got.size
        self.error = max(self.error, float(errors.max()))
        self.noise = max(self.noise, float(noise.max()))
        self.size = max(self.size, float(np.abs(truth).max()))
        self.error_squares += float(np.square(errors).sum())
        self.noise_squares += float(np.square(noise).sum())
        self.truth_squares += float(np.square(truth).sum())
        self.got_squares += float(np.square(got).sum())
        self.products += float((got * truth).sum())

    def rms(self, squares: float) -> float:
        """Return the root of a mean."""
        return math.sqrt(squares / self.count) if self.count else 0.0

    @property
    def cosine(self) -> float:
        """The cosine of the angle between output and truth."""
        scale = math.sqrt(self.got_squares) * math.sqrt(self.truth_squares)
        return self.products / scale if scale else float(not self.got_squares + self.truth_squares)
