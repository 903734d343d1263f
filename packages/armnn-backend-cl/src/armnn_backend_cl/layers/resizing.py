# SPDX-License-Identifier: MIT
"""Resize: images sampled at other positions, by a table of weights for each row and column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armnn.layers.resizing import ResizeDescriptor
from armnn.types import ResizeMethod, ResizeRounding
from armnn_backend_cl.elements import REALS, accessors, elements_of
from armnn_backend_cl.launches import Argument, In, Launch, Out, Refused, Weights
from armnn_backend_cl.layers.pooling import pixels
from armnn_backend_cl.layers.table import lowers, program, require, shape_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer


@lowers("Resize")
def resize(layer: Layer) -> Sequence[Launch]:
    """Sample by the nearest neighbor or between two."""
    d = cast("ResizeDescriptor", layer.descriptor)
    require(layer, *REALS)
    if d.method is ResizeMethod.CUBIC:
        raise Refused(f"method is {d.method.arm_name}, expected NearestNeighbor or Bilinear")
    x, y = (
        pixels(shape_of(info), d.data_layout) for info in (*layer.input_infos, *layer.output_infos)
    )
    if not x.size:
        raise Refused("the input has no pixels to sample")
    batch, out_height, out_width, channels = y.shape
    tables = [
        Weights((np.zeros(0),), ("taps", axis), lambda _, axis=axis: _taps(d, *axis))
        for axis in (
            (x.shape[1], d.target_height, d.scale_height),
            (x.shape[2], d.target_width, d.scale_width),
        )
    ]
    items = batch * out_height * out_width * channels
    sizes = (channels, out_width, out_height, 0, 0, 0, 0, 0)
    count = 1 if d.method is ResizeMethod.NEAREST_NEIGHBOR else 2
    steps = (*x.strides[::-1], *y.strides[::-1])
    arguments: tuple[Argument, ...] = (In(0), *tables, Out(0), items, count, sizes, steps)
    text = accessors(x=elements_of(layer.input_infos[0]), y=elements_of(layer.output_infos[0]))
    return [Launch(program(text, "resize.cl"), "resize", arguments, items)]


def _taps(d: ResizeDescriptor, size: int, target: int, scale: float) -> NDArray[Any]:
    """Return [target, taps, 2]: the samples that count for each place, and how much.

    The arithmetic is that of the layer's definition, in float32.

    Args:
        d: What is asked for.
        size: Samples of the input along the axis.
        target: Those of the output.
        scale: The ratio of both that a file gives, 0 without one.
    """
    half = np.float32(0.5 if d.half_pixel_centers else 0)
    places = np.arange(target, dtype=np.float32) + half
    if d.align_corners and target > 1:
        places *= np.float32(size - 1) / np.float32(target - 1)
    elif scale:
        places /= np.float32(scale)
    else:
        places *= np.float32(size) / np.float32(target)
    if d.method is ResizeMethod.NEAREST_NEIGHBOR:
        nearest = np.clip(_nearest(d, places, half), 0, size - 1)
        return np.stack([nearest, np.ones_like(nearest)], -1)[:, np.newaxis]
    places -= half
    below, above = np.floor(places), np.ceil(places)
    weight = places - below
    rows = [(below, 1 - weight), (above, weight)]
    return np.stack([np.stack([np.clip(at, 0, size - 1), by], -1) for at, by in rows], 1)


def _nearest(
    d: ResizeDescriptor, places: NDArray[np.float32], half: np.float32
) -> NDArray[np.float32]:
    """Return the nearest sample of each place by the rule of the descriptor."""
    nearest: NDArray[np.float32]
    if d.rounding is ResizeRounding.TENSORFLOW:
        nearest = np.floor(places + np.float32(0.5 if d.align_corners else 0))
    elif d.rounding is ResizeRounding.ROUND_PREFER_FLOOR:
        nearest = np.ceil(places - half - np.float32(0.5))
    elif d.rounding is ResizeRounding.ROUND_PREFER_CEIL:
        nearest = np.floor(places - half + np.float32(0.5))
    else:
        rounded = np.floor if d.rounding is ResizeRounding.FLOOR else np.ceil
        nearest = rounded(places - half)
    return nearest
