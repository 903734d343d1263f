# SPDX-License-Identifier: MIT
"""Tensors put together and taken apart: Concat, Splitter and Stack."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from armnn.layers.joining import ConcatDescriptor, SplitterDescriptor, StackDescriptor
from armnn_backend_ref.ops._registry import Array, op


@op("Concat")
def concat(d: ConcatDescriptor, *inputs: Array) -> Array:
    """Put the inputs one after the other along ``d.axis``."""
    return np.concatenate(inputs, axis=d.axis)


@op("Splitter")
def splitter(d: SplitterDescriptor, x: Array) -> tuple[Array, ...]:
    """Cut ``d.axis`` into pieces of ``d.sizes``."""
    return tuple(np.split(x, list(accumulate(d.sizes))[:-1], axis=d.axis))


@op("Stack")
def stack(d: StackDescriptor, *inputs: Array) -> Array:
    """Join the inputs along a new axis ``d.axis``."""
    return np.stack(inputs, axis=d.axis)
