# SPDX-License-Identifier: MIT
"""What is computed without a backend is what CpuRef computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.graph import Layer, Network
from armnn.layers import LAYERS
from armnn.optimizer.symbolic.arithmetic import MOST_ELEMENTS, plain_outputs
from armnn.tensor import TensorInfo
from armnn.types import DataType

X = np.arange(-6, 6, dtype=np.float32).reshape(3, 4) / 3
N = np.array([[3, -4], [5, 7]], np.int64)
WHOLE = np.array([2**31 - 1, -(2**31), 2**24 + 1], np.int32)  # what follows wraps, or is rounded
BYTES = np.arange(200, dtype=np.uint8)  # more elements than are computed one by one
MANY = np.arange(3 * 250 * 179, dtype=np.int16).reshape(3, 250, 179)
LARGE = np.array([3e38, -3e38], np.float32)
FLOAT, INT32, INT64 = DataType.FLOAT32, DataType.SIGNED32, DataType.SIGNED64


def layer_of(kind: str, *operands: Any, info: TensorInfo | None = None, **parameters: Any) -> Layer:
    network = Network("n")
    values = [network.add_constant(each) for each in operands]
    outputs = None if info is None else [info]
    descriptor = LAYERS[kind].descriptor(**parameters)
    return network.add(kind, values, descriptor, outputs=outputs)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (layer_of("BroadcastTo", X[:, :1], broadcast_to_shape=(2, 1, 2)), [X[:, [0, 0]]] * 2),
        (layer_of("Concat", X, X[:1], axis=0), np.concatenate([X, X[:1]])),
        (layer_of("Stack", X[0], X[1], axis=-1), X[:2].T),
        (layer_of("Gather", X, np.array([2, -3]), axis=0), X[[2, 0]]),
        (layer_of("Reshape", X, target_shape=(2, 6)), X.reshape(2, 6)),
        (layer_of("StridedSlice", X, begin=(2, 0), end=(0, 4), stride=(-1, 2)), X[2:0:-1, 0:4:2]),
        (layer_of("Where", X > 0, X, X - 9), np.where(X > 0, X, X - 9)),
        (layer_of("Fill", np.array([2, 3]), info=TensorInfo((2, 3), FLOAT), value=0.1),
         np.full((2, 3), 0.1, np.float32)),
        (layer_of("Fill", np.array([2]), info=TensorInfo((2,), INT64), value=2**62 + 1),
         np.full(2, 2**62 + 1)),
        (layer_of("Transpose", X, dim_mappings=(1, 0)), X.T),
        (layer_of("Transpose", MANY, dim_mappings=(2, 0, 1)), MANY.transpose(2, 0, 1)),
        (layer_of("Transpose", MANY, dim_mappings=(0, 2, 1)), MANY.transpose(0, 2, 1)),
        (layer_of("Multiplication", N, np.array(-1)), -N),
        (layer_of("Multiplication", X, X[0]), X * X[0]),
        (layer_of("Multiplication", LARGE, LARGE[:1]), [np.inf, -np.inf]),
        (layer_of("Subtraction", WHOLE, np.array(-7, np.int32)), WHOLE + np.int32(7)),
        (layer_of("ElementwiseBinary", X, X[:, :1], operation="Add"), X + X[:, :1]),
        (layer_of("ElementwiseBinary", WHOLE, WHOLE, operation="Mul"), WHOLE * WHOLE),
        (layer_of("ElementwiseBinary", X[0], X[1], operation="Sub"), X[0] - X[1]),
        (layer_of("Cast", BYTES, info=TensorInfo((200,), INT32)), BYTES),
        (layer_of("Cast", WHOLE, info=TensorInfo((3,), FLOAT)), WHOLE),
        (layer_of("Cast", BYTES, info=TensorInfo((200,), FLOAT)), BYTES),
        (layer_of("Comparison", N, np.array(4), operation="Greater"), N > 4),
        (layer_of("Cast", N, info=TensorInfo((2, 2), INT32)), N.astype(np.int32)),
    ],
    ids=lambda each: each.type if isinstance(each, Layer) else "",
)  # fmt: skip
def test_elements_are_those_of_the_layer(layer: Layer, expected: Any) -> None:
    made = plain_outputs(layer)
    assert made is not None
    (found,) = made
    expected = np.asarray(expected, layer.output.info.data_type.numpy_dtype)
    assert (found.dtype, found.shape) == (expected.dtype, layer.output.info.shape)
    assert found.tobytes() == expected.tobytes()
    # Weights that are only seen in another shape are in memory once.
    assert np.shares_memory(found, X) == (layer.type == "Reshape")


def test_a_combination_is_written_where_an_input_is_not_needed() -> None:
    layer = layer_of("Multiplication", X, X[0])
    spare = layer.inputs[0].constant.copy()
    (found,) = plain_outputs(layer, spare) or ()
    assert found is spare
    np.testing.assert_array_equal(found, X * X[0])
    (other,) = plain_outputs(layer, spare[0]) or ()  # which has no room
    np.testing.assert_array_equal(other, X * X[0])


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_many_elements_less_nothing_are_not_copied(zero: float) -> None:
    many = np.zeros((2, 1 << 16), np.float32)
    many[:, ::2] = -0.0
    (found,) = plain_outputs(layer_of("Subtraction", many, np.full((2, 1), zero, np.float32))) or ()
    assert found.tobytes() == (many - np.float32(zero)).tobytes()
    assert np.shares_memory(found, many) == (str(zero) == "0.0")


@pytest.mark.parametrize(
    "layer",
    [
        layer_of("Gather", X, np.array(3), axis=0),  # which is none of its rows
        layer_of("Fill", np.array([2]), info=TensorInfo((2,), INT32), value=0.5),
        layer_of("Fill", np.array([2]), info=TensorInfo((2,), INT32), value=2**31),
        layer_of("Fill", np.array([2]), info=TensorInfo((2,), FLOAT), value=1e39),
        layer_of("Fill", np.array([2]), info=TensorInfo((2,), FLOAT), value=float("nan")),
        layer_of("Fill", np.array([2]), info=TensorInfo((2,), DataType.FLOAT16), value=1),
        layer_of("Multiplication", X.astype(np.float64), X.astype(np.float64)),
        layer_of("ElementwiseBinary", X, X, operation="Div"),
        layer_of("ElementwiseUnary", X, operation="Neg"),
        layer_of("Cast", BYTES, info=TensorInfo((200,), DataType.SIGNED8)),
        layer_of("Cast", BYTES, info=TensorInfo((200,), DataType.FLOAT16)),
        layer_of("Cast", BYTES > 5, info=TensorInfo((200,), FLOAT)),
        layer_of("Multiplication", N, np.array(2**62)),  # which the type does not hold
        layer_of("Division", N, np.array(2)),  # of a negative number
        layer_of("Multiplication", np.arange(MOST_ELEMENTS + 1), np.array(2)),
        layer_of("Multiplication", np.arange(20), np.arange(20).reshape(20, 1)),  # 400 elements
        layer_of("Cast", X, info=TensorInfo((3, 4), INT32)),
        layer_of("ElementwiseUnary", X, operation="Abs"),
    ],
    ids=lambda each: each.type,
)
def test_a_backend_computes_the_others(layer: Layer) -> None:
    assert plain_outputs(layer) is None


@pytest.mark.parametrize(
    "info",
    [
        TensorInfo((5, 51), DataType.QASYMM_U8, 0.1, 130),
        TensorInfo((5, 51), DataType.QASYMM_S8, 3e38, -128),
        TensorInfo((5, 51), DataType.QSYMM_S16, 1e-45),
        TensorInfo((5, 51), DataType.QSYMM_S8, (0.1, 0.3, 1e-9, 7.0, 2.0), axis=0),
    ],
)
def test_stored_values_are_dequantized(info: TensorInfo) -> None:
    dtype = info.data_type.numpy_dtype
    stored = np.arange(255).astype(np.int16).astype(dtype).reshape(5, 51)
    network = Network("n")
    layer = network.add("Dequantize", [network.add_constant(stored, info)])
    made = plain_outputs(layer)
    scales = np.float32(info.scales)[:, None] if info.is_per_axis else np.float32(info.scale)
    with np.errstate(over="ignore"):
        expected = (stored.astype(np.int32) - info.zero_points[0]).astype(np.float32) * scales
    assert made is not None
    assert made[0].dtype == np.float32
    assert made[0].tobytes() == expected.tobytes()


def test_quantized_elements_are_a_backends() -> None:
    network = Network("n")
    info = TensorInfo((4,), DataType.QASYMM_S8, 0.5, 3)
    value = network.add_constant(np.arange(4, dtype=np.int8), info)
    layer = network.add("Reshape", [value], LAYERS["Reshape"].descriptor(target_shape=(2, 2)))
    assert plain_outputs(layer) is None
