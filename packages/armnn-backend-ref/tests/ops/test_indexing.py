# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import armnn
from armnn.backends import ArrayHandle, ModelContext
from armnn.errors import ExecutionError
from armnn.graph import Network
from armnn.layers.indexing import (
    GatherDescriptor,
    GatherNdDescriptor,
    NonZeroDescriptor,
    ScatterNdDescriptor,
    SliceDescriptor,
    StridedSliceDescriptor,
    TensorScatterDescriptor,
)
from armnn.tensor import TensorInfo, info_of
from armnn.types import DataType, ScatterNdFunction
from armnn_backend_ref.backend import RefBackend
from armnn_backend_ref.ops import OPS


def numbered(*shape, dtype=np.float32):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", [2, [0, -1, 1], [[0], [-2]], np.zeros((0, 2), np.int64)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather_agrees_with_onnxruntime(compute, onnx_run, axis, indices, dtype):
    x, indices = numbered(3, 4, 5), np.asarray(indices, dtype)
    y = compute(GatherDescriptor(axis=axis), x, indices)
    expected = onnx_run("Gather", x, indices, axis=axis)
    np.testing.assert_array_equal(y, expected)
    assert y.shape == expected.shape


def test_gather_takes_unsigned_indices(compute):
    assert compute(GatherDescriptor(), numbered(3), np.uint8([2, 0])).tolist() == [2, 0]


@pytest.mark.parametrize("wrong", [3, -4])
def test_gather_refuses_an_index_outside_of_the_axis(compute, wrong):
    message = rf"the index {wrong} is outside of axis -1: expected -3 to 2"
    with pytest.raises(ExecutionError, match=message):
        compute(GatherDescriptor(axis=-1), numbered(2, 3), np.int32([[0, wrong]]))


def test_gather_refuses_every_index_of_an_empty_axis(compute):
    with pytest.raises(
        ExecutionError, match="the index 0 is outside of axis 0: it has no elements"
    ):
        compute(GatherDescriptor(), np.zeros((0, 3), np.float32), np.int32([0]))


@pytest.mark.parametrize(
    "indices", [[[0, 1, 2], [1, -1, -3]], [[1, 0]], [[[0]], [[-1]]], np.zeros((0, 2))]
)
def test_gather_nd_agrees_with_onnxruntime(compute, onnx_run, indices):
    x, indices = numbered(2, 3, 4), np.asarray(indices, np.int64)
    y = compute(GatherNdDescriptor(), x, indices)
    expected = onnx_run("GatherND", x, indices)
    np.testing.assert_array_equal(y, expected)
    assert y.shape == expected.shape


def test_gather_nd_with_empty_rows_repeats_the_tensor(compute):
    y = compute(GatherNdDescriptor(), numbered(2), np.zeros((3, 0), np.int32))
    assert y.tolist() == [[0, 1]] * 3


def test_gather_nd_refuses_an_index_outside_of_its_axis(compute):
    with pytest.raises(ExecutionError, match="the index 3 is outside of axis 1: expected -3 to 2"):
        compute(GatherNdDescriptor(), numbered(2, 3), np.int32([[1, 2], [0, 3]]))


ONNX_REDUCTIONS = {
    ScatterNdFunction.UPDATE: "none",
    ScatterNdFunction.ADD: "add",
    ScatterNdFunction.MAX: "max",
    ScatterNdFunction.MIN: "min",
    ScatterNdFunction.MUL: "mul",
}


@pytest.mark.parametrize("function", ONNX_REDUCTIONS, ids=lambda function: function.arm_name)
@pytest.mark.parametrize("indices", [[[0, 1], [1, 2]], [[1], [-2]], [[[0, 1, 2]]]])
def test_scatter_nd_agrees_with_onnxruntime(compute, onnx_run, function, indices):
    base, indices = numbered(2, 3, 4), np.int64(indices)
    shape = indices.shape[:-1] + base.shape[indices.shape[-1] :]
    updates = np.random.default_rng(11).normal(0, 9, shape).astype(np.float32)
    kept = base.copy()
    y = compute(ScatterNdDescriptor(function=function), base, indices, updates, None)
    expected = onnx_run("ScatterND", base, indices, updates, reduction=ONNX_REDUCTIONS[function])
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(base, kept)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (ScatterNdFunction.UPDATE, [10, 4, 30]),
        (ScatterNdFunction.ADD, [10, 27, 30]),
        (ScatterNdFunction.SUB, [10, 13, 30]),
        (ScatterNdFunction.MAX, [10, 20, 30]),
        (ScatterNdFunction.MIN, [10, 3, 30]),
        (ScatterNdFunction.MUL, [10, 240, 30]),
    ],
    ids=lambda value: getattr(value, "arm_name", ""),
)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
def test_repeated_indices_are_combined_and_the_last_update_wins(compute, function, expected, dtype):
    base, updates = np.array([10, 20, 30], dtype), np.array([3, 4], dtype)
    y = compute(ScatterNdDescriptor(function=function), base, np.int32([[1], [1]]), updates, None)
    assert y.dtype == dtype
    assert y.tolist() == expected


def test_the_last_of_many_updates_wins_also_for_rows(compute):
    updates = numbered(1000, 3)
    indices = np.zeros((1000, 1), np.int32)
    y = compute(ScatterNdDescriptor(), np.zeros((2, 3), np.float32), indices, updates, None)
    assert y.tolist() == [[2997, 2998, 2999], [0, 0, 0]]


def test_scatter_nd_without_input_writes_into_zeros(compute):
    shape, updates = np.int32([2, 3]), np.float32([5, 7])
    descriptor = ScatterNdDescriptor(function=ScatterNdFunction.ADD)
    y = compute(descriptor, None, np.int32([[0, 2], [0, 2]]), updates, shape)
    assert y.tolist() == [[0, 0, 12], [0, 0, 0]]


def test_scatter_nd_writes_slices_without_elements(compute):
    base, updates = np.zeros((3, 0), np.float32), np.zeros((1, 0), np.float32)
    assert compute(ScatterNdDescriptor(), base, np.int32([[1]]), updates, None).shape == (3, 0)


def test_scatter_nd_propagates_nan(compute):
    descriptor = ScatterNdDescriptor(function=ScatterNdFunction.MAX)
    y = compute(descriptor, np.float32([1, 2]), np.int32([[0]]), np.float32([np.nan]), None)
    np.testing.assert_array_equal(y, np.float32([np.nan, 2]))


def test_scatter_nd_refuses_an_index_outside_of_its_axis(compute):
    with pytest.raises(ExecutionError, match="the index -3 is outside of axis 0: expected -2 to 1"):
        compute(ScatterNdDescriptor(), numbered(2), np.int32([[-3]]), np.float32([1]), None)


def test_slice_cuts_a_box_out(compute):
    y = compute(SliceDescriptor(begin=(1, 0, 2), size=(1, 2, -1)), numbered(2, 3, 4))
    assert y.tolist() == [[[14, 15], [18, 19]]]


def test_slice_may_be_empty_or_the_whole(compute):
    x = numbered(2, 3)
    assert compute(SliceDescriptor(begin=(2, 0), size=(0, 3)), x).shape == (0, 3)
    assert compute(SliceDescriptor(begin=(0, 0), size=(-1, 3)), x).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("parameters", "index"),
    [
        ({"begin": (1,), "end": (3,), "stride": (1,)}, np.s_[1:3]),
        ({"begin": (-1, 0), "end": (-9, 4), "stride": (-2, 3)}, np.s_[::-2, ::3]),
        ({"begin": (9, 1), "end": (0, 9), "stride": (-1, 1)}, np.s_[3:0:-1, 1:]),
        ({"begin": (2, 2), "end": (2, 1), "stride": (1, 1)}, np.s_[2:2, 2:1]),
        (
            {"begin": (2, 2), "end": (1, 1), "stride": (1, -1), "begin_mask": 1, "end_mask": 2},
            np.s_[:1, 2::-1],
        ),
        (
            {"begin": (1, -2), "end": (2, 0), "stride": (1, 1), "shrink_axis_mask": 2},
            np.s_[1:2, -2],
        ),
        (
            {"begin": (1, 7, 2), "end": (2, 7, 3), "stride": (1, 7, 1), "ellipsis_mask": 2},
            np.s_[1:2, ..., 2:3],
        ),
        (
            {"begin": (0, 1), "end": (0, 3), "stride": (1, 2), "new_axis_mask": 1},
            np.s_[None, 1:3:2],
        ),
        (
            {
                "begin": (0, 0, 0, 1),
                "end": (0, 0, 0, 0),
                "stride": (1, 1, 1, 1),
                "ellipsis_mask": 2,
                "new_axis_mask": 4,
                "shrink_axis_mask": 9,
            },
            np.s_[0, ..., None, 1],
        ),
        ({}, np.s_[:]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_strided_slice_is_the_index_that_its_masks_say(compute, parameters, index):
    x = numbered(4, 5, 6)
    y = compute(StridedSliceDescriptor(**parameters), x)
    np.testing.assert_array_equal(y, x[index])
    assert y.shape == x[index].shape


@pytest.mark.parametrize("shape", [(2, 3), (4,), (2, 0)])
def test_non_zero_agrees_with_onnxruntime(compute, onnx_run, shape):
    x = numbered(*shape) % 2
    np.testing.assert_array_equal(compute(NonZeroDescriptor(), x), onnx_run("NonZero", x))


def test_non_zero_of_a_scalar_has_no_rows(compute):
    # As ONNX says; onnxruntime takes a scalar for a vector of one element.
    assert compute(NonZeroDescriptor(), np.array(5.0)).shape == (0, 1)
    assert compute(NonZeroDescriptor(), np.array(0.0)).shape == (0, 0)


def test_non_zero_finds_nan_and_true_in_row_major_order(compute):
    x = np.float32([[0, np.nan], [-0.0, 2]])
    assert compute(NonZeroDescriptor(), x).tolist() == [[0, 1], [1, 1]]
    assert compute(NonZeroDescriptor(), np.array([False, True])).tolist() == [[1]]


def test_gather_moves_stored_values(run_layer):
    info = TensorInfo((3,), DataType.QASYMM_S8, 0.1, 5)
    (y,) = run_layer("Gather", [(np.int8([-128, 0, 127]), info), np.int64([2, -3])])
    assert y.tolist() == [127, -128]


def test_gather_works_on_an_axis_of_scales(run_layer):
    info = TensorInfo((2, 2), DataType.QSYMM_S8, (0.5, 2.0), axis=0)
    result = TensorInfo((3, 2), DataType.QSYMM_S8, 0.5)
    stored = (np.int8([[1, 2], [3, 4]]), info)
    (y,) = run_layer("Gather", [stored, np.int32([1, 0, 1])], outputs=[result])
    assert y.tolist() == [[12, 16], [1, 2], [12, 16]]


def test_scatter_nd_adds_quantized_updates_of_another_scale(run_layer):
    base = (np.uint8([10, 250]), TensorInfo((2,), DataType.QASYMM_U8, 0.5, 10))
    updates = (np.uint8([8, 80]), TensorInfo((2,), DataType.QASYMM_U8, 0.25, 0))
    descriptor = ScatterNdDescriptor(function=ScatterNdFunction.ADD)
    operands = [base, np.int32([[0], [1]]), updates, None]
    (y,) = run_layer("ScatterNd", operands, descriptor, outputs=[base[1]])
    assert y.tolist() == [14, 255]


@pytest.fixture
def load():
    """Load a network on CpuRef through the public interface."""
    with armnn.Runtime() as runtime:
        yield lambda network: runtime.load_network(runtime.optimize(network, backends=["CpuRef"]))


def test_non_zero_of_quantized_values_looks_for_what_is_not_the_zero_point(load):
    network = armnn.Network("find")
    x = network.add_input("x", TensorInfo((3,), DataType.QASYMM_U8, 0.1, 7))
    network.add_output("y", network.add_non_zero(x))
    assert load(network).run({"x": np.uint8([0, 7, 8])})["y"].tolist() == [[0, 2]]


def test_an_index_that_arrives_at_run_time_is_checked(load):
    network = armnn.Network("pick")
    x = network.add_input("x", TensorInfo((3,)))
    indices = network.add_input("indices", TensorInfo((2,), DataType.SIGNED32))
    network.add_output("y", network.add_gather(x, indices, name="pick"))
    loaded = load(network)
    values = np.float32([1, 2, 3])
    assert loaded.run({"x": values, "indices": np.int32([2, -3])})["y"].tolist() == [3, 1]
    with pytest.raises(ExecutionError, match=r"'pick' .*the index 3 is outside of axis 0"):
        loaded.run({"x": values, "indices": np.int32([0, 3])})


def test_slices_and_scatters_follow_each_other_in_a_network(load):
    network = armnn.Network("shift")
    x = network.add_input("x", TensorInfo((2, 4), DataType.SIGNED64))
    tail = network.add_strided_slice(x, begin=(0, 1), end=(0, 0), stride=(1, 2), end_mask=3)
    indices = network.add_constant(np.int32([[1]]))
    row = network.add_slice(x, begin=(0, 1), size=(1, 2))
    network.add_output("y", network.add_scatter_nd(tail, indices, row))
    x = np.int64([[1, 2, 3, 2**60 + 1], [5, 6, 7, 8]])
    assert load(network).run({"x": x})["y"].tolist() == [[2, 2**60 + 1], [2, 3]]


def scattered(x, updates, positions, axis, mode):
    names = ["x", "u"] if positions is None else ["x", "u", "p"]
    made = helper.make_node("TensorScatter", names, ["y"], axis=axis, mode=mode)
    graph = helper.make_graph(
        [made],
        "g",
        [helper.make_tensor_value_info(name, 0, None) for name in names],
        [helper.make_tensor_value_info("y", 0, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
    feeds = dict(zip(names, (x, updates, positions), strict=False))
    return ReferenceEvaluator(model).run(None, feeds)[0]


@pytest.mark.parametrize(
    ("axis", "positions", "mode"),
    [(-2, [3, 0], "linear"), (2, None, "linear"), (-1, [0, 1], "linear"), (2, [4, 13], "circular")],
)
def test_rows_of_a_cache_agree_with_the_onnx_reference(compute, axis, positions, mode):
    rng = np.random.default_rng(0)
    x, updates = rng.random((2, 3, 5, 4)), rng.random((2, 3, 2, 4))
    if axis == -1:
        updates = rng.random((2, 3, 5, 2))
    at = None if positions is None else np.array(positions)
    d = TensorScatterDescriptor(axis=axis, circular=mode == "circular")
    np.testing.assert_array_equal(compute(d, x, updates, at), scattered(x, updates, at, axis, mode))


@pytest.mark.parametrize("positions", [[0, 4], [-1, 0], [2**62, 0]])
def test_rows_outside_of_a_cache_are_an_error_and_nothing_is_written(positions):
    x, updates = np.zeros((2, 5, 3), np.float32), np.ones((2, 2, 3), np.float32)
    run = OPS["TensorScatter"].function
    d = TensorScatterDescriptor(axis=1)
    wrong = next(p for p in positions if not 0 <= p <= 3)
    with pytest.raises(ExecutionError, match=f"2 rows from position {wrong} on do not fit .* 5 of"):
        run(d, x, updates, np.array(positions), out=x)
    assert not x.any()


class Untouched(np.ndarray):
    """An array that counts the elements that are written."""

    written = 0

    def __setitem__(self, index, value):
        Untouched.written += np.asarray(value).size
        super().__setitem__(index, value)


@pytest.mark.parametrize("is_same", [True, False])
def test_a_cache_in_place_has_only_its_new_rows_written(is_same):
    x = np.zeros((2, 3, 50, 4), np.float32)
    out = (x if is_same else np.empty_like(x)).view(Untouched)
    Untouched.written = 0
    new = np.ones((2, 3, 1, 4), np.float32)
    OPS["TensorScatter"].function(TensorScatterDescriptor(), x, new, np.array([49, 7]), out=out)
    assert out.sum() == 24
    assert Untouched.written == (24 if is_same else 24 + x.size)


def test_a_workload_writes_into_the_memory_of_its_input():
    network = Network()
    cache = np.zeros((1, 4, 2), np.float32)
    x, updates = (
        network.add_input("x", info_of(cache)),
        network.add_input("u", TensorInfo((1, 1, 2))),
    )
    at = network.add_input("p", TensorInfo((1,), DataType.SIGNED64))
    layer = network.add("TensorScatter", [x, updates, at])
    given = cache, np.float32([[[5, 6]]]), np.array([2])
    handles = [
        ArrayHandle(value.info, each) for value, each in zip(layer.inputs, given, strict=True)
    ]
    RefBackend().create_workload(layer, ModelContext({})).bind(handles, handles[:1])()
    assert cache.tolist() == [[[0, 0], [0, 0], [5, 6], [0, 0]]]
