# SPDX-License-Identifier: MIT
"""Conversions between data types: Quantize, Dequantize, Cast, BitCast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.errors import InvalidArgumentError
from armnn.layers._descriptor import Descriptor
from armnn.layers._spec import Inputs, Shapes, layer, parts_on_demand, result, slot
from armnn.types import DataType

if TYPE_CHECKING:
    from armnn.layers.quantizing_casts import BitCastDescriptor as BitCastDescriptor
    from armnn.layers.quantizing_casts import CastDescriptor as CastDescriptor
    from armnn.layers.quantizing_casts import (
        ConvertFp16ToFp32Descriptor as ConvertFp16ToFp32Descriptor,
    )
    from armnn.layers.quantizing_casts import (
        ConvertFp32ToFp16Descriptor as ConvertFp32ToFp16Descriptor,
    )
else:
    __getattr__ = parts_on_demand(__name__)


@layer(
    45,
    inputs=[slot("input", "Real values, or quantised ones that get another scale.")],
    outputs=[
        result(
            "output",
            "The maker of the layer says its scale and zero point.",
            data_types=[
                DataType.QASYMM_U8,
                DataType.QASYMM_S8,
                DataType.QSYMM_S8,
                DataType.QSYMM_S16,
            ],
        )
    ],
)
class QuantizeDescriptor(Descriptor):
    """round(x / scale) + zero point, saturated.

    Halves are rounded away from zero.
    """


@layer(
    14,
    inputs=[slot("input", "Quantised values.")],
    outputs=[
        result(
            data_types=[
                DataType.FLOAT32,
                DataType.FLOAT16,
                DataType.BFLOAT16,
                DataType.FLOAT64,
            ]
        )
    ],
)
class DequantizeDescriptor(Descriptor):
    """scale * (stored - zero point)."""


@layer(18, inputs=[slot("input", "Float32.")])
class FakeQuantizationDescriptor(Descriptor):
    """Each element rounded to one of 256 levels.

    They are between ``min`` and ``max``.

    Attributes:
        min: The lowest level.
        max: The highest level.
    """

    min: float = -6.0
    max: float = 6.0

    def check(self) -> None:
        """Raise InvalidArgumentError if the levels do not span a range."""
        if not self.min < self.max:
            raise InvalidArgumentError(
                f"{type(self).__name__}: min is {self.min!r} and max is {self.max!r}, expected min "
                "below max"
            )


def _dynamic(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    return [inputs.shape("input"), (), ()]


@layer(
    1025,
    inputs=[slot("input", "Floating point numbers.")],
    outputs=[
        result("output", "The steps.", data_types=[DataType.UNSIGNED8]),
        result("scale", "A scalar: what a step is worth.", data_types=[DataType.FLOAT32]),
        result("zero_point", "A scalar: the step of zero.", data_types=[DataType.UNSIGNED8]),
    ],
    infer=_dynamic,
)
class DynamicQuantizeDescriptor(Descriptor):
    """Quantisation in 256 steps that span the numbers and zero.

    ONNX: DynamicQuantizeLinear. Halves are rounded to even. Where all numbers are zero a step is
    worth 1.
    """
