# SPDX-License-Identifier: MIT
"""Reshapes of reshapes, and reshapes that change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from named_pass import named_pass

from armnn.graph import Network
from armnn.tensor import TensorInfo
from armnn.types import DataType

merge_reshapes = named_pass("merge_reshapes")

TARGETS = [(24,), (2, 12), (2, 3, 4), (4, 3, 2), (1, 24), (2, 1, 12, 1), (6, 4)]


def types(network: Network) -> list[str]:
    return [layer.type for layer in network.topological_order()]


def chain(*targets: tuple[int, ...], info: TensorInfo, zero_copies: bool = False) -> Network:
    network = Network()
    value = network.add_input("x", info)
    for number, target in enumerate(targets):
        value = network.add_reshape(
            value, target_shape=target, zero_copies=zero_copies, name=f"r{number}"
        )
    network.add_output("y", value)
    return network


def test_two_reshapes_become_the_second_one(compute) -> None:
    network = chain((6, 4), (2, 12), info=TensorInfo((2, 3, 4)))
    assert merge_reshapes(network) == 1
    assert types(network) == ["Input", "Reshape", "Output"]
    assert network.find("r1").descriptor.target_shape == (2, 12)
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(compute(network, {"x": x})["y"], x.reshape(2, 12))


def test_a_reshape_to_the_shape_of_its_input_goes() -> None:
    network = chain((2, 3, 4), info=TensorInfo((2, 3, 4)))
    assert merge_reshapes(network) == 1
    assert types(network) == ["Input", "Output"]


def test_a_reshape_there_and_back_goes() -> None:
    network = chain((24,), (2, 3, 4), info=TensorInfo((2, 3, 4)))
    assert merge_reshapes(network) == 2
    assert types(network) == ["Input", "Output"]


@given(st.lists(st.sampled_from(TARGETS), max_size=5))
def test_any_chain_becomes_at_most_one_reshape_to_the_last_shape(targets) -> None:
    network = chain(*targets, info=TensorInfo((2, 3, 4)))
    merge_reshapes(network)
    left = [layer for layer in network.layers if layer.type == "Reshape"]
    last = targets[-1] if targets else (2, 3, 4)
    assert network.outputs[0].input_infos[0].shape == last
    assert [layer.descriptor.target_shape for layer in left] == (
        [] if last == (2, 3, 4) else [last]
    )
    assert merge_reshapes(network) == 0


def test_an_inferred_dimension_does_not_depend_on_the_reshape_before() -> None:
    network = chain((-1, 4), (-1, 2, 2), info=TensorInfo((None, 3, 4)))
    assert merge_reshapes(network) == 1
    assert network.find("r1").inputs[0].producer.type == "Input"
    assert network.find("r1").descriptor.target_shape == (-1, 2, 2)


def test_a_copied_dimension_of_a_reshape_that_is_not_known_keeps_both() -> None:
    network = chain((-1, 6), (0, 2, 3), info=TensorInfo((None, None, 4)), zero_copies=True)
    assert merge_reshapes(network) == 0


def test_inferred_dimensions_are_merged_even_where_zero_copies() -> None:
    network = chain((-1, 6), (-1, 2, 3), info=TensorInfo((None, None, 4)), zero_copies=True)
    assert merge_reshapes(network) == 1


def test_a_copied_dimension_that_is_known_is_stated(compute) -> None:
    network = chain((-1, 6), (0, 2, 3), info=TensorInfo((2, 3, 4)), zero_copies=True)
    assert merge_reshapes(network) == 1
    descriptor = network.find("r1").descriptor
    assert (descriptor.target_shape, descriptor.zero_copies) == ((4, 2, 3), False)
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(compute(network, {"x": x})["y"], x.reshape(4, 2, 3))


def test_a_shape_that_is_computed_may_be_copied_only_if_it_copies_nothing() -> None:
    for zero_copies, changes in ((False, 1), (True, 0)):
        network = Network()
        x = network.add_input("x", TensorInfo((None, 4)))
        shape = network.add_input("shape", TensorInfo((2,), DataType.SIGNED64))
        flat = network.add_reshape(x, target_shape=(-1,))
        last = network.add_reshape(flat, shape, zero_copies=zero_copies, name="last")
        network.add_output("y", last)
        assert merge_reshapes(network) == changes
        assert network.find("last").inputs == ((x, shape) if changes else (flat, shape))


def test_one_unknown_dimension_follows_from_the_number_of_elements() -> None:
    network = chain((-1, 3, 4), info=TensorInfo((None, 3, 4)))
    assert merge_reshapes(network) == 1
    assert types(network) == ["Input", "Output"]


def test_two_unknown_dimensions_do_not_show_that_nothing_changes() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((None, None, 4)))
    shape = network.add_input("shape", TensorInfo((3,), DataType.SIGNED64))
    y = network.add_reshape(x, shape, output=TensorInfo((None, None, 4)))
    network.add_output("y", y)
    assert merge_reshapes(network) == 0


def test_a_tensor_without_elements_does_not_show_its_unknown_dimension() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((None, 0)))
    shape = network.add_input("shape", TensorInfo((2,), DataType.SIGNED64))
    network.add_output("y", network.add_reshape(x, shape, output=TensorInfo((None, 0))))
    assert merge_reshapes(network) == 0


def test_scalars_and_empty_tensors_are_reshaped_too() -> None:
    assert merge_reshapes(chain((1,), (), info=TensorInfo(()))) == 2
    assert merge_reshapes(chain((0, 3), (3, 0), info=TensorInfo((0,)))) == 1


def test_an_unknown_rank_keeps_a_reshape() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(None))
    shape = network.add_input("shape", TensorInfo((None,), DataType.SIGNED64))
    network.add_output("y", network.add_reshape(x, shape))
    assert merge_reshapes(network) == 0


def test_a_reshape_that_others_read_stays_for_them() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 3, 4)))
    flat = network.add_reshape(x, target_shape=(24,))
    network.add_output("flat", flat)
    network.add_output("y", network.add_reshape(flat, target_shape=(4, 6), name="r"))
    assert merge_reshapes(network) == 1
    assert network.find("r").inputs == (x,)
    assert network.outputs[0].inputs == (flat,)


def test_reshapes_meant_for_different_backends_stay() -> None:
    network = chain((24,), (4, 6), info=TensorInfo((2, 3, 4)))
    network.find("r0").backend_hint = "A"
    assert merge_reshapes(network) == 0
    network.find("r1").backend_hint = "A"
    assert merge_reshapes(network) == 1


@pytest.mark.parametrize("scales", [(0.5, 0.25, 0.5), (0.5, 0.25, 0.25), (0.5, 0.5, 0.25)])
def test_a_reshape_that_changes_the_quantization_stays(scales) -> None:
    network = Network()
    source, between, last = (
        TensorInfo(shape, DataType.QASYMM_S8, scale, 1)
        for shape, scale in zip([(2, 6), (6, 2), (12,)], scales, strict=True)
    )
    x = network.add_input("x", source)
    y = network.add_reshape(x, target_shape=(6, 2), output=between)
    network.add_output("y", network.add_reshape(y, target_shape=(12,), output=last))
    assert merge_reshapes(network) == 0


def test_a_reshape_to_the_same_shape_in_other_steps_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 6), DataType.QASYMM_S8, 0.5, 1))
    other = TensorInfo((2, 6), DataType.QASYMM_S8, 0.25, 1)
    network.add_output("y", network.add_reshape(x, target_shape=(2, 6), output=other))
    assert merge_reshapes(network) == 0


def test_an_input_that_says_a_known_shape_stays_in_the_network() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 6)))
    shape = network.add_input("shape", TensorInfo((2,), DataType.SIGNED64))
    flat = network.add_reshape(x, target_shape=(12,))
    y = network.add_reshape(flat, shape, output=TensorInfo((3, 4)), name="last")
    network.add_output("y", y)
    assert merge_reshapes(network) == 1
    assert network.find("last").inputs == (x,)
    assert [layer.name for layer in network.inputs] == ["x", "shape"]


def test_quantized_reshapes_of_one_scale_are_merged() -> None:
    info = TensorInfo((2, 6), DataType.QASYMM_S8, 0.5, 1)
    network = chain((12,), (3, 4), info=info)
    assert merge_reshapes(network) == 1
    assert network.outputs[0].input_infos == (info.with_shape((3, 4)),)
