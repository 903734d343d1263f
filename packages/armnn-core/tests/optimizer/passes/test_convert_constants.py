# SPDX-License-Identifier: MIT
"""Conversions of constants, computed once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from named_pass import named_pass

from armnn import DataType, Network, TensorInfo

convert_constants = named_pass("convert_constants")

F16, F32, BF16 = DataType.FLOAT16, DataType.FLOAT32, DataType.BFLOAT16
NUMBERS = [0.1, -3.0, 65519.0, 65520.0, np.inf, 2.0**-30]


def converted(network: Network, value, to: DataType, *, cast: bool = False):
    source = value.info.data_type
    own = {(F16, F32): "ConvertFp16ToFp32", (F32, F16): "ConvertFp32ToFp16"}
    kind = "Cast" if cast else own.get((source, to), "Cast")
    return network.add(kind, [value], outputs=[to]).output


@pytest.mark.parametrize(
    ("source", "target"), [(F32, F16), (F16, F32), (F32, BF16), (BF16, F32), (BF16, F16)]
)
def test_constants_are_converted_as_the_layer_would(source: DataType, target: DataType) -> None:
    network = Network()
    with np.errstate(over="ignore"):
        data = np.array(NUMBERS, np.float32).astype(source.numpy_dtype)
        expected = data.astype(np.float32).astype(target.numpy_dtype)
    made = converted(network, network.add_constant(data, name="c"), target)
    network.add_output("y", made)
    assert convert_constants(network) == 1
    (output,) = network.outputs
    (value,) = output.inputs
    assert value is not None
    assert value.constant is not None
    np.testing.assert_array_equal(value.constant, expected, strict=True)
    assert [layer.type for layer in network.layers if layer.type != "Output"] == ["Constant"]
    assert convert_constants(network) == 0


def test_known_roundings_of_constants() -> None:
    network = Network()
    constant = network.add_constant(np.float32([0.1, 65519.0, 65520.0]))
    network.add_output("half", converted(network, constant, F16))
    network.add_output("brain", converted(network, constant, BF16))
    convert_constants(network)
    half, brain = (layer.inputs[0].constant for layer in network.outputs)
    assert half.tolist() == [0.0999755859375, 65504.0, np.inf]
    assert brain.astype(np.float32).tolist() == [0.10009765625, 65536.0, 65536.0]
    assert brain.dtype == ml_dtypes.bfloat16


def test_what_is_computed_or_of_other_types_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,), F16))
    network.add_output("a", converted(network, x, F32))
    numbers = network.add_constant(np.int32([1, 2]))
    network.add_output("b", network.add_cast(numbers, output=F32))
    assert convert_constants(network) == 0
