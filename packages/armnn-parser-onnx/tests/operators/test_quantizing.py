# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from armnn import DataType
from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

node = helper.make_node
Model = Callable[..., onnx.ModelProto]
# No value is in the middle of two steps, where ONNX and Arm NN round to different sides.
X = np.array([[-100, -1.3, 0], [0.4, 2.7, 100]], np.float32)
SCALE = {"s": np.array(0.5, np.float32)}


def quantized(x: np.ndarray, scale: np.ndarray, point: np.ndarray) -> np.ndarray:
    limits = np.iinfo(point.dtype)
    steps = np.rint(x / scale) + point.astype(np.float32)
    return np.clip(steps, limits.min, limits.max).astype(point.dtype)


@pytest.mark.parametrize(
    "point", [None, np.uint8(128), np.int8(-3), np.int8(0), pytest.param(np.int16(0), id="int16")]
)
@pytest.mark.parametrize("opset", [10, 13, 19, 21, 23])
def test_quantize_and_dequantize(
    run: Callable[..., Any], model: Model, point: Any, opset: int
) -> None:
    opset = 21 if isinstance(point, np.int16) else opset
    constants = {**SCALE} if point is None else {**SCALE, "z": np.asarray(point)}
    names = list(constants)
    nodes = [
        node("QuantizeLinear", ["x", *names], ["q"]),
        node("DequantizeLinear", ["q", *names], ["y"]),
    ]
    q, y = run(model(nodes, {"x": X}, ["q", "y"], constants, opset=opset), {"x": X})
    zero = np.asarray(np.uint8(0) if point is None else point)
    expected = quantized(X, SCALE["s"], zero)
    assert q.dtype == expected.dtype
    np.testing.assert_array_equal(q, expected)
    np.testing.assert_array_equal(y, (expected.astype(np.float32) - zero) * np.float32(0.5))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("zero", [0, 5])
def test_scales_along_an_axis(
    run: Callable[..., Any], model: Model, axis: int, dtype: type, zero: int
) -> None:
    shape = (2, 1) if axis == 0 else (1, 3)
    scale = np.array([0.25, 1.5, 0.75], np.float32)[: X.shape[axis]]
    constants = {"s": scale, "z": np.full(X.shape[axis], zero, dtype)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=axis),
        node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=axis),
    ]
    q, y = run(model(nodes, {"x": X}, ["q", "y"], constants, opset=13), {"x": X})
    expected = quantized(X, scale.reshape(shape), constants["z"].reshape(shape))
    np.testing.assert_array_equal(q, expected)
    np.testing.assert_array_equal(y, (expected.astype(np.float32) - zero) * scale.reshape(shape))


def test_constant_weights_get_a_quantized_type(model: Model) -> None:
    constants = {"w": np.array([[1, -2]], np.int8), "s": np.array([0.5, 2], np.float32)}
    nodes = [node("DequantizeLinear", ["w", "s"], ["d"], axis=1), node("Add", ["x", "d"], ["y"])]
    made = model(nodes, {"x": X[:, :2]}, constants=constants)
    (weights,) = (
        layer for layer in parse(made.SerializeToString()).layers if layer.data is not None
    )
    info = weights.output.info
    assert (info.data_type, info.scales, info.axis) == (DataType.QSYMM_S8, (0.5, 2), 1)


@pytest.mark.parametrize(
    ("dtype", "point"), [("uint8", 3), ("int8", -3), ("int32", 0), ("uint16", 7), ("int16", -7)]
)
def test_dequantize_of_an_input(check: Callable[..., Any], dtype: str, point: int) -> None:
    x = np.array([0, 1, 100], dtype)
    constants = {**SCALE, "z": np.array(point, dtype)}
    check(node("DequantizeLinear", ["x", *constants], ["y"]), {"x": x}, constants=constants)


@pytest.mark.parametrize("point", [None, 0, 7])
@pytest.mark.parametrize("scale", [0.1, [0.1], [0.1, 3e38, 1e-30]])
def test_a_constant_bias_becomes_its_real_values(
    model: Model, scale: float | list[float], point: int | None
) -> None:
    bias = np.array([2**31 - 1, -(2**31) + 7, 16_777_217], np.int32)
    step = np.array(scale, np.float32)
    constants = {"b": bias, "s": step}
    if point is not None:
        constants["z"] = np.full(step.shape, point, np.int32)
    nodes = [
        node("DequantizeLinear", [*constants], ["d"], name="bias", axis=0),
        node("Add", ["x", "d"], ["y"]),
    ]
    network = parse(model(nodes, {"x": X}, constants=constants).SerializeToString())
    (known,) = (layer for layer in network.layers if layer.data is not None)
    # A float32 rounds to the nearest, and the product of two of them is exact in float64.
    whole = np.float64(np.float32((bias.astype(np.int64) - (point or 0)).astype(np.float64)))
    with np.errstate(over="ignore"):
        expected = (whole * np.float64(step)).astype(np.float32)
    assert (known.name, known.data.tolist()) == ("bias", expected.tolist())
    assert [layer.type for layer in network.layers if layer.type not in ("Input", "Output")] == [
        "Constant",
        "ElementwiseBinary",
    ]


def test_computed_scales(check: Callable[..., Any]) -> None:
    inputs = {"x": np.array([[1, 2], [3, 4]], np.uint8), "s": np.array([0.5, 3], np.float32)}
    check(node("DequantizeLinear", ["x", "s"], ["y"], axis=0), inputs)


def test_moves_keep_the_scale(check: Callable[..., Any]) -> None:
    nodes = [
        node("QuantizeLinear", ["x", "s"], ["q"]),
        node("Transpose", ["q"], ["t"]),
        node("Concat", ["t", "t"], ["c"], axis=1),
        node("DequantizeLinear", ["c", "s"], ["y"]),
    ]
    check(nodes, {"x": X}, constants=SCALE)


def test_integers_are_quantized_as_real_values(run: Callable[..., Any], model: Model) -> None:
    x = np.array([-4, 0, 3, 200], np.int32)
    made = model(node("QuantizeLinear", ["x", "s"], ["y"]), {"x": x}, constants=SCALE, opset=13)
    assert run(made, {"x": x})[0].tolist() == [0, 0, 6, 255]


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin", "ReduceMax", "ReduceMin"])
def test_the_largest_of_quantized_elements(op_type: str, check: Callable[..., Any]) -> None:
    axis = {"axis": 1} if op_type.startswith("Arg") else {"axes": [1]}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("Transpose", ["q"], ["t"]),
        node(op_type, ["t"], ["y"], **axis),
    ]
    x = np.array([[-1.0, 0.5, 2.0, 2.1], [0.0, -9.0, 9.0, 2.2]], np.float32)
    check(nodes, {"x": x}, constants=SCALE | {"z": np.array(3, np.uint8)}, opset=13)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (node("QuantizeLinear", ["x", "s", "zz"], ["y"]), r"the zero points have shape \[2\]"),
        (
            node("QuantizeLinear", ["x", "m"], ["y"]),
            r"the scales have shape \[1, 3\]: expected one",
        ),
        (node("QuantizeLinear", ["x", "three"], ["y"], axis=2), "the axis 2 is not an axis of a"),
        (
            node("QuantizeLinear", ["x", "three"], ["y"], axis=0),
            "has size 2, but there are 3 scales",
        ),
        (
            node("QuantizeLinear", ["x", "m"], ["y"], block_size=2),
            "3 elements along the axis 1 do not make 3 blocks of it",
        ),
    ],
)
def test_what_cannot_be_quantized_is_refused(
    model: Model, made: onnx.NodeProto, message: str
) -> None:
    constants = {
        **SCALE,
        "zz": np.zeros(2, np.uint8),
        "m": np.ones((1, 3), np.float32),
        "three": np.ones(3, np.float32),
    }
    given = {"x": X, "g": SCALE["s"]}
    with pytest.raises(ParseError, match=message):
        parse(model(made, given, constants=constants, opset=23).SerializeToString())


def test_two_scales_for_one_tensor_are_refused(model: Model) -> None:
    constants = {**SCALE, "t": np.array(0.25, np.float32)}
    quantize = node("QuantizeLinear", ["x", "s"], ["q"])
    again = node("DequantizeLinear", ["q", "t"], ["y"])
    with pytest.raises(ParseError, match="its scale or zero point is not the one that its input"):
        parse(model([quantize, again], {"x": X}, constants=constants).SerializeToString())
    both = [
        quantize,
        node("QuantizeLinear", ["x", "t"], ["r"]),
        node("Concat", ["q", "r"], ["y"], axis=0),
    ]
    with pytest.raises(ParseError, match="its quantized inputs have different scales"):
        parse(model(both, {"x": X}, constants=constants).SerializeToString())


@pytest.mark.parametrize(
    "element", [TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT8E4M3FN, TensorProto.INT8]
)
def test_weights_with_a_scale_for_each_block(
    model: Model, run: Callable[..., Any], element: int
) -> None:
    numbers = np.array([[1, 2, 3, 4, 5, 6, 7, 0], [7, 6, 5, 4, 3, 2, 1, 0]] * 3, np.float32)
    scales = np.array([[0.5, 2.0], [1.0, 0.25]] * 3, np.float32)
    made = model(
        [
            node("DequantizeLinear", ["w", "s"], ["d"], axis=1, block_size=4),
            node("MatMul", ["x", "d"], ["y"]),
        ],
        {"x": np.ones((2, 6), np.float32)},
        constants={"s": scales},
    )
    made.graph.initializer.append(
        helper.make_tensor("w", element, numbers.shape, numbers.reshape(-1).tolist())
    )
    x = np.random.default_rng(2).standard_normal((2, 6)).astype(np.float32)
    expected = x @ (numbers * np.repeat(scales, 4, axis=1))
    np.testing.assert_allclose(run(made, {"x": x})[0], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("element", "low", "high"),
    [
        (TensorProto.INT4, -8, 7),
        (TensorProto.UINT4, 0, 15),
        (TensorProto.INT16, -32768, 32767),
        (TensorProto.UINT16, 0, 65535),
        (TensorProto.INT8, -128, 127),
    ],
)
def test_steps_of_any_integer_are_rounded_to_even_and_saturate(
    model: Model, run: Callable[..., Any], element: int, low: int, high: int
) -> None:
    operator = node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=element)
    x = np.array([-1e9, -0.25, 0.25, 0.75, 1.0, 1e9, 2.0], np.float32)
    made = model(operator, {"x": x, "s": np.array(0.5, np.float32)}, opset=23)
    (y,) = run(made, {"x": x, "s": np.array(0.5, np.float32)})
    expected = [low, 0, 0, 2, 2, high, 4]
    assert y.astype(np.int64).tolist() == [max(number, low) for number in expected]


def test_real_steps_saturate_or_not(model: Model, run: Callable[..., Any]) -> None:
    x = np.array([1e9, 1.0, -3.3], np.float32)
    for saturate, largest in ((1, 448.0), (0, np.nan)):
        made = model(
            node(
                "QuantizeLinear", ["x", "s"], ["y"],
                output_dtype=TensorProto.FLOAT8E4M3FN, saturate=saturate,
            ),
            {"x": x},
            constants=SCALE,
            opset=23,
        )  # fmt: skip
        (y,) = run(made, {"x": x})
        np.testing.assert_array_equal(y.astype(np.float32), [largest, 2.0, -6.5])


@pytest.mark.parametrize("has_points", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [(ml_dtypes.int4, -8, 7), (ml_dtypes.uint4, 0, 15), (np.int8, -128, 127), (np.uint8, 0, 255)],
)
def test_products_with_weights_in_blocks_keep_their_bits(
    model: Any, run: Any, rng: Any, kind: Any, low: int, high: int, axis: int, has_points: bool
) -> None:
    x = rng.standard_normal((2, 3, 80)).astype(np.float32)
    numbers = rng.integers(low, high, (80, 5), endpoint=True)
    scales = rng.uniform(0.1, 1, (3, 5)).astype(np.float32)
    points = rng.integers(low, high, (3, 5), endpoint=True)
    real = np.repeat(scales, 32, 0)[:80] * (
        numbers - (np.repeat(points, 32, 0)[:80] if has_points else 0)
    )
    arrays = {"q": numbers.astype(kind), "s": scales, "z": points.astype(kind)}
    if axis == 1:
        arrays = {name: each.T for name, each in arrays.items()}
    names = ["q", "s", "z"][: 3 if has_points else 2]
    nodes = [helper.make_node("DequantizeLinear", names, ["w"], axis=axis, block_size=32)]
    if axis == 1:
        nodes.append(helper.make_node("Transpose", ["w"], ["t"]))
    nodes.append(helper.make_node("MatMul", ["x", "w" if axis == 0 else "t"], ["y"]))
    made = model(nodes, {"x": x}, constants={name: arrays[name].copy() for name in names})
    (product,) = parse(made.SerializeToString()).outputs[0].inputs
    assert product.producer.type == "MatMulNBits"
    np.testing.assert_allclose(run(made, {"x": x})[0], x @ real, 1e-5, 1e-3)
