# SPDX-License-Identifier: MIT
"""Conversions between data types: CAST, QUANTIZE, DEQUANTIZE, DENSIFY, ..."""

from __future__ import annotations

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, add_layer
from armnn.types import ActivationFunction
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.operators.spectral import part


@operator("QUANTIZE", newest=6)
def quantize(operation: Operation) -> Value:
    """Add Quantize, also from one scale to another."""
    info = operation.info()
    value = operation.input()
    if not info.is_quantized:
        raise RefusedError(f"no layer quantizes to {info.data_type.arm_name}")
    if not (value.info.is_quantized or value.info.data_type.is_float):
        raise RefusedError(f"it quantizes {value.info.data_type.arm_name}, which has no scale here")
    return add_layer(operation, "Quantize", [value], output=info)


@operator("DEQUANTIZE", newest=9)
def dequantize(operation: Operation) -> Value:
    """Add Dequantize, or Cast for Float16.

    Models store weights in Float16, which are converted here: a layer of each would be made,
    computed and removed again.
    """
    halves = operation.constant(0) if operation.is_half(0) else None
    if halves is not None:
        data = halves.astype(operation.info().data_type.numpy_dtype)
        return operation.network.add_constant(data, name=operation.layer_name())
    value, real = operation.input(), operation.info().data_type
    if value.info.data_type.is_float:
        return add_layer(operation, "Cast", [value], output=real)
    if not value.info.is_quantized:
        raise RefusedError(f"its input is {value.info.data_type.arm_name} without a scale")
    return add_layer(operation, "Dequantize", [value], output=real)


@operator("CAST", newest=9, complex_numbers=True)
def cast(operation: Operation) -> Value:
    """Add Cast; of complex numbers the real part is cast."""
    if operation.makes_complex():
        raise RefusedError("it makes complex numbers")
    value, info = operation.input(), operation.info()
    if operation.is_complex():
        value = part(operation, 0, "real")
    if value.info.is_quantized or info.is_quantized:
        raise RefusedError("it casts the stored numbers of a quantized tensor")
    return operation.network.add_cast(value, name=operation.layer_name(), output=info.data_type)


@operator("BITCAST")
def bitcast(operation: Operation) -> Value:
    """Add BitCast, to a type of the same size."""
    value, info = operation.input(), operation.info()
    if value.info.data_type.bits != info.data_type.bits:
        raise RefusedError(
            f"it makes {info.data_type.arm_name} of {value.info.data_type.arm_name}, which has "
            "another size"
        )
    return operation.network.add_bit_cast(value, name=operation.layer_name(), output=info)


@operator("FAKE_QUANT", newest=2)
def fake_quantization(operation: Operation) -> Value:
    """Add the rounding to an integer's levels by arithmetic.

    The range is moved so that 0 is a level, as TensorFlow does.
    """
    options = operation.options("FakeQuantOptions")
    low, high, bits = options.real("Min"), options.real("Max"), options.integer("NumBits")
    if options.flag("NarrowRange"):
        raise RefusedError("its range is narrow, as only that of weights is")
    if not (2 <= bits <= 16 and low < high and np.isfinite([low, high]).all()):
        raise operation.error(f"it has {bits} bits from {low} to {high}: expected 2 to 16")
    last = 2**bits - 1
    step = float(np.float32((high - low) / last))
    point = float(np.clip(np.floor(0.5 - low / step), 0, last))
    low, high = -point * step, (last - point) * step
    network, value = operation.network, operation.input()
    clipped = network.add_activation(
        value,
        function=ActivationFunction.BOUNDED_RELU,
        a=high,
        b=low,
        name=operation.layer_name("clipped"),
    )
    bottom, size, half = (
        operation.number(number, value, part)
        for number, part in ((low, "low"), (step, "step"), (0.5, "half"))
    )
    above = network.add_subtraction(clipped, bottom, name=operation.layer_name("above"))
    steps = network.add_division(above, size, name=operation.layer_name("steps"))
    raised = network.add_addition(steps, half, name=operation.layer_name("raised"))
    whole = network.add_floor(raised, name=operation.layer_name("whole"))
    scaled = network.add_multiplication(whole, size, name=operation.layer_name("scaled"))
    return network.add_addition(scaled, bottom, name=operation.layer_name())


@operator("DENSIFY")
def densify(operation: Operation) -> Value:
    """Return the input; sparse constants are read as dense ones."""
    return operation.input()
