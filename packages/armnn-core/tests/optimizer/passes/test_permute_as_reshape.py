# SPDX-License-Identifier: MIT
"""Permutations that leave the elements in their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from named_pass import named_pass

from armnn._symbolic import Tape
from armnn.graph import Network
from armnn.tensor import Shape, TensorInfo
from armnn.types import DataType

permute_as_reshape = named_pass("permute_as_reshape")


def transposed(shape: Shape | None, order: tuple[int, ...], **options) -> Network:
    network = Network()
    x = network.add_input("x", TensorInfo(shape, **options))
    network.add_output("y", network.add_transpose(x, dim_mappings=order, name="moved"))
    return network


@pytest.mark.parametrize(
    ("shape", "order", "target"),
    [
        ((1, 8, 1, 1), (0, 2, 3, 1), (1, 1, 1, 8)),
        ((2, 1, 3), (0, 2, 1), (2, 3, 1)),
        (("N", 4, 1), (0, 2, 1), (-1, 1, 4)),
        ((None, 1), (1, 0), (1, -1)),
        ((0, 1), (1, 0), (1, 0)),
    ],
)
def test_moving_axes_of_one_element_is_a_reshape(shape, order, target) -> None:
    network = transposed(shape, order)
    info = network.outputs[0].input_infos[0]
    assert permute_as_reshape(network) == 1
    layer = network.find("moved")
    assert (layer.type, layer.descriptor.target_shape) == ("Reshape", target)
    assert network.outputs[0].inputs == (layer.output,)
    assert layer.output.info == info
    assert permute_as_reshape(network) == 0


@pytest.mark.parametrize("size", [1, 3])
def test_nothing_is_decided_about_symbolic_axes(size: int) -> None:
    tape = Tape()
    n, m = tape.input(size), tape.input(size)
    assert permute_as_reshape(transposed((n, 2, m), (0, 2, 1))) == 0
    assert permute_as_reshape(transposed((n, m, 1), (0, 2, 1))) == 1
    assert tape.replay((5, 1)) is not None
    assert tape.replay((1, 5)) is not None


def test_a_permute_says_its_order_the_other_way_round(compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 2, 3)))
    network.add_output("y", network.add_permute(x, dim_mappings=(2, 0, 1)))
    data = np.arange(6.0).reshape(1, 2, 3)
    expected = compute(network, {"x": data})["y"]
    assert permute_as_reshape(network) == 1
    np.testing.assert_array_equal(compute(network, {"x": data})["y"], expected)


@given(st.lists(st.sampled_from([1, 1, 2, 3]), max_size=5), st.data())
def test_it_is_a_reshape_exactly_if_the_elements_keep_their_order(shape, data) -> None:
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    elements = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    keeps_order = np.array_equal(elements.transpose(order).ravel(), elements.ravel())
    assert permute_as_reshape(transposed(tuple(shape), order)) == keeps_order


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((2, 3), (1, 0)),
        ((None, None, 1), (0, 2, 1)),  # a reshape infers one dimension only
        ((None, 3), (1, 0)),  # the unknown one may not be 1
        ((None, 0, 1), (0, 2, 1)),  # nothing can be inferred of no elements
        (None, (0, 1)),
    ],
)
def test_other_permutations_and_shapes_that_are_not_known_stay(shape, order) -> None:
    assert permute_as_reshape(transposed(shape, order)) == 0


def test_hint_and_quantization_are_kept() -> None:
    network = transposed((1, 8, 1), (0, 2, 1), data_type=DataType.QASYMM_U8, scales=0.5)
    network.find("moved").backend_hint = "A"
    info = network.outputs[0].input_infos
    assert permute_as_reshape(network) == 1
    assert network.find("moved").backend_hint == "A"
    assert network.outputs[0].input_infos == info


def test_a_change_of_the_quantization_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 8), DataType.QASYMM_U8, 0.5))
    info = TensorInfo((8, 1), DataType.QASYMM_U8, 0.25)
    network.add_output("y", network.add_transpose(x, dim_mappings=(1, 0), output=info))
    assert permute_as_reshape(network) == 0


def test_an_output_that_says_less_than_a_reshape_would_stays() -> None:
    network = transposed((1, 8), (1, 0))
    network.outputs[0].inputs[0].info = TensorInfo((None, 1))
    assert permute_as_reshape(network) == 0
    assert [layer.type for layer in network.layers] == ["Input", "Transpose", "Output"]
