# SPDX-License-Identifier: MIT
"""Parameters and multiply-adds, against counts made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.graph.statistics import multiply_adds_of, statistics_of
from armnn.layers import LAYERS
from armnn.layers.convolution import (
    Convolution2dDescriptor,
    Convolution3dDescriptor,
    ConvolutionIntegerDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.layers.matmul import BatchMatMulDescriptor, EinsumDescriptor, FullyConnectedDescriptor
from armnn.layers.recurrent import UnidirectionalSequenceLstmDescriptor
from armnn.layers.reshaping import ReshapeDescriptor
from armnn.layers.sequence import RnnDescriptor
from armnn.types import SequenceDirection

if TYPE_CHECKING:
    from armnn.layers import Descriptor

Shape = tuple[int | str | None, ...]


def of_one_layer(
    layer_type: str,
    shape: Shape,
    weights: Sequence[tuple[int, ...]],
    descriptor: Descriptor | None = None,
) -> tuple[int, int | None]:
    """Return one layer's parameters and multiply-adds.

    Its constants follow the input.
    """
    network = Network()
    integers = layer_type.endswith("Integer")
    x = network.add_input("x", TensorInfo(shape, "Signed8" if integers else DataType.FLOAT32))
    dtype = np.int8 if integers else np.float32
    constants = [network.add_constant(np.zeros(each, dtype)) for each in weights]
    network.add_output("y", network.add(layer_type, [x, *constants], descriptor).outputs[0])
    statistics = statistics_of(network)
    (only,) = statistics.layers
    assert (only.parameters, only.multiply_adds) == (
        statistics.parameters,
        statistics.multiply_adds,
    )
    return only.parameters, only.multiply_adds


NHWC = Convolution2dDescriptor(data_layout=DataLayout.NHWC)
# Each count is (positions of the output) * (products that one of them sums), written out.
CASES = [
    # 6x6 windows of 3x3x5 for 7 channels, and a bias.
    ("Convolution2d", (1, 8, 8, 5), [(7, 3, 3, 5), (7,)], NHWC, 315 + 7, 6 * 6 * 7 * 45),
    # The same in NCHW with a batch of two; 2x2 strides leave 3x3 positions.
    (
        "Convolution2d", (2, 5, 8, 8), [(7, 5, 3, 3)],
        Convolution2dDescriptor(stride_x=2, stride_y=2, data_layout=DataLayout.NCHW),
        315, 2 * 3 * 3 * 7 * 45,
    ),
    # Two groups: each output channel sees three of the six input channels.
    ("Convolution2d", (1, 4, 4, 6), [(8, 1, 1, 3)], NHWC, 24, 4 * 4 * 8 * 3),
    # Six channels, two outputs each, one 3x3 window apiece.
    (
        "DepthwiseConvolution2d", (1, 5, 5, 6), [(1, 3, 3, 12)],
        DepthwiseConvolution2dDescriptor(data_layout=DataLayout.NHWC), 108, 3 * 3 * 12 * 9,
    ),
    # Each of the 4x4x3 input elements goes into 2x2 places of 5 channels.
    (
        "TransposeConvolution2d", (1, 4, 4, 3), [(5, 2, 2, 3)],
        TransposeConvolution2dDescriptor(stride_x=2, stride_y=2, data_layout=DataLayout.NHWC),
        60, 4 * 4 * 3 * 2 * 2 * 5,
    ),
    (
        "TransposeConvolution2d", (1, 3, 4, 4), [(5, 3, 2, 2)],
        TransposeConvolution2dDescriptor(stride_x=2, stride_y=2, data_layout=DataLayout.NCHW),
        60, 4 * 4 * 3 * 2 * 2 * 5,
    ),
    (
        "Convolution3d", (1, 4, 4, 4, 2), [(3, 3, 3, 2, 5)], Convolution3dDescriptor(),
        270, 2 * 2 * 2 * 5 * 54,
    ),
    ("FullyConnected", (3, 10), [(10, 4), (4,)], None, 44, 3 * 10 * 4),
    (
        "FullyConnected", (3, 10), [(4, 10)],
        FullyConnectedDescriptor(transpose_weight_matrix=True), 40, 3 * 10 * 4,
    ),
    ("BatchMatMul", (2, 3, 4), [(2, 4, 5)], None, 40, 2 * 3 * 4 * 5),
    (
        "BatchMatMul", (2, 4, 3), [(2, 4, 5)], BatchMatMulDescriptor(transpose_x=True),
        40, 2 * 3 * 4 * 5,
    ),
    # 6x6 positions for 7 channels, each of a 3x3x5 window.
    (
        "ConvolutionInteger", (1, 8, 8, 5), [(7, 3, 3, 5)],
        ConvolutionIntegerDescriptor(data_layout=DataLayout.NHWC), 315, 6 * 6 * 7 * 45,
    ),
    ("MatMulInteger", (2, 3, 4), [(4, 5)], None, 20, 2 * 3 * 5 * 4),
    ("Einsum", (3, 4), [(4, 5)], EinsumDescriptor(equation="ij,jk->ik"), 20, 3 * 5 * 4),
    # The batch of 2 broadcasts; without an output axis all is summed into one number.
    ("Einsum", (2, 3, 4), [(1, 4, 5)], EinsumDescriptor(equation="...ij,...jk->...ik"), 20, 120),
    ("Einsum", (3, 4), [(3, 4)], EinsumDescriptor(equation="ij,ij->"), 12, 3 * 4),
    # Three factors take two products for each of the 3*4*5 numbers.
    ("Einsum", (3,), [(4,), (5,)], EinsumDescriptor(equation="i,j,k->ijk"), 9, 2 * 3 * 4 * 5),
    ("Einsum", (3, 3), [], EinsumDescriptor(equation="ii->i"), 0, 0),
    # 2 items, 4 heads, 3 queries see 5 keys (2 heads of them) of 8 numbers, values of 6.
    ("Attention", (2, 4, 3, 8), [(2, 2, 5, 8), (2, 2, 5, 6)], None, 280, 2 * 4 * 3 * 5 * (8 + 6)),
    # Three gates of 4 units see 3 numbers and 4 units, in 2x5 steps.
    ("Gru", (2, 5, 3), [(1, 12, 3), (1, 12, 4)], None, 84, 2 * 5 * (12 * 3 + 12 * 4)),
    (
        "Rnn", (5, 2, 3), [(2, 4, 3), (2, 4, 4)],
        RnnDescriptor(direction=SequenceDirection.BIDIRECTIONAL, time_major=True),
        56, 2 * 5 * 2 * (4 * 3 + 4 * 4),
    ),
    ("SequenceLstm", (2, 5, 3), [(1, 16, 3), (1, 16, 4)], None, 112, 2 * 5 * (16 * 3 + 16 * 4)),
    ("Multiplication", (2, 3), [(3,)], None, 3, 0),
    ("Activation", (2, 3), [], None, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("layer_type", "shape", "weights", "descriptor", "parameters", "multiply_adds"), CASES
)
def test_a_layer_is_counted_as_by_hand(
    layer_type: str,
    shape: Shape,
    weights: Sequence[tuple[int, ...]],
    descriptor: Descriptor | None,
    parameters: int,
    multiply_adds: int,
) -> None:
    found = of_one_layer(layer_type, shape, weights, descriptor)
    assert found == (parameters, multiply_adds)


def test_an_empty_batch_takes_no_multiply_adds() -> None:
    assert of_one_layer("FullyConnected", (0, 10), [(10, 4)]) == (40, 0)
    assert of_one_layer("BatchMatMul", (1, 0, 4), [(1, 4, 5)]) == (20, 0)


def test_multiply_adds_are_unknown_where_a_shape_is() -> None:
    assert of_one_layer("Convolution2d", (None, 5, 8, 8), [(7, 5, 3, 3)]) == (315, None)


def test_an_unknown_shape_that_no_product_depends_on_does_not_matter() -> None:
    assert of_one_layer("Activation", ("batch", 3), []) == (0, 0)


def test_one_unknown_layer_makes_the_total_unknown() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((None, 10), DataType.FLOAT32))
    weights = network.add_constant(np.zeros((10, 4), np.float32))
    network.add_output("y", network.add("FullyConnected", [x, weights]).output)
    fixed = network.add_input("fixed", TensorInfo((1, 10), DataType.FLOAT32))
    network.add_output("z", network.add("FullyConnected", [fixed, weights]).output)
    statistics = statistics_of(network)
    assert [row.multiply_adds for row in statistics.layers] == [None, 40]
    assert statistics.multiply_adds is None


def test_a_constant_that_several_layers_read_is_counted_once_in_total() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 4), DataType.FLOAT32))
    weights = network.add_constant(np.zeros((4, 4), np.float32))
    hidden = network.add("FullyConnected", [x, weights]).output
    network.add_output("y", network.add("FullyConnected", [hidden, weights]).output)
    statistics = statistics_of(network)
    assert [row.parameters for row in statistics.layers] == [16, 16]
    assert (statistics.parameters, statistics.parameter_bytes) == (16, 64)
    assert statistics.multiply_adds == 32


def test_a_constant_that_says_a_shape_is_no_parameter() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 6), DataType.FLOAT32))
    target = network.add_constant(np.array([3, 4], np.int64))
    network.add_output("y", network.add("Reshape", [x, target], ReshapeDescriptor()).output)
    assert statistics_of(network).parameters == 0


def test_a_recurrent_layer_takes_its_matrices_and_peepholes_in_every_step() -> None:
    batch, steps, features, cells = 2, 5, 3, 4
    shapes = {"input": (batch, steps, features), "output_state_in": (batch, cells)}
    shapes["cell_state_in"] = (batch, cells)
    gates = ("forget", "cell", "output")  # with cifg_enabled there is no input gate
    shapes |= {f"input_to_{gate}_weights": (cells, features) for gate in gates}
    shapes |= {f"recurrent_to_{gate}_weights": (cells, cells) for gate in gates}
    shapes |= {f"cell_to_{gate}_weights": (cells,) for gate in ("forget", "output")}
    shapes |= {f"{gate}_layer_norm_weights": (cells,) for gate in gates}
    shapes |= dict.fromkeys(("forget_gate_bias", "cell_bias", "output_gate_bias"), (cells,))
    network = Network()
    operands = [
        network.add_input(input_slot.name, TensorInfo(shapes[input_slot.name], DataType.FLOAT32))
        if input_slot.name in shapes
        else None
        for input_slot in LAYERS["UnidirectionalSequenceLstm"].inputs
    ]
    descriptor = UnidirectionalSequenceLstmDescriptor(
        cifg_enabled=True, peephole_enabled=True, layer_norm_enabled=True
    )
    layer = network.add("UnidirectionalSequenceLstm", operands, descriptor)
    # Three gates of 4x3 and 4x4, and two peepholes of 4, for each of 2x5 steps.
    assert multiply_adds_of(layer) == 2 * 5 * (3 * 4 * 3 + 3 * 4 * 4 + 2 * 4)


def test_a_constant_that_several_layers_compute_with_is_counted_once() -> None:
    network = Network()
    value = network.add_input("x", TensorInfo((1, 4), DataType.FLOAT32))
    data = np.zeros((4, 4), np.float32)
    shared = network.add_constant(data, name="shared")
    again = network.add_constant(data, name="the same array again")
    for weights in (shared, shared, again):
        value = network.add("FullyConnected", [value, weights]).output
    network.add_output("y", value)
    found = statistics_of(network)
    assert (found.parameters, found.parameter_bytes) == (16, 64)
    assert [row.parameters for row in found.layers] == [16, 16, 16]
    assert [row.own_parameters for row in found.layers] == [16, 0, 0]


def test_peepholes_of_a_sequence_are_counted() -> None:
    network = Network()
    operands = [
        network.add_input(slot.name, TensorInfo(shape))
        if (shape := {
            "input": (2, 5, 3), "weights": (1, 16, 3), "recurrent_weights": (1, 16, 4),
            "peephole_weights": (1, 12),
        }.get(slot.name)) is not None
        else None
        for slot in LAYERS["SequenceLstm"].inputs
    ]  # fmt: skip
    layer = network.add("SequenceLstm", operands)
    assert multiply_adds_of(layer) == 2 * 5 * (16 * 3 + 16 * 4 + 12)
