# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
def test_quantize_and_back(lite: Any, kind: str) -> None:
    x = np.linspace(-3, 3, 41, dtype=np.float32)
    zero = {"int8": -5, "uint8": 100, "int16": 0}[kind]
    steps = lite.Tensor(kind, x.shape, scale=0.03, zero_point=zero)
    lite.check(lite.Op("QUANTIZE", ["x"], version=2), {"y": steps}, {"x": x})
    stored = np.arange(-10, 10).astype(kind)
    tensors = {"x": lite.Tensor(kind, stored.shape, scale=0.03, zero_point=zero)}
    lite.check(lite.Op("DEQUANTIZE", ["x"], version=3), tensors, {"x": stored})


def test_float16_weights_become_their_float32_values(lite: Any) -> None:
    stored = np.array([0.1, -65504, 6e-8, np.inf, -0.0], np.float16)
    operators = [
        lite.Op("DEQUANTIZE", ["h"], ["w"], version=3),
        lite.Op("ADD", ["x", "w"], ["y"], version=1, options={}),
    ]
    tensors = {"x": lite.Tensor(shape=(5,)), "h": lite.constant(stored), "y": lite.Tensor()}
    network = parse(lite.build(operators, {**tensors, "w": lite.Tensor(shape=(5,))}))
    (known,) = (layer for layer in network.layers if layer.data is not None)
    assert known.data.dtype == np.float32
    assert known.data.tolist() == [float(each) for each in stored]
    assert "Cast" not in {layer.type for layer in network.layers}
    assert sorted(layer.guid for layer in network.layers) == [0, 1, 2, 3]  # none came and went


def test_float16_weights_are_a_layer_where_others_read_them(lite: Any) -> None:
    stored = np.array([0.5, -2], np.float16)
    operators = [
        lite.Op("DEQUANTIZE", ["h"], ["w"], version=3),
        lite.Op("CAST", ["h"], ["y"]),
    ]
    tensors = {"h": lite.constant(stored), "w": lite.Tensor(shape=(2,))}
    data = lite.build(
        operators, {**tensors, "y": lite.Tensor(shape=(2,))}, inputs=[], outputs=["w", "y"]
    )
    network = parse(data)
    held = {layer.name: layer.data.dtype for layer in network.layers if layer.data is not None}
    assert held == {"w": np.float32, "h": np.float16}


def test_quantize_from_one_scale_to_another(lite: Any) -> None:
    x = np.arange(-128, 128).astype(np.int8)
    tensors = {
        "x": lite.Tensor("int8", x.shape, scale=0.03, zero_point=5),
        "y": lite.Tensor("uint8", x.shape, scale=0.05, zero_point=120),
    }
    lite.check(lite.Op("QUANTIZE", ["x"], version=2), tensors, {"x": x})


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "int32"), ("int32", "float32"), ("int64", "int32"), ("bool", "float32")],
)
def test_cast(lite: Any, source: str, target: str) -> None:
    x = np.array([0, 1, 2.7]).astype(source)
    results = lite.check(lite.Op("CAST", ["x"]), {"y": lite.Tensor(target)}, {"x": x})
    np.testing.assert_array_equal(results["y"], x.astype(target))


@pytest.mark.parametrize(
    ("name", "given", "made", "message"),
    [
        ("QUANTIZE", {}, {"type": "int32"}, "no layer quantizes to Signed32"),
        (
            "QUANTIZE",
            {"type": "int32"},
            {"type": "int8", "scale": 0.1},
            "it quantizes Signed32, which has no scale here",
        ),
        ("DEQUANTIZE", {"type": "int8"}, {}, "its input is Signed8 without a scale"),
        ("CAST", {"type": "int8", "scale": 0.1}, {}, "casts the stored numbers of a quantized"),
    ],
)
def test_what_has_no_scale_is_refused(
    lite: Any, name: str, given: dict[str, Any], made: dict[str, Any], message: str
) -> None:
    tensors = {"x": lite.Tensor(shape=(2,), **given), "y": lite.Tensor(shape=(2,), **made)}
    with pytest.raises(UnsupportedOperatorError, match=message):
        parse(lite.build(lite.Op(name, ["x"]), tensors))


@pytest.mark.parametrize(("low", "high", "bits"), [(-1, 1, 8), (0.3, 5, 4), (-6, 0.25, 16)])
def test_fake_quantization(
    lite: Any, rng: np.random.Generator, low: float, high: float, bits: int
) -> None:
    options = {"min": low, "max": high, "numBits": bits}
    x = (3 * rng.normal(size=(4, 50))).astype(np.float32)
    lite.check(lite.Op("FAKE_QUANT", ["x"], options=options), {}, {"x": x}, atol=1e-5)


def test_fake_quantization_of_weights_is_refused(lite: Any) -> None:
    op = lite.Op("FAKE_QUANT", ["x"], options={"max": 1.0, "numBits": 8, "narrowRange": True})
    with pytest.raises(UnsupportedOperatorError, match="its range is narrow"):
        parse(lite.build(op, {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor()}))


@pytest.mark.parametrize(("low", "high", "bits"), [(1, 1, 8), (0, np.inf, 8), (0, 1, 1)])
def test_levels_that_span_no_range_are_refused(
    lite: Any, low: float, high: float, bits: int
) -> None:
    op = lite.Op("FAKE_QUANT", ["x"], options={"min": low, "max": high, "numBits": bits})
    with pytest.raises(ParseError, match=r"it has \d bits from .*: expected 2 to 16"):
        parse(lite.build(op, {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor()}))


@pytest.mark.parametrize(("kind", "made"), [("float32", "int32"), ("int32", "float32")])
def test_the_same_bits_as_another_type(lite: Any, kind: str, made: str) -> None:
    x = np.array([1.5, -2, 0, np.inf], np.float32).view(kind)
    results = lite.check(lite.Op("BITCAST", ["x"]), {"y": lite.Tensor(made)}, {"x": x})
    np.testing.assert_array_equal(results["y"], x.view(made))


def test_bits_of_a_type_of_another_size_are_refused(lite: Any) -> None:
    tensors = {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor("int8")}
    with pytest.raises(UnsupportedOperatorError, match="it makes Signed8 of Float32, which has"):
        parse(lite.build(lite.Op("BITCAST", ["x"]), tensors))
