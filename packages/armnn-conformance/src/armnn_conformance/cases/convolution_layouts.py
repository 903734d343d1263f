# SPDX-License-Identifier: MIT
"""Conformance cases whose shapes fit both layouts.

A backend that ignores ``data_layout`` gets no wrong shape here, and reads no memory of others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armnn.layers.convolution import Convolution2dDescriptor, DepthwiseConvolution2dDescriptor
from armnn.types import DataLayout, DataType
from armnn_conformance.cases import LayerCase, case, cases
from armnn_conformance.cases.convolution import SUMS, correlate
from armnn_conformance.operands import REAL, bias_tensor, values

LAYOUTS = (DataLayout.NHWC, DataLayout.NCHW)
_PADS = {"pad_left": 1, "pad_right": 1, "pad_top": 1, "pad_bottom": 1}


@cases(Convolution2dDescriptor, types=REAL)
def convolution2d_of_equal_sizes(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each layout with three rows, columns, channels and kernels."""
    x = values(data_type, (1, 3, 3, 3), seed=1)
    w = values(data_type, (3, 3, 3, 3), -1, 1, seed=2, constant=True)
    b = bias_tensor([0.5, -1.0, 2.0], x, w)
    for layout in LAYOUTS:
        channel = layout.channel_axis
        plain = correlate(
            np.moveaxis(x.real, channel, 1),
            np.moveaxis(w.real, channel, 1),
            (1, 1),
            (1, 1),
            [(1, 1), (1, 1)],
        )
        expected = np.moveaxis(plain + b.real.reshape(1, -1, 1, 1), 1, channel)
        d = Convolution2dDescriptor(data_layout=layout, **_PADS)
        title = f"equal sizes {layout.arm_name}"
        yield case(data_type, title, d, [x, w, b], expected, tolerance=SUMS.get(data_type))


@cases(DepthwiseConvolution2dDescriptor, types=REAL)
def depthwise_convolution2d_of_equal_sizes(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each layout with three rows, columns and channels."""
    x = values(data_type, (1, 3, 3, 3), seed=1)
    w = values(data_type, (1, 3, 3, 3), -1, 1, seed=2, constant=True)
    b = bias_tensor([0.5, -1.0, 2.0], x, w)
    kernel = w.real[0].transpose(2, 0, 1)[:, None]
    for layout in LAYOUTS:
        channel = layout.channel_axis
        pads = [(1, 1), (1, 1)]
        plain = correlate(np.moveaxis(x.real, channel, 1), kernel, (1, 1), (1, 1), pads)
        expected = np.moveaxis(plain + b.real.reshape(1, -1, 1, 1), 1, channel)
        d = DepthwiseConvolution2dDescriptor(data_layout=layout, **_PADS)
        title = f"equal sizes {layout.arm_name}"
        yield case(data_type, title, d, [x, w, b], expected, tolerance=SUMS.get(data_type))
