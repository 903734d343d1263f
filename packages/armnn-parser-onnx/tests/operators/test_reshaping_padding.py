# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

node = helper.make_node
Model = Callable[..., onnx.ModelProto]
X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("mode", "dynamic"),
    [
        *itertools.product(["constant", "reflect", "edge"], [True, False]),
        ("wrap", False),
    ],
)
@pytest.mark.parametrize("pads", [[1, 2, 2, 1], [0, 0, 0, 0], [0, 3, 0, 0], [-1, 2, 1, -1]])
def test_every_mode_pads_as_numpy_does(
    run: Callable[..., Any], model: Model, mode: str, pads: list[int], dynamic: bool
) -> None:
    crops = [max(-pad, 0) for pad in pads]
    kept = X[crops[0] : 3 - crops[2], crops[1] : 4 - crops[3]]
    widths = [(max(pads[axis], 0), max(pads[axis + 2], 0)) for axis in (0, 1)]
    fill = {"constant_values": 7} if mode == "constant" else {}
    expected = np.pad(kept, widths, mode, **fill)
    constants = {"p": np.array(pads), "v": np.array(7, np.float32)}
    shape = [None, "W"] if dynamic else X.shape
    made = model(
        node("Pad", ["x", "p", "v"], ["y"], mode=mode), {"x": (1, shape)}, constants=constants
    )
    (y,) = run(made, {"x": X})
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dynamic", [True, False])
def test_pads_of_all_axes_and_of_some(check: Callable[..., Any], dynamic: bool) -> None:
    every, some = {"p": np.array([1, 0, 2, 1])}, {"p": np.array([1, 2]), "a": np.array([-1])}
    check(node("Pad", ["x", "p"], ["y"]), {"x": X}, constants=every, opset=11, dynamic=dynamic)
    check(node("Pad", ["x", "p", "", "a"], ["y"]), {"x": X}, constants=some, dynamic=dynamic)


def test_pads_as_attributes(run: Callable[..., Any], model: Model) -> None:
    pad = node("Pad", ["x"], ["y"], pads=[1, 0, 2, 1], value=2.5)
    (y,) = run(model(pad, {"x": X}, opset=7), {"x": X})
    np.testing.assert_array_equal(y, np.pad(X, [(1, 2), (0, 1)], constant_values=2.5))


@pytest.mark.parametrize("mode", ["constant", "reflect"])
def test_computed_pads(check: Callable[..., Any], mode: str) -> None:
    inputs = {"x": X, "p": np.array([1, 0, 2, 1]), "v": np.array(3, np.float32)}
    check(node("Pad", ["x", "p", "v"], ["y"], mode=mode), inputs)


def test_integers_are_padded_exactly(run: Callable[..., Any], model: Model) -> None:
    x = np.array([1], np.int64)
    constants = {"p": np.array([0, 1]), "v": np.array(2**53 + 1)}
    (y,) = run(model(node("Pad", ["x", "p", "v"], ["y"]), {"x": x}, constants=constants), {"x": x})
    assert y.tolist() == [1, 2**53 + 1]


@pytest.mark.parametrize(
    ("mode", "constants", "shape", "message"),
    [
        ("constant", {"p": [1, 2, 3]}, [3, 4], "do not fit the axes .*: expected two for each"),
        ("constant", {"p": [2**40, 0, 0, 0]}, [3, 4], "the pads .* are too large"),
        ("constant", {"p": [1, 1, 1, 1], "v": [1.0, 2.0]}, [3, 4], "constant_value has 2 elements"),
        ("constant", {"p": [1, 1, 1, 1], "v": 0.0, "a": [0, 0]}, [3, 4], "expected two for each"),
        ("constant", {"p": [1, 1], "v": 0.0, "a": [2]}, [3, 4], "the axis 2 is not an axis"),
        ("reflect", {"p": [3, 0, 0, 0]}, [3, 4], r"\(Pad\): .*Reflect padding"),
        ("wrap", {"p": [4, 0, 0, 0]}, [3, 4], "it wraps 4 elements of an axis of 3"),
        ("wrap", {"p": [1, 0, 0, 0]}, [None, 4], "it wraps 1 elements of an axis of None"),
        ("mirror", {"p": [1, 1, 1, 1]}, [3, 4], "the attribute 'mode' is 'mirror': expected one"),
    ],
)
def test_what_cannot_be_padded_is_refused(
    model: Model, mode: str, constants: dict[str, Any], shape: list[Any], message: str
) -> None:
    arrays = {
        name: np.array(data, np.float32 if name == "v" else np.int64)
        for name, data in constants.items()
    }
    made = model(node("Pad", ["x", *arrays], ["y"], mode=mode), {"x": (1, shape)}, constants=arrays)
    with pytest.raises(ParseError, match=message):
        parse(made.SerializeToString())
