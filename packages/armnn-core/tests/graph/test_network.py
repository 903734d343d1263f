# SPDX-License-Identifier: MIT
from __future__ import annotations

from random import Random

import numpy as np
import pytest

from armnn import DataType, LayerType, Network, TensorInfo
from armnn.errors import GraphError, InvalidArgumentError, ShapeError
from armnn.layers.activation import ActivationDescriptor, PreluDescriptor
from armnn.types import ActivationFunction

INFO = TensorInfo((2, 3))


def test_what_is_taken_out_lets_its_data_go() -> None:
    network = Network("weights")
    constants = [network.add_constant(np.zeros(3, np.float32)).producer for _ in range(2)]
    network.remove(constants[0])
    assert constants[0].data is None
    network.clear()
    assert constants[1].data is None
    assert network.layers == ()


def test_a_value_knows_its_producer_and_its_uses() -> None:
    network = Network("n")
    x = network.add_input("x", INFO)
    y = network.add_activation(x, name="act")
    out = network.add_output("y", y)
    assert y.producer.name == "act"
    assert x.consumers == (y.producer,)
    assert list(y.uses) == [(out, 0)]
    assert [layer.type for layer in network.layers] == ["Input", "Activation", "Output"]


def test_the_generic_way_makes_the_same_layer_as_the_typed_one() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    typed = network.add_activation(x, function=ActivationFunction.TANH, a=1.0, b=2.0).producer
    descriptor = ActivationDescriptor(function=ActivationFunction.TANH, a=1.0, b=2.0)
    generic = network.add(LayerType.Activation, [x], descriptor)
    by_name = network.add("Activation", [x], descriptor)
    assert typed.descriptor == generic.descriptor == by_name.descriptor
    assert typed.spec is generic.spec is by_name.spec


def test_an_array_becomes_a_constant() -> None:
    network = Network()
    y = network.add_prelu(network.add_input("x", INFO), np.array([0.5], np.float32))
    alpha = y.producer.input("alpha")
    assert alpha is not None
    assert alpha.constant is not None
    assert alpha.producer.type == "Constant"
    assert y.producer.constant("alpha") is alpha.constant


def test_constants_check_their_data() -> None:
    network = Network()
    with pytest.raises(InvalidArgumentError, match=r"'w' is int64 of shape \[2\]: expected Float"):
        network.add_constant(np.array([1, 2]), TensorInfo((2,)), name="w")
    with pytest.raises(InvalidArgumentError, match=r"shape \[2\]: expected Signed64\[3\]"):
        network.add_constant(np.array([1, 2]), TensorInfo((3,), DataType.SIGNED64))


def test_names_are_made_up_or_must_be_free() -> None:
    network = Network("n")
    x = network.add_input("x", INFO)
    assert network.add_activation(x).producer.name == "Activation_1"
    network.add_activation(x, name="act")
    with pytest.raises(InvalidArgumentError, match="network 'n' already has a layer 'act'"):
        network.add_activation(x, name="act")
    assert network.unique_name("act") == "act_2"
    with pytest.raises(InvalidArgumentError, match="already has a layer 'x' of type Input"):
        network.add_input("x", INFO)


def test_inputs_outputs_and_layers_may_share_a_name() -> None:
    network = Network()
    x = network.add_input("t", INFO)
    y = network.add_activation(x, name="t")
    network.add_output("t", y)
    assert network.find("t") is y.producer
    with pytest.raises(InvalidArgumentError, match="has no layer 'u'"):
        network.find("u")


def test_wrong_arguments_are_refused() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    with pytest.raises(InvalidArgumentError, match="there is no layer type 'Conv'"):
        network.add("Conv", [x])
    with pytest.raises(InvalidArgumentError, match="is a PreluDescriptor, expected an Activat"):
        network.add("Activation", [x], PreluDescriptor())
    with pytest.raises(ShapeError, match="got 2 inputs, expected at most 1"):
        network.add("Activation", [x, x])
    with pytest.raises(ShapeError, match=r"'p' \(Prelu\): the input 'alpha' is missing"):
        network.add("Prelu", [x], name="p")
    with pytest.raises(InvalidArgumentError, match="has 1 outputs: got 2 infos"):
        network.add("Activation", [x], outputs=[None, None])
    with pytest.raises(GraphError, match="'x' belongs to another network"):
        Network().add_activation(x)


def test_shapes_that_do_not_fit_name_the_layer() -> None:
    network = Network()
    x, alpha = network.add_input("x", INFO), network.add_input("a", TensorInfo((4,)))
    with pytest.raises(ShapeError, match=r"layer 'p' \(Prelu\): the shapes \[2,3\] and \[4\]"):
        network.add_prelu(x, alpha, name="p")


def test_the_caller_may_say_type_quantization_or_shape_of_an_output() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((None, 3)))
    assert network.add_activation(x, output=DataType.FLOAT16).info == TensorInfo(
        (None, 3), DataType.FLOAT16
    )
    info = TensorInfo(None, DataType.QASYMM_U8, 0.1, 3)
    assert network.add_activation(x, output=info).info == info.with_shape((None, 3))
    said = network.add_activation(x, output=TensorInfo((4, 3)))
    assert said.info.shape == (4, 3)
    with pytest.raises(ShapeError, match=r"declared with shape \[4,4\].*makes \[\?,3\]"):
        network.add_activation(x, output=TensorInfo((4, 4)))


def test_uses_follow_when_a_value_is_replaced() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    a = network.add_activation(x)
    b = network.add_activation(a)
    out = network.add_output("y", b)
    network.replace_uses(a, x)
    assert b.producer.inputs == (x,)
    assert not a.uses
    assert list(x.uses) == [(a.producer, 0), (b.producer, 0)]
    network.remove(a.producer)
    assert list(x.uses) == [(b.producer, 0)]
    with pytest.raises(GraphError, match=r"still read by \['y'\]"):
        network.remove(b.producer)
    network.remove(out)


def test_the_same_value_may_stand_in_two_inputs() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    y = network.add_prelu(x, x)
    assert list(x.uses) == [(y.producer, 0), (y.producer, 1)]
    assert x.consumers == (y.producer,)
    network.replace_input(y.producer, 1, network.add_input("z", INFO))
    assert list(x.uses) == [(y.producer, 0)]


def test_layers_are_ordered_after_their_producers_and_older_ones_first() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    a = network.add_activation(x, name="a")
    b = network.add_activation(x, name="b")
    c = network.add_prelu(b, a, name="c")
    network.add_output("y", c)
    network.replace_input(a.producer, 0, b)
    names = [layer.name for layer in network.topological_order()]
    assert names == ["x", "b", "a", "c", "y"]


@pytest.mark.parametrize("seed", range(20))
def test_the_oldest_layer_whose_producers_are_there_comes_next(seed: int) -> None:
    random, network = Random(seed), Network()
    values = [network.add_input("x", INFO)]
    for _ in range(random.randrange(2, 15)):
        values.append(network.add_addition(random.choice(values), random.choice(values)))
        network.add_output(f"y{len(values)}", random.choice(values))
    if seed % 2:  # an older layer reads a younger one
        younger = network.add_activation(values[0])
        network.replace_input(random.choice(values[1:]).producer, 0, younger)
    left, expected = list(network.layers), []
    left.sort(key=lambda layer: layer.type == "Output")  # outputs come last
    while left:
        is_ready = [all(v.producer in expected for v in each.inputs if v) for each in left]
        expected.append(left.pop(is_ready.index(True)))
    assert list(network.topological_order()) == expected


def test_a_cycle_is_told() -> None:
    network = Network("loop")
    x = network.add_input("x", INFO)
    a = network.add_activation(x, name="a")
    b = network.add_activation(a, name="b")
    network.replace_input(a.producer, 0, b)
    with pytest.raises(GraphError, match=r"layers \['a', 'b'\] of the network 'loop' form a cycle"):
        network.topological_order()


def test_unused_layers_go_and_inputs_stay() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    network.add_activation(network.add_activation(x))
    network.add_output("y", x)
    assert network.remove_unused() == 2
    assert [layer.type for layer in network.layers] == ["Input", "Output"]


def test_a_clone_is_independent_but_shares_the_data() -> None:
    network = Network("n", {"author": "me"})
    x = network.add_input("x", INFO)
    y = network.add_prelu(x, np.array([0.5], np.float32), name="p")
    y.producer.backend_hint = "CpuRef"
    network.add_output("y", y)
    copy = network.clone()
    assert [layer.name for layer in copy.layers] == [
        layer.name for layer in network.topological_order()
    ]
    assert copy.metadata == {"author": "me"}
    twin = copy.find("p")
    assert twin.backend_hint == "CpuRef"
    assert twin.constant("alpha") is y.producer.constant("alpha")
    copy.replace_uses(twin.output, copy.inputs[0].output)
    assert y.uses
    assert not twin.output.uses


def test_a_part_can_be_extracted_only_with_its_producers() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    y = network.add_activation(x, name="act")
    part = network.extract([x.producer, y.producer])
    assert [layer.name for layer in part.layers] == ["x", "act"]
    with pytest.raises(GraphError, match="'act' reads a value from outside"):
        network.extract([y.producer])


def test_renaming_keeps_names_unique() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    a, b = network.add_activation(x, name="a"), network.add_activation(x, name="b")
    network.rename(b.producer, "a")
    assert b.producer.name == "a_2"
    assert network.find("a") is a.producer
    network.remove(a.producer)
    network.rename(b.producer, "a")
    assert network.find("a") is b.producer


def test_a_network_without_output_is_not_valid() -> None:
    network = Network("n")
    network.add_input("x", INFO)
    with pytest.raises(GraphError, match=r"network 'n' has no output: add_output\(\)"):
        network.validate()


def test_replacing_parameters_infers_the_output_again() -> None:
    network = Network()
    layer = network.add_activation(network.add_input("x", INFO)).producer
    network.replace_descriptor(layer, ActivationDescriptor(function=ActivationFunction.RELU))
    assert layer.output.info == INFO


def test_a_numpy_number_becomes_a_constant() -> None:
    network = Network()
    y = network.add_prelu(network.add_input("x", INFO), np.float32(0.5))
    alpha = y.producer.constant("alpha")
    assert alpha is not None
    assert (alpha.shape, alpha.item()) == ((), 0.5)


def test_what_is_no_operand_says_what_would_be() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    layer = network.add("Activation", [x])
    before = network.layers
    for call, message in (
        (
            lambda: network.add_stand_in(x),
            "the input 'inputs' is a Value, expected a list of values",
        ),
        (
            lambda: network.add_concat(np.zeros((2, 3))),
            r"an array of float64\[2,3\], expected a list",
        ),
        (
            lambda: network.add("Activation", x),
            "the inputs of layer .* is a Value, expected a list",
        ),
        (lambda: network.add_addition(x, 2.0), "'other' is 2.0, .*np.float32.. makes one of a num"),
        (
            lambda: network.add_activation(layer),
            "'input' is a Layer, .*values of a layer are in its",
        ),
        (lambda: network.add_addition(np.zeros(3), "y"), "'other' is 'y', expected a Value of the"),
        (lambda: network.add_output("y", layer), "is a Layer, expected a Value; the values of a"),
        (lambda: network.add_input("z", (1, 3)), r"'z' is \(1, 3\), expected a TensorInfo"),
        (lambda: network.add_input(5, INFO), "the name of an input is 5, expected a text"),
        (lambda: network.add_activation(x, name=5), "name of an Activation layer is 5, expected a"),
        (lambda: network.add_activation(x, output="Flaot32"), "did you mean 'Float32'.; or a Tens"),
        (lambda: network.add("Activaton", [x]), "there is no layer type 'Activaton': did you mean"),
        (
            lambda: network.add(9999, [x]),
            "the layer type is 9999, expected a LayerType, its name or",
        ),
        (
            lambda: network.add_constant([[1], [1, 2]]),
            "the data of the constant '' cannot be converted",
        ),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            call()
    assert network.layers == before  # no constant was left behind


def test_a_layer_type_is_given_by_name_number_or_member() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    for said in ("Activation", LayerType.Activation, 0, np.int64(0)):
        assert network.add(said, [x]).type == "Activation"


def test_the_data_type_of_an_output_is_given_by_name() -> None:
    network = Network()
    x = network.add_input("x", INFO)
    assert network.add_cast(x, output="Float16").info.data_type is DataType.FLOAT16
    assert network.add_cast(x, output=np.int32).info.data_type is DataType.SIGNED32


def test_an_input_is_replaced_in_its_own_slot() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 3)))
    layer = network.add_fully_connected(x, np.zeros((3, 3), np.float32)).producer
    network.replace_input(layer, 2, network.add_constant(np.ones(3, np.float32)))
    assert layer.constant("bias") is not None
    with pytest.raises(InvalidArgumentError, match="is 3, expected one of 0 to 2"):
        network.replace_input(layer, 3, x)
    with pytest.raises(InvalidArgumentError, match="is -1, expected one of 0 to 2"):
        network.replace_input(layer, -1, x)


def test_layers_of_other_networks_are_refused() -> None:
    network, other = Network("one"), Network("two")
    x = network.add_input("x", INFO)
    act = other.add_activation(other.add_input("x", INFO), name="act").producer
    for call in (
        lambda: network.remove(act),
        lambda: network.rename(act, "b"),
        lambda: network.replace_input(act, 0, x),
        lambda: network.replace_descriptor(act, act.descriptor),
    ):
        with pytest.raises(GraphError, match="layer 'act' is not one of the network 'one'"):
            call()
    assert "act" not in network
    assert act in other


def test_an_input_that_a_layer_does_not_have_is_named() -> None:
    network = Network()
    layer = network.add_activation(network.add_input("x", INFO)).producer
    with pytest.raises(KeyError, match=r"^an Activation layer has no input 'y': it has 'input'$"):
        layer.input("y")
