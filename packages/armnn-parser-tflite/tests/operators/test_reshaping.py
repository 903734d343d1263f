# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError
from armnn_parser_tflite.parser import parse


def _x(rng: np.random.Generator, *shape: int) -> Any:
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("target", [(4, 3), (-1, 2), (12,), (2, -1, 1, 2)])
def test_reshape(lite: Any, rng: np.random.Generator, target: tuple[int, ...]) -> None:
    tensors = {"s": lite.constant(np.int32(target))}
    lite.check(lite.Op("RESHAPE", ["x", "s"]), tensors, {"x": _x(rng, 2, 3, 2)})


def test_older_files_say_the_shape_in_the_options(lite: Any, rng: np.random.Generator) -> None:
    options = {"newShape": [3, 4]}
    lite.check(lite.Op("RESHAPE", ["x"], options=options), {}, {"x": _x(rng, 2, 6)})


def test_a_scalar_is_one_zero_in_older_files(lite: Any) -> None:
    model = lite.build(
        lite.Op("RESHAPE", ["x"], options={"newShape": [0]}),
        {"x": lite.Tensor(shape=(1, 1)), "y": lite.Tensor()},
    )
    assert lite.run(model, {"x": np.float32([[3]])})["y"].shape == ()


def test_a_computed_shape(lite: Any, rng: np.random.Generator) -> None:
    lite.check(
        [lite.Op("SHAPE", ["o"], ["d"], {"outType": 2}), lite.Op("RESHAPE", ["x", "d"])],
        {"d": lite.Tensor("int32", (2,))},
        {"x": _x(rng, 2, 6), "o": np.zeros((3, 4), np.float32)},
    )


@pytest.mark.parametrize("axes", [[], [0], [-1], [0, 2]])
def test_squeeze(lite: Any, rng: np.random.Generator, axes: list[int]) -> None:
    options = {"squeezeDims": axes} if axes else {}
    lite.check(lite.Op("SQUEEZE", ["x"], options=options), {}, {"x": _x(rng, 1, 3, 1)})


def test_an_axis_of_several_elements_is_not_squeezed(lite: Any) -> None:
    """LiteRT refuses it, too; Arm NN keeps such axes."""
    options = {"squeezeDims": [0, 1]}
    tensors = {"x": lite.Tensor(shape=(1, 2, 2)), "y": lite.Tensor(shape=(2, 2))}
    with pytest.raises(ParseError, match=r"SQUEEZE .*: the input of shape .* has 4 elements"):
        parse(lite.build(lite.Op("SQUEEZE", ["x"], options=options), tensors))


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_expand_dims(lite: Any, rng: np.random.Generator, axis: int) -> None:
    tensors = {"a": lite.constant(np.int32([axis]))}
    lite.check(lite.Op("EXPAND_DIMS", ["x", "a"]), tensors, {"x": _x(rng, 2, 3)})


@pytest.mark.parametrize(("name", "shape"), [("SQUEEZE", (3, 1, 5)), ("EXPAND_DIMS", (3, 4, 5))])
def test_unknown_axes_stay_unknown(
    lite: Any, rng: np.random.Generator, name: str, shape: tuple[int, ...]
) -> None:
    x = _x(rng, *shape)
    model = lite.build(
        lite.Op(name, ["x", "a"], options={"squeezeDims": [1]} if name == "SQUEEZE" else {}),
        {
            "x": lite.Tensor(shape=(1, shape[1], 1), signature=(-1, shape[1], -1)),
            "a": lite.constant(np.int32([1])),
            "y": lite.Tensor(),
        },
    )
    expected = x[:, 0] if name == "SQUEEZE" else x[:, None]
    np.testing.assert_array_equal(lite.run(model, {"x": x})["y"], expected)


def test_transpose(lite: Any, rng: np.random.Generator) -> None:
    tensors = {"p": lite.constant(np.int32([2, 0, 1]))}
    lite.check(lite.Op("TRANSPOSE", ["x", "p"]), tensors, {"x": _x(rng, 2, 3, 4)})


def test_pad_with_zeros(lite: Any, rng: np.random.Generator) -> None:
    tensors = {"p": lite.constant(np.int32([[1, 0], [0, 2]]))}
    lite.check(lite.Op("PAD", ["x", "p"]), tensors, {"x": _x(rng, 2, 3)})


def test_int8_pads_with_the_zero_point(lite: Any) -> None:
    x = np.int8([[5, 6]])
    info = {"scale": 0.1, "zero_point": -7}
    tensors = {
        "x": lite.Tensor("int8", x.shape, **info),
        "p": lite.constant(np.int32([[0, 0], [1, 1]])),
        "y": lite.Tensor("int8", (1, 4), **info),
    }
    results = lite.check(lite.Op("PAD", ["x", "p"], version=2), tensors, {"x": x})
    assert results["y"].tolist() == [[-7, 5, 6, -7]]


def test_int8_pads_with_a_stored_value(lite: Any) -> None:
    x = np.int8([[5, 6]])
    info = {"scale": 0.1, "zero_point": -7}
    tensors = {
        "x": lite.Tensor("int8", x.shape, **info),
        "p": lite.constant(np.int32([[0, 0], [1, 1]])),
        "v": lite.constant(np.int8([9]), **info),
        "y": lite.Tensor("int8", (1, 4), **info),
    }
    results = lite.check(lite.Op("PADV2", ["x", "p", "v"], version=2), tensors, {"x": x})
    assert results["y"].tolist() == [[9, 5, 6, 9]]


@pytest.mark.parametrize("mode", [0, 1])
def test_mirror_pad(lite: Any, rng: np.random.Generator, mode: int) -> None:
    tensors = {"p": lite.constant(np.int32([[1, 0], [2, 1]]))}
    lite.check(
        lite.Op("MIRROR_PAD", ["x", "p"], options={"mode": mode}), tensors, {"x": _x(rng, 3, 4)}
    )


def test_another_mirror_is_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(3,)),
        "p": lite.constant(np.int32([[1, 0]])),
        "y": lite.Tensor(),
    }
    with pytest.raises(ParseError, match=r"the mode is 5: expected REFLECT \(0\) or SYMMETRIC"):
        parse(lite.build(lite.Op("MIRROR_PAD", ["x", "p"], options={"mode": 5}), tensors))


def test_tile(lite: Any, rng: np.random.Generator) -> None:
    tensors = {"m": lite.constant(np.int32([2, 3]))}
    lite.check(lite.Op("TILE", ["x", "m"]), tensors, {"x": _x(rng, 2, 2)})


def test_broadcast_to(lite: Any, rng: np.random.Generator) -> None:
    tensors = {"s": lite.constant(np.int32([2, 3, 4]))}
    lite.check(lite.Op("BROADCAST_TO", ["x", "s"], version=2), tensors, {"x": _x(rng, 3, 1)})


def test_reverse_v2(lite: Any, rng: np.random.Generator) -> None:
    tensors = {"a": lite.constant(np.int32([1]))}
    lite.check(lite.Op("REVERSE_V2", ["x", "a"]), tensors, {"x": _x(rng, 2, 3)})


def test_reverse_sequence(lite: Any, rng: np.random.Generator) -> None:
    lite.check(
        lite.Op("REVERSE_SEQUENCE", ["x", "l"], options={"seqDim": 1, "batchDim": 0}),
        {"l": lite.constant(np.int32([2, 4, 1]))},
        {"x": _x(rng, 3, 4, 2)},
    )


@pytest.mark.parametrize(
    ("name", "shape"), [("SPACE_TO_DEPTH", (1, 4, 6, 3)), ("DEPTH_TO_SPACE", (1, 2, 3, 8))]
)
def test_space_and_depth(
    lite: Any, rng: np.random.Generator, name: str, shape: tuple[int, ...]
) -> None:
    lite.check(lite.Op(name, ["x"], options={"blockSize": 2}), {}, {"x": _x(rng, *shape)})


def test_a_block_of_nothing_is_refused(lite: Any) -> None:
    tensors = {"x": lite.Tensor(shape=(1, 4, 4, 1)), "y": lite.Tensor()}
    with pytest.raises(ParseError, match="the block size is 0: expected 1 to"):
        parse(lite.build(lite.Op("SPACE_TO_DEPTH", ["x"], options={"blockSize": 0}), tensors))


def test_space_to_batch_nd(lite: Any, rng: np.random.Generator) -> None:
    tensors = {
        "b": lite.constant(np.int32([2, 3])),
        "p": lite.constant(np.int32([[1, 0], [0, 2]])),
    }
    lite.check(lite.Op("SPACE_TO_BATCH_ND", ["x", "b", "p"]), tensors, {"x": _x(rng, 2, 3, 4, 2)})


def test_batch_to_space_nd(lite: Any, rng: np.random.Generator) -> None:
    tensors = {
        "b": lite.constant(np.int32([2, 2])),
        "c": lite.constant(np.int32([[1, 0], [0, 1]])),
    }
    lite.check(lite.Op("BATCH_TO_SPACE_ND", ["x", "b", "c"]), tensors, {"x": _x(rng, 8, 3, 4, 2)})


def test_crops_that_do_not_fit_the_block_are_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(8, 3, 4, 2)),
        "b": lite.constant(np.int32([2, 2])),
        "c": lite.constant(np.int32([1, 0])),
        "y": lite.Tensor(),
    }
    with pytest.raises(ParseError, match="its input 2 has 2 numbers: expected two for each axis"):
        parse(lite.build(lite.Op("BATCH_TO_SPACE_ND", ["x", "b", "c"]), tensors))
