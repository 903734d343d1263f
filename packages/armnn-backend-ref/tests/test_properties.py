# SPDX-License-Identifier: MIT
"""Algebraic properties of CpuRef: layers that undo each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from armnn.layers.indexing import SliceDescriptor
from armnn.layers.joining import ConcatDescriptor, SplitterDescriptor
from armnn.layers.reshaping import (
    BatchToSpaceNdDescriptor,
    PadDescriptor,
    PermuteDescriptor,
    SpaceToBatchNdDescriptor,
    TransposeDescriptor,
)
from armnn.quantization import dequantize, quantize
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.ops import OPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZES = st.lists(st.integers(1, 4), min_size=3, max_size=3)


def numbered(shape: list[int]) -> NDArray[Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@given(SIZES, st.permutations(range(3)))
def test_a_transpose_is_undone_by_its_inverse(shape: list[int], order: list[int]) -> None:
    x = numbered(shape)
    turned = OPS["Transpose"].function(TransposeDescriptor(dim_mappings=tuple(order)), x)
    inverse = TransposeDescriptor(dim_mappings=tuple(map(order.index, range(3))))
    np.testing.assert_array_equal(OPS["Transpose"].function(inverse, turned), x)


@given(SIZES, st.integers(1, 3), st.integers(1, 3))
def test_space_moved_into_the_batch_comes_back(shape: list[int], rows: int, columns: int) -> None:
    n, h, w = shape
    x = numbered([n, 2, h, w])
    pads = ((1, -(h + 1) % rows), (0, -w % columns))
    there = SpaceToBatchNdDescriptor(block_shape=(rows, columns), pad_list=pads)
    back = BatchToSpaceNdDescriptor(block_shape=(rows, columns), crops=pads)
    batch = OPS["SpaceToBatchNd"].function(there, x)
    np.testing.assert_array_equal(OPS["BatchToSpaceNd"].function(back, batch), x)


@given(SIZES, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=3))
def test_a_slice_takes_back_what_a_pad_added(shape: list[int], pads: list[tuple[int, int]]) -> None:
    x = numbered(shape)
    padded = OPS["Pad"].function(PadDescriptor(pad_list=tuple(pads), pad_value=-1.0), x)
    begin = tuple(before for before, _ in pads)
    back = SliceDescriptor(begin=begin, size=tuple(shape))
    np.testing.assert_array_equal(OPS["Slice"].function(back, padded), x)


@given(SIZES, st.integers(-3, 2), st.data())
def test_joining_the_parts_of_a_split_gives_the_whole(
    shape: list[int], axis: int, data: st.DataObject
) -> None:
    x = numbered(shape)
    first = data.draw(st.integers(0, shape[axis]))
    sizes = (first, shape[axis] - first)
    parts = OPS["Splitter"].function(SplitterDescriptor(axis=axis, sizes=sizes), x)
    np.testing.assert_array_equal(OPS["Concat"].function(ConcatDescriptor(axis=axis), *parts), x)


@given(SIZES, st.permutations(range(3)))
def test_a_permutation_is_the_transpose_by_its_inverse(shape: list[int], order: list[int]) -> None:
    x = numbered(shape)
    moved = OPS["Permute"].function(PermuteDescriptor(dim_mappings=tuple(order)), x)
    inverse = TransposeDescriptor(dim_mappings=tuple(map(order.index, range(3))))
    np.testing.assert_array_equal(moved, OPS["Transpose"].function(inverse, x))


QUANTIZED = [DataType.QASYMM_U8, DataType.QASYMM_S8, DataType.QSYMM_S8, DataType.QSYMM_S16]


@given(st.sampled_from(QUANTIZED), st.floats(2**-8, 4, width=32), st.integers(-128, 127))
def test_stored_values_survive_being_read_and_stored_again(
    data_type: DataType, scale: float, zero_point: int
) -> None:
    limits = np.iinfo(data_type.numpy_dtype)
    stored = np.arange(limits.min, limits.max + 1).astype(data_type.numpy_dtype)
    info = TensorInfo(stored.shape, data_type, scale, zero_point)
    np.testing.assert_array_equal(quantize(dequantize(stored, info), info), stored)


@given(
    st.sampled_from(QUANTIZED),
    st.floats(2**-8, 4, width=32),
    st.integers(-100, 100),
    st.lists(st.floats(-1000, 1000, width=32), min_size=1, max_size=20),
)
def test_what_is_stored_is_the_nearest_step_in_reach(
    data_type: DataType, scale: float, zero_point: int, numbers: list[float]
) -> None:
    limits = np.iinfo(data_type.numpy_dtype)
    info = TensorInfo((len(numbers),), data_type, scale, zero_point)
    x = np.array(numbers, np.float32)
    kept = dequantize(quantize(x, info), info).astype(np.float64)
    low, high = ((limit - zero_point) * scale for limit in (limits.min, limits.max))
    error = np.abs(kept - np.clip(x.astype(np.float64), low, high))
    # Half a step, and what float32 loses of a quotient of up to 2^18.
    assert (error <= scale * (0.5 + 2.0**-5)).all()


@given(
    st.lists(st.floats(2**-8, 4, width=32), min_size=1, max_size=4),
    st.integers(0, 1),
    st.integers(1, 4),
)
def test_each_index_of_an_axis_is_stored_in_its_own_steps(
    scales: list[float], axis: int, others: int
) -> None:
    shape = (len(scales), others) if axis == 0 else (others, len(scales))
    info = TensorInfo(shape, DataType.QSYMM_S8, scales, axis=axis)
    stored = np.arange(-20, -20 + len(scales) * others, dtype=np.int8).reshape(shape)
    real = dequantize(stored, info)
    np.testing.assert_array_equal(quantize(real, info), stored)
    for index, scale in enumerate(scales):
        line = np.take(stored, index, axis)
        np.testing.assert_array_equal(np.take(real, index, axis), line * np.float32(scale))
