# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools

import numpy as np
import pytest

import armnn
from armnn.layers.reshaping import (
    BatchToSpaceNdDescriptor,
    BroadcastToDescriptor,
    ChannelShuffleDescriptor,
    DepthToSpaceDescriptor,
    PadDescriptor,
    PermuteDescriptor,
    ReshapeDescriptor,
    ReverseV2Descriptor,
    SpaceToBatchNdDescriptor,
    SpaceToDepthDescriptor,
    TileDescriptor,
    TransposeDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType, PaddingMode

NCHW, NHWC = DataLayout.NCHW, DataLayout.NHWC


def numbered(*shape, dtype=np.float32):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def to_nchw(x):
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


@pytest.mark.parametrize(
    ("shape", "target"),
    [((2, 6), (3, 4)), ((2, 3), (6,)), ((1,), ()), ((), (1, 1)), ((0, 3), (5, 0))],
)
def test_reshape_keeps_the_order(run_layer, shape, target):
    (y,) = run_layer("Reshape", [numbered(*shape)], ReshapeDescriptor(target_shape=target))
    assert y.shape == target
    assert y.ravel().tolist() == list(range(int(np.prod(shape))))


def test_reshape_reads_a_strided_input_in_the_order_of_its_axes(run_layer):
    (y,) = run_layer("Reshape", [numbered(2, 3).T], ReshapeDescriptor(target_shape=(6,)))
    assert y.tolist() == [0, 3, 1, 4, 2, 5]


def test_what_is_left_of_nothing_is_told_by_the_dimensions_that_are_not_copied(run_layer):
    """NumPy cannot tell: any number times 0 is 0."""
    d = ReshapeDescriptor(target_shape=(0, 0, 2, -1), zero_copies=True)
    (y,) = run_layer("Reshape", [numbered(4, 0, 2, 3)], d)
    assert y.shape == (4, 0, 2, 3)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_permute_and_transpose_say_the_same_from_two_sides(compute, order):
    x = numbered(2, 3, 4)
    permuted = compute(PermuteDescriptor(dim_mappings=order), x)
    transposed = compute(TransposeDescriptor(dim_mappings=order), x)
    for place in np.ndindex(*x.shape):
        moved = [0] * 3
        for axis in range(3):
            moved[order[axis]] = place[axis]
        assert permuted[tuple(moved)] == x[place]
        assert transposed[tuple(place[axis] for axis in order)] == x[place]


def test_permute_takes_scalars(compute):
    assert compute(PermuteDescriptor(), np.array(3.0)).tolist() == 3.0


def test_space_to_depth_orders_the_block_before_the_channels(compute):
    x = numbered(1, 2, 4, 2)
    y = compute(SpaceToDepthDescriptor(block_size=2), x)
    assert y.tolist() == [[[[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]]]


@pytest.mark.parametrize("block", [1, 2, 3])
def test_space_to_depth_agrees_with_onnxruntime(compute, onnx_run, block):
    x = np.random.default_rng(8).normal(size=(2, 3, 6, 12)).astype(np.float32)
    y = compute(SpaceToDepthDescriptor(block_size=block, data_layout=NCHW), x)
    np.testing.assert_array_equal(y, onnx_run("SpaceToDepth", x, blocksize=block))


@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space_agrees_with_onnxruntime(compute, onnx_run, block):
    x = np.random.default_rng(9).normal(size=(2, 36, 3, 5)).astype(np.float32)
    y = compute(DepthToSpaceDescriptor(block_size=block, data_layout=NCHW), x)
    np.testing.assert_array_equal(y, onnx_run("DepthToSpace", x, blocksize=block, mode="DCR"))


@pytest.mark.parametrize("layer", [SpaceToDepthDescriptor, DepthToSpaceDescriptor])
def test_both_layouts_move_the_same_pixels(compute, layer):
    x = numbered(2, 4, 6, 8)
    planes = compute(layer(block_size=2, data_layout=NCHW), to_nchw(x))
    np.testing.assert_array_equal(planes, to_nchw(compute(layer(block_size=2), x)))


def test_space_to_batch_takes_every_second_pixel(compute):
    x = numbered(1, 2, 4, 1)
    y = compute(SpaceToBatchNdDescriptor(block_shape=(2, 2), data_layout=NHWC), x)
    assert y[..., 0].tolist() == [[[0, 2]], [[1, 3]], [[4, 6]], [[5, 7]]]


def test_space_to_batch_pads_with_zeros(compute):
    x = 1 + numbered(1, 1, 3, 1)
    descriptor = SpaceToBatchNdDescriptor(
        block_shape=(1, 3), pad_list=((0, 0), (1, 2)), data_layout=NHWC
    )
    assert compute(descriptor, x)[..., 0].tolist() == [[[0, 3]], [[1, 0]], [[2, 0]]]


def test_space_to_batch_puts_the_block_before_the_batch(compute):
    x = numbered(2, 2, 1, 1)
    y = compute(SpaceToBatchNdDescriptor(block_shape=(2, 1), data_layout=NHWC), x)
    assert y.ravel().tolist() == [0, 2, 1, 3]


def test_space_to_batch_works_on_one_spatial_axis(compute):
    x = numbered(1, 4, 2)
    y = compute(SpaceToBatchNdDescriptor(block_shape=(2,), pad_list=((0, 0),), data_layout=NHWC), x)
    assert y.tolist() == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]


def test_batch_to_space_crops(compute):
    x = numbered(4, 1, 2, 1)
    descriptor = BatchToSpaceNdDescriptor(
        block_shape=(2, 2), crops=((1, 0), (0, 2)), data_layout=NHWC
    )
    # The uncropped plane is 0 2 1 3 over 4 6 5 7.
    assert compute(descriptor, x)[..., 0].tolist() == [[[4, 6]]]


@pytest.mark.parametrize("layout", [NCHW, NHWC])
@pytest.mark.parametrize(
    ("block", "pads"), [((2, 3), ((1, 0), (0, 2))), ((1, 2), ((0, 0), (1, 2)))]
)
def test_batch_to_space_undoes_space_to_batch(compute, layout, block, pads):
    x = numbered(2, 3, 7, 5)
    if layout is NCHW:
        x = to_nchw(x)
    blocks = compute(
        SpaceToBatchNdDescriptor(block_shape=block, pad_list=pads, data_layout=layout), x
    )
    y = compute(BatchToSpaceNdDescriptor(block_shape=block, crops=pads, data_layout=layout), blocks)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("axis", [1, -1])
def test_channel_shuffle_takes_from_each_group_in_turn(compute, axis):
    y = compute(ChannelShuffleDescriptor(num_groups=3, axis=axis), numbered(1, 6))
    assert y.tolist() == [[0, 2, 4, 1, 3, 5]]


def test_channel_shuffle_moves_whole_planes(compute):
    y = compute(ChannelShuffleDescriptor(num_groups=2, axis=1), numbered(1, 4, 2))
    assert y.tolist() == [[[0, 1], [4, 5], [2, 3], [6, 7]]]


@pytest.mark.parametrize(
    ("shape", "target"),
    [((3, 1), (2, 3, 4)), ((3, 1), (1, 4)), ((2, 3), (1,)), ((), (2, 2)), ((1, 2), (0, 2))],
)
def test_broadcast_to_agrees_with_onnxruntime(compute, onnx_run, shape, target):
    x = numbered(*shape)
    y = compute(BroadcastToDescriptor(broadcast_to_shape=target), x)
    expected = onnx_run("Expand", x, np.array(target, np.int64))
    np.testing.assert_array_equal(y, expected)
    assert y.shape == expected.shape


@pytest.mark.parametrize("multiples", [(1, 1, 1), (2, 1, 3), (1, 0, 2)])
def test_tile_agrees_with_onnxruntime(compute, onnx_run, multiples):
    x = numbered(2, 3, 2)
    y = compute(TileDescriptor(multiples=multiples), x)
    np.testing.assert_array_equal(y, onnx_run("Tile", x, np.array(multiples, np.int64)))


def test_tile_repeats_the_whole_axis_and_takes_strided_inputs(compute):
    y = compute(TileDescriptor(multiples=(1, 2)), numbered(2, 6)[:, ::3])
    assert y.tolist() == [[0, 3, 0, 3], [6, 9, 6, 9]]


PADDED = {
    PaddingMode.CONSTANT: "constant",
    PaddingMode.REFLECT: "reflect",
}


@pytest.mark.parametrize("mode", PADDED, ids=lambda mode: mode.arm_name)
def test_pad_agrees_with_onnxruntime(compute, onnx_run, mode):
    x = np.random.default_rng(10).normal(size=(2, 3, 4)).astype(np.float32)
    descriptor = PadDescriptor(pad_list=((0, 1), (2, 0), (1, 3)), pad_value=-1.5, padding_mode=mode)
    pads = np.int64([0, 2, 1, 1, 0, 3])
    expected = onnx_run("Pad", x, pads, np.array(-1.5, np.float32), mode=PADDED[mode])
    np.testing.assert_array_equal(compute(descriptor, x), expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (PaddingMode.REFLECT, [3, 2, 1, 2, 3, 2]),
        (PaddingMode.SYMMETRIC, [2, 1, 1, 2, 3, 3]),
        (PaddingMode.CONSTANT, [9, 9, 1, 2, 3, 9]),
    ],
    ids=lambda value: getattr(value, "arm_name", ""),
)
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_pad_mirrors_with_and_without_the_edge(compute, mode, expected, dtype):
    descriptor = PadDescriptor(pad_list=((2, 1),), pad_value=9, padding_mode=mode)
    y = compute(descriptor, np.array([1, 2, 3], dtype))
    assert y.dtype == dtype
    assert y.tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (np.int8, 1000.0, 127),
        (np.uint8, -1.0, 0),
        (np.int64, 2**53 + 1, 2**53 + 1),
        (np.int32, float("nan"), 0),
        (np.bool_, 1.0, True),
        (np.float32, float("-inf"), float("-inf")),
    ],
)
def test_the_value_of_pad_is_saturated_to_the_type(compute, dtype, value, expected):
    y = compute(PadDescriptor(pad_list=((1, 0),), pad_value=value), np.array([1], dtype))
    assert y.dtype == dtype
    assert y.tolist() == [expected, 1]


@pytest.mark.parametrize("mode", [PaddingMode.CONSTANT, PaddingMode.REFLECT])
def test_pad_takes_scalars(compute, mode):
    assert compute(PadDescriptor(pad_value=2.0, padding_mode=mode), np.float32(3)) == 3


def test_pad_fills_an_empty_tensor(compute):
    y = compute(PadDescriptor(pad_list=((1, 1), (0, 0)), pad_value=2.0), np.zeros((0, 2)))
    assert y.tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ([], [[0, 1, 2], [3, 4, 5]]),
        ([0], [[3, 4, 5], [0, 1, 2]]),
        ([-1], [[2, 1, 0], [5, 4, 3]]),
        ([0, 1], [[5, 4, 3], [2, 1, 0]]),
        (1, [[2, 1, 0], [5, 4, 3]]),
    ],
)
def test_reverse_turns_the_named_axes(compute, axes, expected):
    assert (
        compute(ReverseV2Descriptor(), numbered(2, 3), np.array(axes, np.int32)).tolist()
        == expected
    )


TRANSPOSED = TransposeDescriptor(dim_mappings=(1, 0))
STEPS = TensorInfo((2, 2), DataType.QASYMM_U8, 0.1, 7)


def test_stored_values_are_moved_as_they_are(run_layer):
    (y,) = run_layer("Transpose", [(np.uint8([[0, 1], [2, 255]]), STEPS)], TRANSPOSED)
    assert y.tolist() == [[0, 2], [1, 255]]
    payload = np.array([[0x7E01, 0x7C01], [0xFE00, 0x8000]], np.uint16).view(np.float16)
    (y,) = run_layer("Transpose", [payload], TRANSPOSED)
    assert y.view(np.uint16).tolist() == payload.view(np.uint16).T.tolist()


def test_another_scale_of_the_output_is_honoured(run_layer):
    result = TensorInfo((4,), DataType.QASYMM_U8, 0.2, 0)
    stored = (np.uint8([[7, 9], [11, 5]]), STEPS)  # 0, 0.2, 0.4, -0.2
    (y,) = run_layer("Reshape", [stored], ReshapeDescriptor(target_shape=(4,)), outputs=[result])
    assert y.tolist() == [0, 1, 2, 0]


def test_each_channel_keeps_its_scale_when_its_axis_moves(run_layer):
    info = TensorInfo((2, 2), DataType.QSYMM_S8, (0.5, 2.0), axis=0)
    stored = np.int8([[1, 2], [3, 4]])
    (y,) = run_layer("Transpose", [(stored, info)], TRANSPOSED)
    assert y.tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("value", "stored"), [(0.0, 7), (1.0, 17), (-0.7, 0), (1e9, 255), (-1e9, 0)]
)
def test_the_value_of_a_quantized_pad_is_a_real_one(run_layer, value, stored):
    info = TensorInfo((1,), DataType.QASYMM_U8, 0.1, 7)
    descriptor = PadDescriptor(pad_list=((1, 2),), pad_value=value)
    (y,) = run_layer("Pad", [(np.uint8([100]), info)], descriptor)
    assert y.tolist() == [stored, 100, stored, stored]


def test_quantized_space_to_batch_pads_with_the_zero_point(run_layer):
    info = TensorInfo((1, 1, 1, 1), DataType.QASYMM_S8, 0.1, -3)
    descriptor = SpaceToBatchNdDescriptor(
        block_shape=(1, 2), pad_list=((0, 0), (0, 1)), data_layout=NHWC
    )
    (y,) = run_layer("SpaceToBatchNd", [(np.int8([[[[50]]]]), info)], descriptor)
    assert y.ravel().tolist() == [50, -3]


def test_values_that_arrive_as_inputs_take_the_place_of_parameters():
    network = armnn.Network("pad and tile")
    x = network.add_input("x", TensorInfo((1, 2), DataType.QASYMM_U8, 0.5, 10))
    pads = network.add_constant(np.int64([[0, 0], [1, 0]]))
    padded = network.add_pad(x, pads, pad_value=2.0)
    tiled = network.add_tile(padded, network.add_constant(np.int64([2, 1])))
    network.add_output("y", network.add_reshape(tiled, target_shape=(-1,)))
    with armnn.Runtime() as runtime:
        loaded = runtime.load_network(runtime.optimize(network, backends=["CpuRef"]))
        y = loaded.run({"x": np.uint8([[0, 255]])})["y"]
    assert y.tolist() == [14, 0, 255, 14, 0, 255]


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
def test_depth_goes_to_space_with_the_depth_last(compute, onnx_run, layout):
    x = np.arange(2 * 12 * 2 * 3, dtype=np.float32).reshape(2, 12, 2, 3)
    expected = onnx_run("DepthToSpace", x, blocksize=2, mode="CRD")
    last = layout is DataLayout.NHWC
    d = DepthToSpaceDescriptor(block_size=2, data_layout=layout, column_row_depth=True)
    y = compute(d, np.moveaxis(x, 1, -1) if last else x)
    np.testing.assert_array_equal(np.moveaxis(y, -1, 1) if last else y, expected)


def test_depth_to_space_columns_first_of_an_empty_batch_is_empty(compute):
    d = DepthToSpaceDescriptor(block_size=2, data_layout=NHWC, column_row_depth=True)
    assert compute(d, np.zeros((0, 2, 3, 8), np.float32)).shape == (0, 4, 6, 2)
