# SPDX-License-Identifier: MIT
"""Simplifications: shapes, parameters, data, inputs, outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armnn import DataType, Network, TensorInfo
from armnn_tools.debugging.reducing.variants import Variant, simplified

if TYPE_CHECKING:
    from armnn.graph import Layer

RNG = np.random.default_rng(0)


def random(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def convolution(weights: Any) -> Variant:
    network = Network("convolution")
    x = network.add_input("x", TensorInfo((2, 8, 9, 9)))
    made = network.add_convolution2d(
        x, weights, random(8), pad_left=1, pad_right=1, stride_x=2, stride_y=2
    )
    network.add_output("y", made)
    return Variant(network, {"x": random(2, 8, 9, 9)})


def only(variant: Variant) -> Layer:
    (layer,) = variant.layers
    return layer


def test_a_layer_that_always_fails_becomes_as_small_as_can_be() -> None:
    layer = only(simplified(convolution(random(8, 8, 3, 3)), lambda _: True))
    weights = layer.constant("weights")
    assert weights is not None
    assert weights.shape == (1, 1, 1, 1)
    assert weights.item() == 0
    assert layer.constant("bias") is None
    assert layer.input_infos[0] == TensorInfo((1, 1, 1, 1))
    assert layer.descriptor == type(layer.descriptor)()


def test_what_the_failure_needs_stays() -> None:
    def fails(variant: Variant) -> bool:
        layer: Any = only(variant)
        weights = layer.constant("weights")
        kernel = weights is not None and weights.shape[2:] == (3, 3) and np.ptp(weights) > 0
        return bool(kernel and layer.descriptor.stride_x == 2)

    layer: Any = only(simplified(convolution(random(8, 8, 3, 3)), fails))
    assert layer.constant("weights").shape == (1, 1, 3, 3)
    assert layer.descriptor.stride_x == 2
    assert layer.descriptor.stride_y == 1
    assert layer.input_infos[0].num_elements <= 9


def test_scales_per_axis_are_sliced_with_their_weights() -> None:
    network = Network("quantized")
    x = network.add_input("x", TensorInfo((1, 4, 5, 5), DataType.QASYMM_S8, 0.1, 2))
    info = TensorInfo((6, 4, 1, 1), DataType.QSYMM_S8, tuple(np.arange(1, 7) / 10), (0,) * 6, 0)
    weights = network.add_constant(np.arange(24, dtype=np.int8).reshape(6, 4, 1, 1), info)
    out = TensorInfo((1, 6, 5, 5), DataType.QASYMM_S8, 0.5, 0)
    network.add_output("y", network.add_convolution2d(x, weights, output=out))
    whole = Variant(network, {"x": np.ones((1, 4, 5, 5), np.int8)})
    needed = weights.info.scales[-1]

    def fails(variant: Variant) -> bool:
        value = only(variant).input("weights")
        return value is not None and needed in value.info.scales

    value = only(simplified(whole, fails)).input("weights")
    assert value is not None
    assert value.info.scales == (needed,)
    assert value.info.shape == (1, 1, 1, 1)
    assert only(simplified(whole, fails)).output.info.scales == (0.5,)


def test_numbers_in_parameters_follow_the_shapes() -> None:
    network = Network("reshape")
    x = network.add_input("x", TensorInfo((6, 50)))
    network.add_output("y", network.add_reshape(x, target_shape=(6, 5, 10)))
    whole = Variant(network, {"x": random(6, 50)})
    made = simplified(whole, lambda each: only(each).type == "Reshape")
    assert only(made).output.info.num_elements <= 50


def test_one_input_and_one_output_are_left() -> None:
    network = Network("ports")
    x, y = (network.add_input(name, TensorInfo((2, 2))) for name in "xy")
    total = network.add_addition(x, y, name="total")
    network.add_output("sum", total)
    network.add_output("floor", network.add_floor(total))
    inputs = {name: random(2, 2) for name in "xy"}
    made = simplified(Variant(network, inputs), lambda _: True)
    assert [layer.name for layer in made.network.inputs] == ["x"]
    assert len(made.network.outputs) == 1
    assert made.inputs["x"].item() == 0


def test_inputs_are_rounded_where_they_cannot_be_one_number() -> None:
    network = Network("softmax")
    x = network.add_input("x", TensorInfo((1, 3)))
    network.add_output("y", network.add_softmax(x))
    made = simplified(
        Variant(network, {"x": np.array([[0.123456, 2.0, -1.98765]], np.float32)}),
        lambda each: each.inputs["x"].shape == (1, 3) and np.ptp(each.inputs["x"]) > 2,
    )
    np.testing.assert_array_equal(made.inputs["x"], np.array([[0.12, 2.0, -1.99]], np.float32))
