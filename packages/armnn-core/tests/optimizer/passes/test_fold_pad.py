# SPDX-License-Identifier: MIT
"""Zeros of a Pad become padding of the window."""

from __future__ import annotations

import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import (
    DataLayout,
    DataType,
    OutputShapeRounding,
    PaddingMethod,
    PaddingMode,
    PoolingAlgorithm,
)

fold_pad = named_pass("fold_pad")

RANDOM = np.random.default_rng(13)
AROUND = {
    DataLayout.NCHW: ((0, 0), (0, 0), (1, 2), (3, 0)),
    DataLayout.NHWC: ((0, 0), (1, 2), (3, 0), (0, 0)),
}
SHAPE = {DataLayout.NCHW: ("N", 3, 5, 6), DataLayout.NHWC: ("N", 5, 6, 3)}
NCHW = DataLayout.NCHW


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def padded(
    network: Network, layout: DataLayout = NCHW, *, shape: tuple | None = None, **options
) -> Value:
    x = network.add_input("x", TensorInfo(shape or SHAPE[layout]))
    options.setdefault("pad_list", AROUND[layout])
    return network.add_pad(x, name="pad", **options)


def convolved(network: Network, value: Value, layout: DataLayout = NCHW, **options) -> None:
    weights = numbers(2, 3, 3, 2) if layout is NCHW else numbers(2, 3, 2, 3)
    network.add_output(
        "y", network.add_convolution2d(value, weights, data_layout=layout, name="main", **options)
    )


def pooled(network: Network, value: Value, **options) -> None:
    settings = {
        "pool_type": PoolingAlgorithm.AVERAGE,
        "pool_width": 3,
        "pool_height": 2,
        "stride_x": 2,
        "stride_y": 1,
        **options,
    }
    network.add_output("y", network.add_pooling2d(value, name="main", **settings))


def folds(network: Network, compute) -> bool:
    """Run the pass and check that the results stay."""
    shape = [2 if dim == "N" else dim for dim in network.inputs[0].output.info.shape]
    feeds = {"x": numbers(*shape)}
    for layer in network.topological_order():  # the oracle of poolings needs the whole shape
        if layer.type == "Input":
            layer.output.info = layer.output.info.with_shape(shape)
        else:
            network.replace_descriptor(layer, layer.descriptor)
    expected = compute(network, feeds)
    infos = [layer.input_infos for layer in network.outputs]
    changes = fold_pad(network)
    for name, array in compute(network, feeds).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-6, atol=1e-9)
    assert [layer.input_infos for layer in network.outputs] == infos
    assert fold_pad(network) == 0
    return changes == 1 and network.find("main").inputs[0].producer.type == "Input"


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
@pytest.mark.parametrize("own", [{}, {"pad_top": 1, "pad_right": 2}])
def test_a_convolution_takes_it_over(layout: DataLayout, own, compute) -> None:
    network = Network()
    convolved(network, padded(network, layout), layout, stride_x=2, dilation_y=2, **own)
    assert folds(network, compute)
    descriptor = network.find("main").descriptor
    assert descriptor.padding == (
        (1 + own.get("pad_top", 0), 2),
        (3, 0 + own.get("pad_right", 0)),
    )


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
def test_a_depthwise_convolution_takes_it_over(layout: DataLayout, compute) -> None:
    network = Network()
    value = padded(network, layout)
    conv = network.add_depthwise_convolution2d(
        value, numbers(1, 2, 3, 6), numbers(6), data_layout=layout, name="main"
    )
    network.add_output("y", conv)
    assert folds(network, compute)


@pytest.mark.parametrize("layout", [DataLayout.NDHWC, DataLayout.NCDHW])
def test_a_convolution_in_space_takes_it_over(layout: DataLayout, compute) -> None:
    network = Network()
    around = [(1, 0), (0, 1), (2, 1)]
    pad_list = [(0, 0), *around, (0, 0)] if layout is DataLayout.NDHWC else [(0, 0)] * 2 + around
    shape = (1, 3, 3, 3, 2) if layout is DataLayout.NDHWC else (1, 2, 3, 3, 3)
    value = padded(network, shape=shape, pad_list=pad_list)
    conv = network.add_convolution3d(value, numbers(2, 2, 2, 2, 3), data_layout=layout, name="main")
    network.add_output("y", conv)
    assert folds(network, compute)
    assert network.find("main").descriptor.padding == tuple(around)


def test_it_is_taken_over_where_sizes_are_not_known() -> None:
    network = Network()
    convolved(network, padded(network, shape=("N", 3, "H", None)))
    assert fold_pad(network) == 1
    assert network.find("main").descriptor.padding == ((1, 2), (3, 0))


def test_two_pads_in_a_row_are_taken_over() -> None:
    network = Network()
    value = network.add_pad(padded(network), pad_list=AROUND[NCHW])
    convolved(network, value)
    assert fold_pad(network) == 2
    assert network.find("main").descriptor.padding == ((2, 4), (6, 0))


def test_each_reader_takes_it_over_and_an_output_keeps_it() -> None:
    network = Network()
    value = padded(network)
    convolved(network, value)
    second = network.add_convolution2d(value, numbers(2, 3, 1, 1), name="second")
    network.add_output("z", second)
    network.add_output("padded", value)
    assert fold_pad(network) == 2
    assert network.find("main").inputs[0].producer.type == "Input"
    assert network.find("second").inputs[0].producer.type == "Input"
    assert network.outputs[2].inputs == (value,)


@pytest.mark.parametrize("pool_type", [PoolingAlgorithm.AVERAGE, PoolingAlgorithm.L2])
@pytest.mark.parametrize("method", list(PaddingMethod))
@pytest.mark.parametrize("rounding", list(OutputShapeRounding))
def test_a_pooling_takes_it_over_and_counts_it(pool_type, method, rounding, compute) -> None:
    network = Network()
    pooled(
        network,
        padded(network, pad_list=((0, 0), (0, 0), (1, 1), (1, 1))),
        pool_type=pool_type,
        padding_method=method,
        output_shape_rounding=rounding,
    )
    assert folds(network, compute)
    assert network.find("main").descriptor.padding_method is PaddingMethod.IGNORE_VALUE


def test_a_pooling_in_space_takes_it_over(compute) -> None:
    network = Network()
    value = padded(
        network, shape=(1, 2, 3, 3, 3), pad_list=((0, 0), (0, 0), (1, 0), (0, 1), (1, 1))
    )
    pooling = network.add_pooling3d(
        value,
        pool_type=PoolingAlgorithm.AVERAGE,
        pool_depth=2,
        pool_height=2,
        pool_width=2,
        stride_x=1,
        stride_y=1,
        stride_z=1,
        data_layout=DataLayout.NCDHW,
        name="main",
    )
    network.add_output("y", pooling)
    assert folds(network, compute)


def test_padding_of_a_pooling_that_counts_is_added_to(compute) -> None:
    network = Network()
    pooled(network, padded(network), pad_left=1, padding_method=PaddingMethod.IGNORE_VALUE)
    assert folds(network, compute)
    assert network.find("main").descriptor.padding == ((1, 2), (4, 0))


def test_padding_of_a_pooling_that_does_not_count_keeps_the_pad(compute) -> None:
    network = Network()
    pooled(network, padded(network), pad_left=1, padding_method=PaddingMethod.EXCLUDE)
    assert not folds(network, compute)


def test_a_maximum_keeps_the_pad_as_zero_may_be_the_largest(compute) -> None:
    network = Network()
    pooled(network, padded(network), pool_type=PoolingAlgorithm.MAX)
    assert not folds(network, compute)


WITHIN = ((0, 0), (0, 0), (1, 1), (2, 0))
"""Padding that is smaller than the windows of ``pooled``."""


@pytest.mark.parametrize("own", [{}, {"pad_right": 2}, {"stride_y": 3, "pool_height": 3}])
def test_a_maximum_takes_over_minus_infinity(own, compute) -> None:
    network = Network()
    value = padded(network, pad_value=-np.inf, pad_list=WITHIN)
    pooled(network, value, pool_type=PoolingAlgorithm.MAX, **own)
    assert folds(network, compute)
    own_right = own.get("pad_right", 0)
    assert network.find("main").descriptor.padding == ((1, 1), (2, own_right))


@pytest.mark.parametrize("value", [0.0, -1e30, np.finfo(np.float32).min, np.inf])
def test_a_maximum_keeps_a_pad_of_numbers(value: float, compute) -> None:
    network = Network()
    padding = padded(network, pad_value=value, pad_list=WITHIN)
    pooled(network, padding, pool_type=PoolingAlgorithm.MAX)
    assert not folds(network, compute)


def test_an_average_keeps_a_pad_of_minus_infinity() -> None:
    network = Network()
    pooled(network, padded(network, pad_value=-np.inf, pad_list=WITHIN))
    assert fold_pad(network) == 0


@pytest.mark.parametrize("settings", [{"pool_width": 2}, {"dilation_x": 2}, {"pad_left": 1}])
def test_a_maximum_over_padding_alone_keeps_the_pad(settings) -> None:
    network = Network()
    value = padded(network, pad_value=-np.inf, pad_list=WITHIN)
    pooled(network, value, pool_type=PoolingAlgorithm.MAX, **settings)
    assert fold_pad(network) == 0


@pytest.mark.parametrize(
    ("data_type", "value", "is_folded"),
    [
        (DataType.QASYMM_U8, -5.0, True), (DataType.QASYMM_U8, -np.inf, True),
        (DataType.QASYMM_U8, -4.5, False), (DataType.QASYMM_S8, -69.0, True),
        (DataType.QASYMM_S8, -5.0, False),
    ],
)  # fmt: skip
def test_a_quantized_maximum_takes_over_the_lowest_value(
    data_type: DataType, value: float, is_folded: bool
) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 3, 5, 6), data_type, 0.5, 10))
    pooled(network, network.add_pad(x, pad_list=WITHIN, pad_value=value), pool_type="Max")
    assert fold_pad(network) == int(is_folded)


def test_a_window_as_large_as_its_input_keeps_the_pad() -> None:
    network = Network()
    pooled(network, padded(network), pool_width=0, stride_x=0)
    assert fold_pad(network) == 0


def test_rounding_up_needs_known_sizes() -> None:
    network = Network()
    pooled(
        network,
        padded(network, shape=(1, 3, None, 6)),
        output_shape_rounding=OutputShapeRounding.CEILING,
    )
    assert fold_pad(network) == 0


def test_rounding_up_keeps_the_pad_if_a_window_starts_in_what_it_writes() -> None:
    network = Network()
    value = padded(network, shape=(1, 1, 1, 4), pad_list=((0, 0), (0, 0), (0, 0), (0, 3)))
    pooled(
        network,
        value,
        pool_height=1,
        pool_width=2,
        stride_x=2,
        output_shape_rounding=OutputShapeRounding.CEILING,
    )
    assert network.outputs[0].input_infos[0].shape == (1, 1, 1, 4)
    assert fold_pad(network) == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_padding_of_batch_or_channels_stays(axis: int) -> None:
    network = Network()
    pad_list = [(0, 0)] * 4
    pad_list[axis] = (0, 1)
    shape = (1, 2, 5, 6) if axis == 1 else (1, 3, 5, 6)
    convolved(network, padded(network, shape=shape, pad_list=pad_list))
    assert fold_pad(network) == 0


def test_padding_of_a_batch_of_unknown_size_stays() -> None:
    network = Network()
    pad_list = ((1, 0), (0, 0), (1, 1), (1, 1))
    convolved(network, padded(network, shape=(None, 3, 5, 6), pad_list=pad_list))
    assert fold_pad(network) == 0


def test_rounding_down_needs_no_known_sizes() -> None:
    network = Network()
    pooled(network, padded(network, shape=(None, 3, None, 6)))
    assert fold_pad(network) == 1


def test_another_value_than_zero_stays() -> None:
    network = Network()
    convolved(network, padded(network, pad_value=1.0))
    assert fold_pad(network) == 0


@pytest.mark.parametrize("mode", [PaddingMode.REFLECT, PaddingMode.SYMMETRIC])
def test_a_mirrored_border_stays(mode: PaddingMode) -> None:
    network = Network()
    convolved(network, padded(network, padding_mode=mode))
    assert fold_pad(network) == 0


def test_a_pad_whose_amounts_are_computed_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 3, 5, 6)))
    amounts = network.add_input("amounts", TensorInfo((4, 2), DataType.SIGNED64))
    convolved(network, network.add_pad(x, amounts))
    assert fold_pad(network) == 0


def test_another_backend_hint_keeps_the_pad() -> None:
    network = Network()
    convolved(network, padded(network))
    network.find("pad").backend_hint = "A"
    assert fold_pad(network) == 0
    network.find("main").backend_hint = "A"
    assert fold_pad(network) == 1


@pytest.mark.parametrize(("value", "folded"), [(0, True), (7, False)])
def test_a_quantized_pad_with_zero_writes_what_padding_is(value: int, folded: bool) -> None:
    network = Network()
    info = TensorInfo((1, 2, 4, 4), DataType.QASYMM_U8, 0.5, 7)
    x = network.add_input("x", info)
    pad = network.add_pad(x, pad_list=((0, 0), (0, 0), (1, 1), (1, 1)), pad_value=value)
    weights = network.add_constant(
        np.ones((2, 2, 3, 3), np.int8), TensorInfo((2, 2, 3, 3), DataType.QSYMM_S8, 0.5)
    )
    network.add_output("y", network.add_convolution2d(pad, weights, output=info))
    assert (fold_pad(network) == 1) == folded


def test_a_pad_that_changes_the_quantization_stays() -> None:
    network = Network()
    info = TensorInfo((1, 2, 4, 4), DataType.QASYMM_U8, 0.5, 7)
    x = network.add_input("x", info)
    pad = network.add_pad(
        x,
        pad_list=((0, 0), (0, 0), (1, 1), (1, 1)),
        output=TensorInfo((1, 2, 6, 6), DataType.QASYMM_U8, 0.25, 7),
    )
    pooling = network.add_pooling2d(
        pad,
        pool_type=PoolingAlgorithm.AVERAGE,
        pool_width=2,
        pool_height=2,
        stride_x=2,
        stride_y=2,
        output=TensorInfo((1, 2, 3, 3), DataType.QASYMM_U8, 0.5, 7),
    )
    network.add_output("y", pooling)
    assert fold_pad(network) == 0


def test_a_convolution_of_integers_keeps_the_pad_before_it() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 1, 3, 3), DataType.UNSIGNED8))
    padded = network.add_pad(x, pad_list=[(0, 0), (0, 0), (1, 1), (1, 1)])
    weights = np.ones((1, 1, 3, 3), np.int8)
    network.add_output("y", network.add_convolution_integer(padded, weights, np.uint8(7)))
    assert fold_pad(network) == 0
