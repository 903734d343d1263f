# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse


@pytest.mark.parametrize(("size", "length"), [(16, 16), (12, 16), (20, 16)])
@pytest.mark.parametrize("name", ["COMPLEX_ABS", "REAL", "IMAG"])
def test_parts_of_a_transform(
    lite: Any, rng: np.random.Generator, size: int, length: int, name: str
) -> None:
    """As TensorFlow writes a transform of one axis."""
    x = rng.normal(size=(3, 1, size)).astype(np.float32)
    model = lite.build(
        [
            lite.Op("RFFT2D", ["x", "n"], ["f"]),
            lite.Op("SQUEEZE", ["f"], ["s"], {"squeezeDims": [-2]}),
            lite.Op(name, ["s"]),
        ],
        {
            "x": lite.Tensor(shape=x.shape),
            "n": lite.constant(np.int32([1, length])),
            "f": lite.Tensor("complex64"),
            "s": lite.Tensor("complex64"),
            "y": lite.Tensor(),
        },
    )
    spectrum = np.fft.rfft(x[:, 0], length)
    take = {"COMPLEX_ABS": np.abs, "REAL": np.real, "IMAG": np.imag}[name]
    result = lite.run(model, {"x": x})["y"]
    np.testing.assert_allclose(result, take(spectrum), rtol=1e-4, atol=1e-5)


def test_complex_numbers_are_reshaped(lite: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 1, 8)).astype(np.float32)
    model = lite.build(
        [
            lite.Op("RFFT2D", ["x", "n"], ["f"]),
            lite.Op("RESHAPE", ["f", "s"], ["r"]),
            lite.Op("REAL", ["r"]),
        ],
        {
            "x": lite.Tensor(shape=x.shape),
            "n": lite.constant(np.int32([1, 8])),
            "s": lite.constant(np.int32([2, -1])),
            "f": lite.Tensor("complex64"),
            "r": lite.Tensor("complex64"),
            "y": lite.Tensor(),
        },
    )
    expected = np.fft.rfft(x).real.reshape(2, 10)
    np.testing.assert_allclose(lite.run(model, {"x": x})["y"], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "lengths", "message"),
    [
        ((4, 8), [4, 8], "it transforms two axes; only one is supported"),
        ((1, 8), [1, 0], "its length is 0: supported are 1 to 8192"),
        ((1, 8), [1, 10000], "its length is 10000: supported are 1 to 8192"),
    ],
)
def test_other_transforms_are_refused(
    lite: Any, shape: tuple[int, ...], lengths: list[int], message: str
) -> None:
    tensors = {
        "x": lite.Tensor(shape=shape),
        "n": lite.constant(np.int32(lengths)),
        "f": lite.Tensor("complex64"),
        "y": lite.Tensor(),
    }
    ops = [lite.Op("RFFT2D", ["x", "n"], ["f"]), lite.Op("REAL", ["f"])]
    with pytest.raises(UnsupportedOperatorError, match=message):
        parse(lite.build(ops, tensors))


def test_a_transform_of_other_axes_is_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 8)),
        "n": lite.constant(np.int32([8])),
        "f": lite.Tensor("complex64"),
        "y": lite.Tensor(),
    }
    ops = [lite.Op("RFFT2D", ["x", "n"], ["f"]), lite.Op("REAL", ["f"])]
    with pytest.raises(ParseError, match="it does not transform two axes"):
        parse(lite.build(ops, tensors))


@pytest.mark.parametrize("name", ["COMPLEX_ABS", "REAL"])
def test_parts_of_real_numbers_are_refused(lite: Any, name: str) -> None:
    tensors = {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor()}
    with pytest.raises(ParseError, match="its input is not of complex numbers"):
        parse(lite.build(lite.Op(name, ["x"]), tensors))


def test_a_computed_shape_of_complex_numbers_is_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 8)),
        "n": lite.constant(np.int32([1, 8])),
        "d": lite.Tensor("int32", (1,)),
        "f": lite.Tensor("complex64"),
        "r": lite.Tensor("complex64"),
        "y": lite.Tensor(),
    }
    ops = [
        lite.Op("RFFT2D", ["x", "n"], ["f"]),
        lite.Op("RESHAPE", ["f", "d"], ["r"]),
        lite.Op("REAL", ["r"]),
    ]
    with pytest.raises(UnsupportedOperatorError, match="gives complex numbers a computed shape"):
        parse(lite.build(ops, tensors, ["x", "d"]))


def test_other_operators_take_no_complex_numbers(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 8)),
        "n": lite.constant(np.int32([1, 8])),
        "f": lite.Tensor("complex64"),
        "y": lite.Tensor(),
    }
    ops = [lite.Op("RFFT2D", ["x", "n"], ["f"]), lite.Op("NEG", ["f"])]
    with pytest.raises(UnsupportedOperatorError, match=r"NEG .*a tensor of a type that is not su"):
        parse(lite.build(ops, tensors))


def test_complex_outputs_are_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 8)),
        "n": lite.constant(np.int32([1, 8])),
        "y": lite.Tensor("complex64"),
    }
    with pytest.raises(ParseError, match=r"the output .y. is of a type that networks lack"):
        parse(lite.build(lite.Op("RFFT2D", ["x", "n"]), tensors))


def test_the_real_part_is_what_a_cast_leaves(lite: Any, rng: np.random.Generator) -> None:
    ops = [lite.Op("RFFT2D", ["x", "n"], ["z"]), lite.Op("CAST", ["z"])]
    tensors = {
        "n": lite.constant(np.int32([1, 8])),
        "z": lite.Tensor("complex64", (1, 1, 5)),
    }
    lite.check(ops, tensors, {"x": rng.normal(size=(1, 1, 8)).astype(np.float32)}, atol=1e-5)


def test_a_cast_to_complex_numbers_is_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 1, 8)),
        "z": lite.Tensor("complex64", (1, 1, 8)),
        "y": lite.Tensor(),
    }
    ops = [lite.Op("CAST", ["x"], ["z"]), lite.Op("COMPLEX_ABS", ["z"])]
    with pytest.raises(UnsupportedOperatorError, match="it makes complex numbers"):
        parse(lite.build(ops, tensors))
