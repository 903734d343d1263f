# SPDX-License-Identifier: MIT
"""Conversions between data types: Quantize, Dequantize, in blocks, Cast, BitCast."""

from __future__ import annotations

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import known_better, require_blocks
from armnn.layers._spec import Inputs, Shapes, layer, result, slot
from armnn.types import DataType


@layer(
    45,
    inputs=[slot("input", "Real values, or quantized ones that get another scale.")],
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
    inputs=[slot("input", "Quantized values.")],
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


def _dequantized_blocks(descriptor: DequantizeBlocksDescriptor, inputs: Inputs) -> Shapes:
    shape, scales = inputs.shape("input"), inputs.shape("scales")
    if not shape or not scales:
        raise ShapeError("the inputs 'input' and 'scales' must be of rank 1 or more")
    rows = tuple(map(known_better, shape[:-1], scales[:-1]))
    size = descriptor.size
    require_blocks(inputs, "input", descriptor.bits, descriptor.block_size, rows, size)
    return [(*rows, size)]


@layer(
    1034,
    inputs=[
        slot("input", "[...,bytes], Unsigned8: numbers from the low bits of a byte on."),
        slot("scales", "[...,blocks], one for each block of a row."),
        slot(
            "zero_points",
            "[...,blocks], real numbers, or [...,bytes], Unsigned8, packed as the input is; "
            "2^(bits - 1) if absent.",
            optional=True,
        ),
    ],
    outputs=[result("output", "Shape [...,size].", like="scales")],
    infer=_dequantized_blocks,
)
class DequantizeBlocksDescriptor(Descriptor):
    """scale * (number - zero point) of integers of few bits, with a scale for each block of a row.

    ONNX: DequantizeLinear with block_size; onnxruntime: a part of GatherBlockQuantized.

    Attributes:
        bits: The bits of a number: 2, 4 or 8.
        block_size: How many numbers of a row share a scale; the last block may have fewer.
        size: How many numbers a row has.
    """

    bits: int = parameter(4, one_of=(2, 4, 8))
    block_size: int = parameter(32, at_least=1)
    size: int = parameter(0, at_least=0)


@layer(
    64,
    inputs=[slot("input", "A tensor of any type.")],
    outputs=[result("output", "The maker of the layer says its data type.", like="")],
)
class CastDescriptor(Descriptor):
    """Conversion of values to another data type.

    Real to integer rounds towards zero and saturates.

    Attributes:
        saturate: Whether a number that an eight-bit floating point type cannot hold becomes the
            largest that it can, else infinity or NaN (ONNX: Cast).
    """

    saturate: bool = False


@layer(
    1031,
    inputs=[slot("input", "A tensor of any type.")],
    outputs=[result("output", "The maker of the layer says its data type.")],
)
class BitCastDescriptor(Descriptor):
    """Bits of numbers, read as numbers of another data type.

    The types have the same size (ONNX, TFLite: BitCast).
    """


@layer(8, inputs=[slot("input", "Float16.")], outputs=[result(data_types=[DataType.FLOAT32])])
class ConvertFp16ToFp32Descriptor(Descriptor):
    """Float16 as Float32, exact; the optimizer makes it."""


@layer(9, inputs=[slot("input", "Float32.")], outputs=[result(data_types=[DataType.FLOAT16])])
class ConvertFp32ToFp16Descriptor(Descriptor):
    """Float32 rounded to Float16; the optimizer makes it."""


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
    """Quantization in 256 steps that span the numbers and zero.

    ONNX: DynamicQuantizeLinear. Halves are rounded to even. Where all numbers are zero a step is
    worth 1.
    """
