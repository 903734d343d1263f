# SPDX-License-Identifier: MIT
"""Variants: parts with recorded inputs, and changed copies."""

from __future__ import annotations

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.errors import GraphError, ShapeError
from armnn_tools.debugging.reducing.variants import Variant, part_of, rebuilt, without_outputs

ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)


def three_steps() -> Variant:
    network = Network("steps")
    x = network.add_input("x", TensorInfo((3, 4)))
    value = network.add_floor(x, name="first")
    value = network.add_concat([value, x, x], axis=1, name="second")
    network.add_output("y", network.add_softmax(value, name="third"))
    network.add_output("z", value)
    return Variant(network, {"x": ROWS})


def test_a_part_reads_what_other_layers_computed() -> None:
    whole = three_steps()
    first, second, _ = whole.layers
    recorded = np.full((3, 4), 7, np.float32)
    values = {first.output: recorded, whole.network.inputs[0].output: ROWS}
    part = part_of(whole, [second], values)
    assert [layer.name for layer in part.layers] == ["second"]
    assert [array.sum() for array in part.inputs.values()] == [recorded.sum(), ROWS.sum()]
    assert [layer.name for layer in part.network.outputs] == ["second"]


def test_shapes_are_inferred_of_other_data() -> None:
    whole = three_steps()
    (x,) = whole.network.inputs
    small = ROWS[:1, :2]
    made = rebuilt(whole, {x: (small, TensorInfo((1, 2)))})
    assert made.layers[-1].output.info.shape == (1, 6)
    assert made.inputs["x"] is small
    assert whole.layers[-1].output.info.shape == (3, 12)


def test_data_that_does_not_fit_is_refused() -> None:
    network = Network("sum")
    x = network.add_input("x", TensorInfo((2, 3)))
    network.add_output("y", network.add_addition(x, np.ones((2, 3), np.float32)))
    whole = Variant(network, {"x": np.zeros((2, 3), np.float32)})
    cut = np.zeros((2, 2), np.float32), TensorInfo((2, 2))
    with pytest.raises(ShapeError):
        rebuilt(whole, {network.inputs[0]: cut})


def test_one_of_several_operands_goes_and_an_input_becomes_a_constant() -> None:
    whole = three_steps()
    second = whole.layers[1]
    made = rebuilt(whole, absent=[(second, 0)])
    assert made.layers[-1].output.info.shape == (3, 8)
    fixed = rebuilt(whole, fixed=whole.network.inputs)
    assert fixed.network.inputs == ()
    assert fixed.inputs == {}


def test_without_an_output_its_own_layers_go() -> None:
    whole = three_steps()
    made = without_outputs(whole, [whole.network.outputs[0]])
    assert [layer.name for layer in made.layers] == ["first", "second"]
    assert [layer.name for layer in made.network.outputs] == ["z"]


def test_a_part_of_which_nothing_is_read_is_refused() -> None:
    network = Network("unread")
    network.add_floor(network.add_input("x", TensorInfo((2,))), name="unread")
    whole = Variant(network, {"x": np.zeros(2, np.float32)})
    with pytest.raises(GraphError, match="no layer or output reads the layers from 'unread' on"):
        part_of(whole, whole.layers, {whole.network.inputs[0].output: np.zeros(2, np.float32)})
