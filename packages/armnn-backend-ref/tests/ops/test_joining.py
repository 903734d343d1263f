# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.layers.joining import ConcatDescriptor, SplitterDescriptor, StackDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_concat_agrees_with_onnxruntime(compute, onnx_run, axis):
    shapes = [[2, 3, 4] for _ in range(3)]
    for size, shape in zip((1, 0, 5), shapes, strict=True):
        shape[axis] = size
    rng = np.random.default_rng(6)
    inputs = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    y = compute(ConcatDescriptor(axis=axis), *inputs)
    np.testing.assert_array_equal(y, onnx_run("Concat", *inputs, axis=axis))


def test_concat_of_one_input_is_the_input(compute):
    x = np.int64([[1, 2], [3, 4]])
    assert compute(ConcatDescriptor(axis=1), x).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.int64])
def test_concat_keeps_the_type(compute, dtype):
    x = np.array([0, 1], dtype)
    y = compute(ConcatDescriptor(axis=0), x, x[::-1])
    assert y.dtype == dtype
    assert y.tolist() == [0, 1, 1, 0]


def test_splitter_cuts_pieces_of_different_sizes(compute):
    x = np.arange(12).reshape(2, 6)
    first, second, third = compute(SplitterDescriptor(axis=-1, sizes=(1, 3, 2)), x)
    assert first.tolist() == [[0], [6]]
    assert second.tolist() == [[1, 2, 3], [7, 8, 9]]
    assert third.tolist() == [[4, 5], [10, 11]]


def test_splitter_may_cut_an_empty_piece_or_only_one(compute):
    x = np.arange(4)
    assert [y.tolist() for y in compute(SplitterDescriptor(sizes=(0, 4)), x)] == [[], [0, 1, 2, 3]]
    assert [y.tolist() for y in compute(SplitterDescriptor(sizes=(4,)), x)] == [[0, 1, 2, 3]]


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_concat_undoes_splitter(compute, axis):
    x = np.random.default_rng(7).normal(size=(5, 5)).astype(np.float32)
    pieces = compute(SplitterDescriptor(axis=axis, sizes=(2, 3)), x)
    np.testing.assert_array_equal(compute(ConcatDescriptor(axis=axis), *pieces), x)


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (0, [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),
        (1, [[[1, 2], [5, 6]], [[3, 4], [7, 8]]]),
        (2, [[[1, 5], [2, 6]], [[3, 7], [4, 8]]]),
        (-1, [[[1, 5], [2, 6]], [[3, 7], [4, 8]]]),
        (-3, [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),
    ],
)
def test_stack_makes_a_new_axis(compute, axis, expected):
    x, y = np.arange(1, 9).reshape(2, 2, 2)
    assert compute(StackDescriptor(axis=axis), x, y).tolist() == expected


def test_scalars_stack_to_a_vector(compute):
    assert compute(StackDescriptor(axis=0), np.array(1.5), np.array(2.5)).tolist() == [1.5, 2.5]


def test_concat_stores_inputs_of_other_scales_in_the_scale_of_the_result(run_layer):
    fine, coarse = (TensorInfo((2,), DataType.QASYMM_U8, scale, 10) for scale in (0.25, 0.5))
    result = TensorInfo((4,), DataType.QASYMM_U8, 0.5, 10)
    inputs = [(np.uint8([10, 255]), fine), (np.uint8([0, 255]), coarse)]
    (y,) = run_layer("Concat", inputs, outputs=[result])
    assert y.tolist() == [10, 133, 0, 255]  # (255 - 10) / 2 = 122.5 goes away from zero


def test_equal_scales_are_joined_and_split_as_they_are_stored(run_layer):
    info = TensorInfo((2,), DataType.QASYMM_S8, 0.1, 3)
    operands = [(np.int8([-128, 127]), info), (np.int8([0, 3]), info)]
    (joined,) = run_layer("Concat", operands)
    assert joined.tolist() == [-128, 127, 0, 3]
    (stacked,) = run_layer("Stack", operands, StackDescriptor(axis=1))
    assert stacked.tolist() == [[-128, 0], [127, 3]]
    pieces = run_layer("Splitter", operands[:1], SplitterDescriptor(sizes=(1, 1)))
    assert [piece.tolist() for piece in pieces] == [[-128], [127]]
