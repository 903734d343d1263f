# SPDX-License-Identifier: MIT
"""Other data types of the same numbers or bits."""

from __future__ import annotations

from armnn.layers._descriptor import Descriptor
from armnn.layers._spec import layer, result, slot
from armnn.types import DataType


@layer(
    64,
    inputs=[slot("input", "Of any type.")],
    outputs=[result("output", "The maker of the layer says its data type.", like="")],
)
class CastDescriptor(Descriptor):
    """The same values in another data type.

    Real to integer rounds towards zero and saturates.

    Attributes:
        saturate: Whether a number that an eight-bit floating point type cannot hold becomes the
            largest that it can, else infinity or NaN (ONNX: Cast).
    """

    saturate: bool = False


@layer(
    1031,
    inputs=[slot("input", "Of any type.")],
    outputs=[result("output", "The maker of the layer says its data type.")],
)
class BitCastDescriptor(Descriptor):
    """The same bits as another data type's numbers.

    The types have the same size (ONNX, TFLite: BitCast).
    """


@layer(8, inputs=[slot("input", "Float16.")], outputs=[result(data_types=[DataType.FLOAT32])])
class ConvertFp16ToFp32Descriptor(Descriptor):
    """Float16 as Float32, exact; the optimizer makes it."""


@layer(9, inputs=[slot("input", "Float32.")], outputs=[result(data_types=[DataType.FLOAT16])])
class ConvertFp32ToFp16Descriptor(Descriptor):
    """Float32 rounded to Float16; the optimizer makes it."""
