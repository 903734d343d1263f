# SPDX-License-Identifier: MIT
"""Operators that reorder, reshape, repeat and pad compute what ONNX's reference does."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

node = helper.make_node
Model = Callable[..., onnx.ModelProto]
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def types_of(made: onnx.ModelProto) -> list[str]:
    return [layer.type for layer in parse(made.SerializeToString()).layers]


@pytest.mark.parametrize("shape", [[4, 6], [-1], [0, -1], [2, 0, 2, 2], [0, 0, 0], [1, 24, 1]])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("opset", [7, 13, 21])
def test_reshape(
    check: Callable[..., Any], shape: list[int], constant: bool, dynamic: bool, opset: int
) -> None:
    given = {"s": np.array(shape, np.int64)}
    inputs = {"x": X} if constant else {"x": X, **given}
    made = node("Reshape", ["x", "s"], ["y"])
    check(made, inputs, constants=given if constant else {}, dynamic=dynamic, opset=opset)


def test_reshape_to_a_zero_that_is_meant(check: Callable[..., Any]) -> None:
    x = np.zeros((3, 0, 2), np.float32)
    given = {"s": np.array([0, 5, 3], np.int64)}
    check(node("Reshape", ["x", "s"], ["y"], allowzero=1), {"x": x}, constants=given)


def test_the_shape_of_a_dynamic_batch_is_computed(check: Callable[..., Any]) -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "zero", "one", "zero"], ["n"]),
        node("Concat", ["n", "rest"], ["t"], axis=0),
        node("Reshape", ["x", "t"], ["y"]),
    ]
    constants = {"zero": np.array([0]), "one": np.array([1]), "rest": np.array([-1])}
    check(nodes, {"x": X}, constants=constants, dynamic=True)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -3])
@pytest.mark.parametrize("dynamic", [True, False])
def test_flatten(check: Callable[..., Any], axis: int, dynamic: bool) -> None:
    check(node("Flatten", ["x"], ["y"], axis=axis), {"x": X}, dynamic=dynamic)


@pytest.mark.parametrize("shape", [[0, 3, 4], ["N", 3, 4], [None, None, None]])
def test_flatten_of_nothing(run: Callable[..., Any], model: Model, shape: list[Any]) -> None:
    (y,) = run(model(node("Flatten", ["x"], ["y"]), {"x": (1, shape)}), {"x": X[:0]})
    assert y.shape == (0, 12)


@pytest.mark.parametrize("axes", [[0], [0, -1], [2]])
@pytest.mark.parametrize("op_type", ["Squeeze", "Unsqueeze"])
@pytest.mark.parametrize("dynamic", [True, False])
def test_squeeze_and_unsqueeze(
    check: Callable[..., Any], axes: list[int], op_type: str, dynamic: bool
) -> None:
    inputs = {"x": np.arange(6, dtype=np.float32).reshape(1, 3, 1, 2, 1)}
    check(node(op_type, ["x"], ["y"], axes=axes), inputs, opset=11, dynamic=dynamic)
    constants = {"a": np.array(axes)}
    check(node(op_type, ["x", "a"], ["y"]), inputs, constants=constants, dynamic=dynamic)


@pytest.mark.parametrize("op_type", ["Squeeze", "Unsqueeze", "Flatten"])
def test_a_constant_is_reshaped_at_once(model: Model, op_type: str) -> None:
    data = np.arange(3, dtype=np.float32).reshape(1, 3)
    attributes = {} if op_type == "Flatten" else {"axes": [0]}
    nodes = [node(op_type, ["w"], ["r"], **attributes), node("Add", ["x", "r"], ["y"])]
    made = model(nodes, {"x": (1, [2, 1, 3])}, opset=11, constants={"w": data})
    network = parse(made.SerializeToString())
    assert [layer.type for layer in network.layers if layer.data is None] == [
        "Input",
        "ElementwiseBinary",
        "Output",
    ]
    expected = {"Squeeze": (3,), "Unsqueeze": (1, 1, 3), "Flatten": (1, 3)}[op_type]
    (addition,) = (layer for layer in network.layers if layer.type == "ElementwiseBinary")
    np.testing.assert_array_equal(addition.inputs[1].constant, data.reshape(expected))


@pytest.mark.parametrize("op_type", ["Squeeze", "Unsqueeze"])
def test_no_axes_change_nothing(check: Callable[..., Any], op_type: str) -> None:
    constants = {"a": np.zeros(0, np.int64)}
    check(node(op_type, ["x", "a"], ["y"]), {"x": X}, constants=constants, dynamic=True)


def test_squeeze_without_axes_drops_all_ones(check: Callable[..., Any]) -> None:
    x = np.arange(6, dtype=np.float32).reshape(1, 3, 1, 2, 1)
    check(node("Squeeze", ["x"], ["y"]), {"x": x})


@pytest.mark.parametrize("perm", [None, [0, 2, 1], [2, 0, 1]])
def test_transpose(check: Callable[..., Any], perm: list[int] | None) -> None:
    attributes = {} if perm is None else {"perm": perm}
    check(node("Transpose", ["x"], ["y"], **attributes), {"x": X}, dynamic=True)


@pytest.mark.parametrize("shape", [[2, 3, 4], [5, 1, 3, 1], [1], [3, 4], []])
@pytest.mark.parametrize("constant", [True, False])
def test_expand_goes_both_ways(check: Callable[..., Any], shape: list[int], constant: bool) -> None:
    x = X[:1]
    given = {"s": np.array(shape, np.int64)}
    inputs = {"x": x} if constant else {"x": x, **given}
    check(node("Expand", ["x", "s"], ["y"]), inputs, constants=given if constant else {})


@pytest.mark.parametrize("constant", [True, False])
def test_tile(check: Callable[..., Any], constant: bool) -> None:
    given = {"r": np.array([2, 1, 3])}
    inputs = {"x": X} if constant else {"x": X, **given}
    check(node("Tile", ["x", "r"], ["y"]), inputs, constants=given if constant else {})


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("dynamic", [True, False])
def test_depth_to_space_and_back(
    run: Callable[..., Any], model: Model, rng: np.random.Generator, mode: str, dynamic: bool
) -> None:
    x = rng.standard_normal((2, 12, 3, 2)).astype(np.float32)
    split = (2, 2, 2, 3, 3, 2) if mode == "DCR" else (2, 3, 2, 2, 3, 2)
    order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)
    expected = x.reshape(split).transpose(order).reshape(2, 3, 6, 4)
    nodes = [
        node("DepthToSpace", ["x"], ["y"], blocksize=2, mode=mode),
        node("SpaceToDepth", ["y"], ["z"], blocksize=2, mode=mode),
    ]
    shape = ["N", 12, "H", "W"] if dynamic else x.shape
    y, z = run(model(nodes, {"x": (1, shape)}, ["y", "z"], opset=28), {"x": x})
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, x)


@pytest.mark.parametrize("to", ["int32", "int64", "uint8", "bool", "float16", "float64"])
def test_casts(check: Callable[..., Any], to: str) -> None:
    x = np.array([-1.9, -0.5, 0.0, 0.5, 1.9, 100], np.float32)
    x = np.abs(x) if to.startswith("u") else x
    element = helper.np_dtype_to_tensor_dtype(np.dtype(to))
    check(node("Cast", ["x"], ["y"], to=element), {"x": x})
    check(node("CastLike", ["x", "l"], ["y"]), {"x": x}, constants={"l": np.zeros(1, to)})


def test_narrow_floats_saturate_unless_they_are_not_to(
    run: Callable[..., Any], model: Model
) -> None:
    x = np.array([1e6, -1e6, 447, np.nan], np.float32)
    for saturate, expected in ((1, [448, -448, 448, np.nan]), (0, [np.nan, np.nan, 448, np.nan])):
        cast = node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E4M3FN, saturate=saturate)
        (y,) = run(model(cast, {"x": x}), {"x": x})
        assert y.dtype == ml_dtypes.float8_e4m3fn
        np.testing.assert_array_equal(y.astype(np.float32), expected)


def test_a_cast_to_the_same_type_is_no_layer(model: Model) -> None:
    made = model(node("Cast", ["x"], ["y"], to=TensorProto.FLOAT), {"x": X})
    assert types_of(made) == ["Input", "Output"]


@pytest.mark.parametrize(
    ("made", "shape", "message"),
    [
        (node("Reshape", ["x", "a"], ["y"], allowzero=1), [0], "a 0 that allowzero keeps, and"),
        (node("Reshape", ["x", "b"], ["y"]), [2, 3], r"\(Reshape\): .*expected as many"),
        (node("Reshape", ["x", "c"], ["y"]), [2, 3], r"\(Reshape\): .*'target_shape' is \(-2"),
        (node("Reshape", ["x", "m"], ["y"]), [4], "the input 'shape' has shape .*in a list"),
        (node("Reshape", ["x", "long"], ["y"]), [4], "expected up to 8 numbers in a list"),
        (node("Flatten", ["x"], ["y"], axis=3), [2, 3], "the axis 3 is not in a tensor of rank 2"),
        (node("Squeeze", ["x", "z"], ["y"]), [2, 1], "the axis 0 has 2 elements: expected one"),
        (node("Squeeze", ["x", "z"], ["y"]), [], "the axis 0 is not an axis of a tensor of rank 0"),
        (node("Unsqueeze", ["x", "zz"], ["y"]), [2], r"the axes \[0, 0\] name an axis twice"),
        (node("Unsqueeze", ["x", "far"], ["y"]), [2], "the axis 5 is not an axis of a tensor"),
        (node("Transpose", ["x"], ["y"], perm=[0, 0]), [2, 3], r"\(Transpose\): .*dim_mappings"),
        (node("Expand", ["x", "b"], ["y"]), [2, 3], r"\(Expand\): .*do not broadcast"),
        (node("Tile", ["x", "b"], ["y"]), [2, 3, 4], r"\(Tile\): .*expected 3 of them"),
        (node("DepthToSpace", ["x"], ["y"], blocksize=0), [1, 4, 1, 1], "'blocksize' is 0"),
        (node("DepthToSpace", ["x"], ["y"], blocksize=2), [4, 1, 1], "rank 3: expected 4"),
        (node("DepthToSpace", ["x"], ["y"], blocksize=2), [1, 3, 1, 1], "cannot be divided"),
        (
            node("SpaceToDepth", ["x"], ["y"], blocksize=2, mode="CRD"),
            [1, 2**20, 2, 2],
            "the input has 4194304 channels: expected at most",
        ),
        (node("Cast", ["x"], ["y"], to=TensorProto.STRING), [2], "tensors of string are not supp"),
        (node("BitCast", ["x"], ["y"], to=TensorProto.INT16), [2], "has 16 bits: expected 32"),
    ],
)
def test_what_cannot_be_reshaped_is_refused(
    model: Model, made: onnx.NodeProto, shape: list[Any], message: str
) -> None:
    constants = {
        "a": np.array([0, -1]),
        "b": np.array([4, 2]),
        "c": np.array([-2]),
        "m": np.array([[1]]),
        "long": np.ones(9, np.int64),
        "z": np.array([0]),
        "zz": np.array([0, 0]),
        "far": np.array([5]),
    }
    with pytest.raises(ParseError, match=message):
        parse(model(made, {"x": (1, shape)}, constants=constants, opset=28).SerializeToString())


def test_axes_that_are_missing_are_refused(model: Model) -> None:
    with pytest.raises(ParseError, match="the input 'axes' is missing"):
        parse(model(node("Unsqueeze", ["x", ""], ["y"]), {"x": X}).SerializeToString())


ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("mode", "dynamic"),
    [
        *itertools.product(["constant", "reflect", "edge", "wrap"], [True, False]),
    ],
)
@pytest.mark.parametrize("pads", [[1, 2, 2, 1], [0, 0, 0, 0], [0, 3, 0, 0], [-1, 2, 1, -1]])
def test_every_mode_pads_as_numpy_does(
    run: Callable[..., Any], model: Model, mode: str, pads: list[int], dynamic: bool
) -> None:
    crops = [max(-pad, 0) for pad in pads]
    kept = ROWS[crops[0] : 3 - crops[2], crops[1] : 4 - crops[3]]
    widths = [(max(pads[axis], 0), max(pads[axis + 2], 0)) for axis in (0, 1)]
    fill = {"constant_values": 7} if mode == "constant" else {}
    expected = np.pad(kept, widths, mode, **fill)
    constants = {"p": np.array(pads), "v": np.array(7, np.float32)}
    shape = [None, "W"] if dynamic else ROWS.shape
    made = model(
        node("Pad", ["x", "p", "v"], ["y"], mode=mode), {"x": (1, shape)}, constants=constants
    )
    (y,) = run(made, {"x": ROWS})
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize(
    "pads", [[4, 0, 0, 0], [0, 4, 0, 9], [7, 0, 6, 3], [3, 8, 6, 4], [-1, 5, 4, -1]]
)
def test_wrapping_goes_around_as_often_as_it_takes(
    run: Callable[..., Any], model: Model, pads: list[int], dynamic: bool
) -> None:
    def places(axis: int, size: int) -> list[int]:
        first, last = max(-pads[axis], 0), size - max(-pads[axis + 2], 0)
        kept = range(first, last)
        before, after = max(pads[axis], 0), max(pads[axis + 2], 0)
        return [kept[at % len(kept)] for at in range(-before, len(kept) + after)]

    shape = [None, "W"] if dynamic else ROWS.shape
    wrap = node("Pad", ["x", "p"], ["y"], mode="wrap")
    (y,) = run(model(wrap, {"x": (1, shape)}, constants={"p": np.array(pads)}), {"x": ROWS})
    np.testing.assert_array_equal(y, ROWS[np.ix_(places(0, 3), places(1, 4))])


@pytest.mark.parametrize("dynamic", [True, False])
def test_pads_of_all_axes_and_of_some(check: Callable[..., Any], dynamic: bool) -> None:
    every, some = {"p": np.array([1, 0, 2, 1])}, {"p": np.array([1, 2]), "a": np.array([-1])}
    check(node("Pad", ["x", "p"], ["y"]), {"x": ROWS}, constants=every, opset=11, dynamic=dynamic)
    check(node("Pad", ["x", "p", "", "a"], ["y"]), {"x": ROWS}, constants=some, dynamic=dynamic)


def test_pads_as_attributes(run: Callable[..., Any], model: Model) -> None:
    pad = node("Pad", ["x"], ["y"], pads=[1, 0, 2, 1], value=2.5)
    (y,) = run(model(pad, {"x": ROWS}, opset=7), {"x": ROWS})
    np.testing.assert_array_equal(y, np.pad(ROWS, [(1, 2), (0, 1)], constant_values=2.5))


@pytest.mark.parametrize("mode", ["constant", "reflect"])
def test_computed_pads(check: Callable[..., Any], mode: str) -> None:
    inputs = {"x": ROWS, "p": np.array([1, 0, 2, 1]), "v": np.array(3, np.float32)}
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
        ("wrap", {"p": [1, 0, 0, 0]}, [0, 4], "it wraps 1 elements of an axis of 0"),
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
