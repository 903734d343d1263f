# SPDX-License-Identifier: MIT
"""The rounding noise that a right layer may have.

The floor is one unit in the last place of the layer's own type times the root of the number of
terms that it sums: rounding errors of independent signs grow like that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from armnn.graph.multiply_adds import multiply_adds_of
from armnn.types import DataType

if TYPE_CHECKING:
    from armnn.graph import Layer
    from armnn.tensor import TensorInfo

UNITS = {
    DataType.FLOAT16: 2.0**-10,
    DataType.BFLOAT16: 2.0**-7,
    DataType.FLOAT32: 2.0**-23,
    DataType.FLOAT64: 2.0**-52,
}
"""The distance from 1 to the next number of a type."""

NARROWED_UNIT = UNITS[DataType.BFLOAT16] / 2
"""The error of a product of two numbers that are rounded to BFloat16, as a part of it."""

COMPUTING_UNIT = UNITS[DataType.FLOAT32]
"""The unit of the type that layers with quantised tensors compute in."""

_ALONG_AXIS = ("Softmax", "LogSoftmax", "CumSum", "CumProd")
"""Layer types that sum along their parameter ``axis``."""

_ALONG_BATCH = (
    "BatchNormalization",
    "GroupNormalization",
    "InstanceNormalization",
    "L2Normalization",
    "LayerNormalization",
    "Normalization",
    "RmsNormalization",
)
"""Layer types that sum over at most all elements of a batch."""

_SAMPLED = {"Resize": 16, "GridSample": 16, "RoiAlign": 16, "Fused": 3, "RotaryEmbedding": 2}
"""Layer types that sum so many terms per element."""

LINEAR = (
    "BatchMatMul",
    "Convolution2d",
    "Convolution3d",
    "DepthwiseConvolution2d",
    "Einsum",
    "FullyConnected",
    "Mean",
    "TransposeConvolution2d",
)
"""Layer types that are sums of products: of squares they make the squared size of the sums."""

STEPWISE = ("QLstm", "QuantizedLstm")
"""Layer types whose inner tensors are rounded to steps."""


def unit_of(info: TensorInfo) -> float:
    """Return the unit in the last place of 1."""
    return UNITS.get(info.data_type, COMPUTING_UNIT)


def terms_of(layer: Layer) -> int:
    """Return about how many terms make an output element."""
    infos = [info for info in layer.input_infos if info is not None]
    made = max(1, max((_size(info) for info in layer.output_infos), default=1))
    products = multiply_adds_of(layer)
    if products:
        return max(1, products // made)
    if not infos or not infos[0].is_static:
        return 1
    shape = infos[0].static_shape
    if layer.type in _SAMPLED:
        return _SAMPLED[layer.type]
    if layer.type in _ALONG_AXIS and shape:
        return max(1, shape[getattr(layer.descriptor, "axis", -1)])
    if layer.type in _ALONG_BATCH and shape:
        return max(1, math.prod(shape[1:]))
    return max(1, _size(infos[0]) // made)


def floor_of(layer: Layer, info: TensorInfo) -> float:
    """Return an output's noise floor, as part of its size."""
    return unit_of(info) * math.sqrt(terms_of(layer))


def _size(info: TensorInfo) -> int:
    return info.num_elements if info.is_static else 0
