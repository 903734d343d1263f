# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from armnn import DataType, Network, TensorInfo
from armnn.errors import ShapeError
from armnn.optimizer.phases import split
from armnn.optimizer.shapes.specialize import infer_shapes, is_special, specialize, value_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from armnn.graph import Layer, Value


def evaluate(layer: Layer) -> list[np.ndarray] | None:
    """Compute the few layers of the tests' shape arithmetic."""
    arrays = [value.constant for value in layer.inputs if value is not None]
    if layer.type == "Concat":
        return [np.concatenate(arrays)]
    if layer.type == "Multiplication":
        return [arrays[0] * arrays[1]]
    return None


def flattened_by_arithmetic() -> Network:
    """Reshape x [N,2,3] to [N*2, 3] by shape arithmetic."""
    network = Network("flatten")
    x = network.add_input("x", TensorInfo(("N", 2, 3)))
    shape = network.add_shape(x, output=DataType.SIGNED64)
    rows = network.add_multiplication(
        network.add_slice(shape, begin=(0,), size=(1,)),
        network.add_slice(shape, begin=(1,), size=(1,)),
    )
    target = network.add_concat([rows, np.array([3])], axis=0)
    network.add_output("y", network.add_reshape(x, target))
    return network


def slices(layer: Layer) -> list[np.ndarray] | None:
    if layer.type == "Slice":
        (begin,), (size,) = layer.descriptor.begin, layer.descriptor.size
        return [layer.inputs[0].constant[begin : begin + size]]
    return evaluate(layer)


def test_shape_arithmetic_is_computed_away() -> None:
    concrete = specialize(flattened_by_arithmetic(), {"x": (4, 2, 3)}, {}, slices)
    assert [layer.type for layer in concrete.topological_order()] == ["Input", "Reshape", "Output"]
    (reshape,) = (layer for layer in concrete.layers if layer.type == "Reshape")
    assert reshape.descriptor.target_shape == (8, 3)
    assert len(reshape.inputs) == 1
    assert reshape.output.info == TensorInfo((8, 3))


def test_the_network_itself_is_not_changed() -> None:
    network = flattened_by_arithmetic()
    before = [(layer.name, layer.output_infos) for layer in network.layers]
    specialize(network, {"x": (4, 2, 3)}, {}, slices)
    assert [(layer.name, layer.output_infos) for layer in network.layers] == before


def test_shapes_that_do_not_fit_name_the_layer() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((None,)))
    network.add_output("y", network.add_addition(x, np.ones(3, np.float32), name="add"))
    with pytest.raises(ShapeError, match=r"layer 'add' \(Addition\): the shapes \[2\] and \[3\]"):
        specialize(network, {"x": (2,)}, {}, evaluate)


def test_a_value_that_a_field_cannot_take_names_the_layer() -> None:
    network = Network()
    x, n = network.add_input("x", TensorInfo((2,))), network.add_input("n", SIGNED)
    network.add_output("y", network.add_tile(x, n, name="tile"))
    with pytest.raises(ShapeError, match=r"layer 'tile' \(Tile\).*multiples.*-1"):
        specialize(network, {"x": (2,), "n": (1,)}, {"n": np.array([-1])}, evaluate)


SIGNED = TensorInfo((1,), DataType.SIGNED64)


def test_value_inputs_are_those_that_lead_to_a_shape_argument() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((None,)))
    direct = network.add_input("direct", SIGNED)
    through = network.add_input("through", SIGNED)
    data = network.add_input("data", SIGNED)
    real = network.add_input("real", TensorInfo((1,)))
    tiled = network.add_tile(x, direct)
    amount = network.add_addition(through, network.add_cast(real, output=DataType.SIGNED64))
    filled = network.add_fill(amount)
    shape = network.add_shape(network.add_addition(data, data), output=DataType.SIGNED64)
    for index, value in enumerate((tiled, filled, network.add_fill(shape))):
        network.add_output(f"y{index}", value)
    assert value_inputs(network) == {"direct": 1 << 16, "through": 64}


def test_values_take_the_place_of_their_inputs() -> None:
    network = Network()
    x, n = network.add_input("x", TensorInfo((2,))), network.add_input("n", SIGNED)
    network.add_output("y", network.add_tile(x, n))
    concrete = specialize(network, {"x": (2,), "n": (1,)}, {"n": np.array([3])}, evaluate)
    assert [layer.name for layer in concrete.inputs] == ["x", "n"]
    assert concrete.outputs[0].inputs[0].info.shape == (6,)


def test_a_quantized_value_fills_its_field_with_the_real_value() -> None:
    network = Network()
    steps = (DataType.QASYMM_S8, 0.5, 3)
    written = network.add_constant(np.array([5], np.int8), TensorInfo((1,), *steps))
    x = network.add_input("x", TensorInfo((2,), *steps))
    network.add_output("y", network.add_pad(x, computed_pad_value=written, pad_list=[(1, 0)]))
    concrete = specialize(network, {"x": (2,)}, {}, evaluate)
    (pad,) = (layer for layer in concrete.layers if layer.type == "Pad")
    assert pad.descriptor.pad_value == 1.0  # 0.5 * (5 - 3)


def test_a_network_whose_shapes_are_known_is_not_cut() -> None:
    concrete = specialize(flattened_by_arithmetic(), {"x": (4, 2, 3)}, {}, slices)
    segments = split(concrete)
    assert segments.head is concrete
    assert segments.rest is None


def test_data_that_decides_about_a_shape_ends_the_segment() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((4,)))
    places = network.add_non_zero(x, name="places")
    network.add_output("early", network.add_addition(x, x, name="twice"))
    network.add_output("late", network.add_addition(places, places, name="doubled"))
    segments = split(specialize(network, {"x": (4,)}, {}, evaluate))
    assert segments.rest is not None
    assert [layer.name for layer in segments.head.outputs] == ["early", "places (crossing 0)"]
    assert [layer.name for layer in segments.rest.inputs] == ["places (crossing 0)"]
    assert [layer.name for layer in segments.rest.outputs] == ["late"]
    assert segments.crossing == ("places (crossing 0)",)


def test_a_shape_argument_that_is_computed_from_data_ends_the_segment() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1,)))
    weights = network.add_constant(np.ones((1,), np.float32), name="weights")
    count = network.add_cast(x, output=DataType.SIGNED64, name="count")
    filled = network.add_fill(count, name="fill")
    network.add_output("y", network.add_multiplication(filled, weights, name="scaled"))
    segments = split(specialize(network, {"x": (1,)}, {}, evaluate))
    assert segments.rest is not None
    assert [layer.type for layer in segments.head.layers] == ["Input", "Cast", "Output"]
    assert [layer.type for layer in segments.rest.layers] == [
        "Input",
        "Constant",
        "Fill",
        "Multiplication",
        "Output",
    ]


def _through(add: Callable[[Network, Value], Value], shape: Sequence[int | str]) -> Network:
    network = Network("n")
    x = network.add_input("x", TensorInfo(shape))
    network.add_output("y", add(network, x))
    return network


def test_a_layer_that_is_computed_away_is_a_constant_of_its_name() -> None:
    network = Network("n")
    x = network.add_input("x", TensorInfo(("N", 3)))
    shape = network.add_shape(x, output=DataType.SIGNED64, name="shape of x")
    filled = network.add("Fill", [network.add_multiplication(shape, shape)], name="filled")
    network.add_output("sizes", shape)
    network.add_output("y", filled.output)
    shape.producer.backend_hint = "A"
    made = specialize(network, {"x": (2, 3)}, {}, evaluate)
    constant = made.find("shape of x")
    assert (constant.type, constant.backend_hint, constant.inputs) == ("Constant", None, ())
    assert constant.data.tolist() == [2, 3]
    assert [each.name for each in constant.output.consumers] == ["sizes"]
    assert made.find("filled").output.info.shape == (4, 9)  # what it reads is known now
    assert shape.producer.type == "Shape"


def test_a_network_of_known_shapes_is_special() -> None:
    network = _through(lambda n, x: n.add_addition(x, np.ones(3, np.float32)), (2, 3))
    assert is_special(network, {"x": (2, 3)})
    assert not is_special(network, {"x": (4, 3)})


@pytest.mark.parametrize(
    ("add", "shape", "changes"),
    [
        (lambda n, x: n.add_activation(x), ("N", 3), True),
        (lambda n, x: n.add_shape(x, output=DataType.SIGNED64), (2, 3), True),
        (lambda n, x: n.add_rank(x), (2, 3), True),
        (lambda n, x: n.add_reshape(x, target_shape=(-1,)), (2, 3), True),
        (lambda n, x: n.add_reshape(x, np.array([6])), (2, 3), True),
        (lambda n, x: n.add_concat([np.ones(3), np.ones(2)], axis=0), (2, 3), True),
        (lambda n, x: n.add_non_zero(x, output=DataType.SIGNED64), (2, 3), False),
    ],
)
def test_what_specializing_changes_is_not_special(
    add: Callable[[Network, Value], Value], shape: Sequence[int | str], changes: bool
) -> None:
    network = _through(add, shape)
    assert not is_special(network, {"x": (2, 3)})
    before = [(each.type, each.descriptor, each.output_infos) for each in network.layers]
    made = specialize(network, {"x": (2, 3)}, {}, slices)
    after = [(each.type, each.descriptor, each.output_infos) for each in made.layers]
    assert (before != after) is changes


def test_a_special_network_is_what_specializing_makes_of_it() -> None:
    network = _through(lambda n, x: n.add_reshape(x, target_shape=(3, 2)), (2, 3))
    assert is_special(network, {"x": (2, 3)})
    before = [(each.type, each.descriptor, each.output_infos) for each in network.layers]
    made = specialize(network, {"x": (2, 3)}, {}, slices)
    assert [(each.type, each.descriptor, each.output_infos) for each in made.layers] == before


@pytest.mark.parametrize("target", [(-1, 6), np.array([-1, 6])])
def test_copies_have_the_shapes_of_what_they_read_here(target: object) -> None:
    original = Network()
    x = original.add_input("x", TensorInfo((None, 2, 3), DataType.FLOAT32))
    original.add_output("y", original.add_reshape(x, target_shape=target, name="flat"))
    assert original.find("flat").output.info.shape == (None, 6)
    network = Network()
    here = network.add_input("x", TensorInfo((5, 2, 3), DataType.FLOAT32))
    flat = original.find("flat")
    constants = [each.producer for each in flat.inputs if each is not None and each is not x]
    copies = network.insert_copies([*constants, flat], {x: here})
    network.add_output("y", copies[flat.output])
    assert not is_special(network, {"x": (5, 2, 3)})
    made = specialize(network, {"x": (5, 2, 3)}, {}, slices)
    assert made.find("flat").output.info.shape == (5, 6)


def test_an_info_that_was_changed_by_hand_is_inferred_again() -> None:
    network = _through(lambda n, x: n.add_activation(n.add_activation(x), name="last"), (2, 3))
    last = network.find("last")
    assert last.is_inferred
    network.inputs[0].output.info = TensorInfo((5, 3))
    infer_shapes(network)
    assert last.output.info == TensorInfo((5, 3))
    last.output.info = TensorInfo((7, 3))
    assert not last.is_inferred
    infer_shapes(network)
    assert last.output.info == TensorInfo((5, 3))


def test_other_data_of_a_shape_is_read_again() -> None:
    network = Network("n")
    x = network.add_input("x", TensorInfo((2, 3)))
    network.add_output("y", network.add_reshape(x, np.array([3, 2]), name="reshape"))
    reshape = network.find("reshape")
    assert reshape.is_inferred
    network.replace_input(reshape, 1, network.add_constant(np.array([6, 1])))
    infer_shapes(network)
    assert reshape.output.info == TensorInfo((6, 1))
