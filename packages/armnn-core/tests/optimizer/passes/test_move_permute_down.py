# SPDX-License-Identifier: MIT
"""Permutations that move behind element-wise layers."""

from __future__ import annotations

import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, BinaryOperation, DataType

cancel_inverse_permutes = named_pass("cancel_inverse_permutes")
move_permute_down = named_pass("move_permute_down")

ORDER = (0, 2, 3, 1)
BACK = (0, 3, 1, 2)
SHAPE = (2, 3, 4, 5)
RANDOM = np.random.default_rng(19)


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def permuted(network: Network, name: str = "x", shape: tuple | None = SHAPE) -> Value:
    x = network.add_input(name, TensorInfo(shape))
    return network.add_transpose(x, dim_mappings=ORDER, name=f"permute {name}")


def kinds(network: Network) -> list[str]:
    return [layer.type for layer in network.topological_order() if layer.type != "Constant"]


def moves(network: Network, compute) -> int:
    """Run the pass and check that the results stay."""
    feeds = {layer.name: numbers(*SHAPE) for layer in network.inputs}
    expected = compute(network, feeds)
    infos = [layer.input_infos for layer in network.outputs]
    changes = move_permute_down(network)
    for name, array in compute(network, feeds).items():
        np.testing.assert_array_equal(array, expected[name])
    assert [layer.input_infos for layer in network.outputs] == infos
    assert move_permute_down(network) == 0
    return changes


def test_an_activation_reads_what_the_permutation_read(compute) -> None:
    network = Network()
    network.add_output(
        "y", network.add_activation(permuted(network), function=ActivationFunction.RELU, name="act")
    )
    assert moves(network, compute) == 1
    assert kinds(network) == ["Input", "Activation", "Transpose", "Output"]
    assert network.find("act").inputs == (network.inputs[0].output,)
    assert network.outputs[0].inputs == (network.find("permute x").output,)


def test_it_meets_the_permutation_that_undoes_it(compute) -> None:
    network = Network()
    value = network.add_activation(permuted(network), function=ActivationFunction.RELU)
    value = network.add_addition(value, numbers(3))
    value = network.add_activation(value, function=ActivationFunction.RELU)
    network.add_output("y", network.add_transpose(value, dim_mappings=BACK))
    assert moves(network, compute) == 3
    assert cancel_inverse_permutes(network) > 0
    assert kinds(network) == ["Input", "Activation", "Addition", "Activation", "Output"]


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1, 3), (5, 3), (4, 5, 3), (1, 4, 1, 1)])
@pytest.mark.parametrize("first", [True, False])
def test_constants_are_permuted_back(shape, first: bool, compute) -> None:
    network = Network()
    operands = [permuted(network), network.add_constant(numbers(*shape))]
    y = network.add_elementwise_binary(
        *(operands if first else reversed(operands)), operation=BinaryOperation.SUB, name="sub"
    )
    network.add_output("y", y)
    assert moves(network, compute) == 1
    assert network.outputs[0].inputs[0].producer.type == "Transpose"


def test_two_operands_permuted_alike_take_one_permutation(compute) -> None:
    network = Network()
    y = network.add_multiplication(permuted(network, "x"), permuted(network, "z"))
    network.add_output("y", y)
    assert moves(network, compute) == 1
    assert kinds(network).count("Transpose") == 1


def test_permute_and_transpose_of_one_order_are_alike(compute) -> None:
    network = Network()
    z = network.add_input("z", TensorInfo(SHAPE))
    other = network.add_permute(z, dim_mappings=BACK)
    network.add_output("y", network.add_addition(permuted(network), other))
    assert moves(network, compute) == 1


def test_unknown_dimensions_do_not_hinder() -> None:
    network = Network()
    value = permuted(network, shape=("N", 3, None, None))
    network.add_output("y", network.add_activation(value))
    info = network.outputs[0].input_infos[0]
    assert move_permute_down(network) == 1
    assert network.outputs[0].input_infos[0] == info


def test_an_unknown_rank_stays() -> None:
    network = Network()
    network.add_output("y", network.add_activation(permuted(network, shape=None)))
    assert move_permute_down(network) == 0


def test_operands_permuted_in_two_ways_stay() -> None:
    network = Network()
    z = network.add_input("z", TensorInfo((4, 5, 2, 3)))
    other = network.add_transpose(z, dim_mappings=(2, 0, 1, 3))
    network.add_output("y", network.add_addition(permuted(network), other))
    assert move_permute_down(network) == 0


def test_an_operand_that_is_not_permuted_stays() -> None:
    network = Network()
    other = network.add_input("z", TensorInfo((2, 4, 5, 3)))
    network.add_output("y", network.add_addition(permuted(network), other))
    assert move_permute_down(network) == 0


def test_a_layer_that_is_not_element_wise_stays() -> None:
    network = Network()
    network.add_output("y", network.add_softmax(permuted(network)))
    assert move_permute_down(network) == 0


def test_a_second_reader_or_an_output_keeps_the_order() -> None:
    for as_output in (True, False):
        network = Network()
        value = permuted(network)
        network.add_output("y", network.add_activation(value))
        network.add_output("z", value if as_output else network.add_softmax(value))
        assert move_permute_down(network) == 0


def test_broadcasting_to_more_elements_keeps_the_order() -> None:
    network = Network()
    network.add_output("y", network.add_addition(permuted(network), numbers(7, 1, 1, 1, 1)))
    network.add_output(
        "z", network.add_addition(permuted(network, "w", (1, 3, 1, 1)), numbers(4, 5, 3))
    )
    assert move_permute_down(network) == 0


def test_each_layer_keeps_its_own_hint() -> None:
    network = Network()
    network.add_output("y", network.add_activation(permuted(network), name="act"))
    network.find("act").backend_hint, network.find("permute x").backend_hint = "A", "B"
    assert move_permute_down(network) == 1
    assert (network.find("act").backend_hint, network.find("permute x").backend_hint) == ("A", "B")


def test_permutations_meant_for_two_backends_stay() -> None:
    network = Network()
    network.add_output("y", network.add_addition(permuted(network), permuted(network, "z")))
    network.find("permute z").backend_hint = "B"
    assert move_permute_down(network) == 0


def test_quantization_moves_along() -> None:
    network = Network()
    info = TensorInfo(SHAPE, DataType.QASYMM_U8, 0.5, 3)
    value = network.add_transpose(network.add_input("x", info), dim_mappings=ORDER)
    made = TensorInfo((2, 4, 5, 3), DataType.QASYMM_U8, 0.25, 7)
    weights = network.add_constant(
        np.arange(3, dtype=np.uint8), TensorInfo((3,), DataType.QASYMM_U8, 2.0)
    )
    y = network.add_multiplication(value, weights, name="scaled", output=made)
    network.add_output("y", y)
    assert move_permute_down(network) == 1
    scaled = network.find("scaled")
    assert scaled.output.info == made.with_shape(SHAPE)
    assert scaled.inputs[1].info == TensorInfo((1, 3, 1, 1), DataType.QASYMM_U8, 2.0)
    assert network.outputs[0].input_infos == (made,)


def test_a_permutation_that_changes_the_quantization_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(SHAPE, DataType.QASYMM_U8, 0.5, 3))
    moved = TensorInfo((2, 4, 5, 3), DataType.QASYMM_U8, 0.25, 7)
    value = network.add_transpose(x, dim_mappings=ORDER, output=moved)
    network.add_output("y", network.add_activation(value, function=ActivationFunction.RELU))
    assert move_permute_down(network) == 0


def test_a_scale_per_channel_stays_with_its_axis() -> None:
    network = Network()
    info = TensorInfo(SHAPE, DataType.QASYMM_U8, 0.5, 3)
    value = network.add_transpose(network.add_input("x", info), dim_mappings=ORDER)
    weights = network.add_constant(
        np.ones(3, np.int8), TensorInfo((3,), DataType.QSYMM_S8, (1.0, 2.0, 3.0), axis=0)
    )
    network.add_output("y", network.add_multiplication(value, weights))
    assert move_permute_down(network) == 0


def test_a_number_is_left_as_it_is() -> None:
    network = Network()
    number = network.add_constant(np.ones((), np.float32))
    network.add_output("y", network.add_addition(permuted(network), number, name="sum"))
    assert move_permute_down(network) == 1
    assert network.find("sum").inputs[1] is number
