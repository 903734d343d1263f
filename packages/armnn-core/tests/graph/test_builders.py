# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

import numpy as np
import pytest

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.graph import Network, Value
from armnn.graph._builders import LayerBuilders
from armnn.layers import LAYERS
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, DataLayout, DataType

BUILDERS = {
    name: getattr(LayerBuilders, name) for name in vars(LayerBuilders) if name.startswith("add_")
}
WORDS = {
    "L2Normalization": "add_l2_normalization",
    "QLstm": "add_q_lstm",
    "BatchMatMul": "add_batch_mat_mul",
    "ConvertFp16ToFp32": "add_convert_fp16_to_fp32",
    "Convolution2d": "add_convolution2d",
    "ReverseV2": "add_reverse_v2",
    "PreCompiled": "add_pre_compiled",
    "GatherNd": "add_gather_nd",
}


@pytest.fixture
def network() -> Network:
    return Network("net")


def _input(network: Network, *shape: int | str | None) -> Value:
    return network.add_input("x", TensorInfo(shape))


def test_every_layer_has_a_builder() -> None:
    plain = {name.replace("_", "") for name in BUILDERS}
    assert plain == {
        f"add{name.lower()}" for name in LAYERS if name not in ("Input", "Output", "Constant")
    }


@pytest.mark.parametrize("layer_type", WORDS)
def test_builders_are_named_in_words(layer_type: str) -> None:
    assert WORDS[layer_type] in BUILDERS


@pytest.mark.parametrize("name", BUILDERS)
def test_builders_document_each_parameter(name: str) -> None:
    doc = inspect.getdoc(BUILDERS[name]) or ""
    arguments = doc.partition("Args:\n")[2].partition("\n\nReturns:")[0]
    assert re.findall(r"^ {4}(\w+): \S", arguments, re.MULTILINE) == [
        parameter
        for parameter in inspect.signature(BUILDERS[name]).parameters
        if parameter != "self"
    ]


@pytest.mark.parametrize("name", BUILDERS)
def test_the_defaults_of_builders_are_those_of_the_descriptors(name: str) -> None:
    spec = next(s for s in LAYERS.values() if f"add{s.name.lower()}" == name.replace("_", ""))
    parameters = inspect.signature(BUILDERS[name]).parameters
    names = [field.name for field in dataclasses.fields(spec.descriptor)]
    fields: dict[str, Any] = {name: parameters[name].default for name in names}
    assert spec.descriptor(**fields) == spec.descriptor()


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("add_activation", "Add an Activation layer."),
        ("add_convolution2d", "Add a Convolution2d layer."),
        ("add_elementwise_unary", "Add an ElementwiseUnary layer."),
        ("add_l2_normalization", "Add an L2Normalization layer."),
        ("add_lstm", "Add an Lstm layer."),
        ("add_unidirectional_sequence_lstm", "Add a UnidirectionalSequenceLstm layer."),
        ("add_unmap", "Add an Unmap layer."),
    ],
)
def test_the_article_is_the_spoken_one(name: str, start: str) -> None:
    assert (BUILDERS[name].__doc__ or "").startswith(start)


def test_inputs_come_first_then_parameters_by_name() -> None:
    assert str(inspect.signature(LayerBuilders.add_reshape)) == (
        "(self, input: 'Operand', computed_target_shape: 'Operand | None' = None, *, "
        "target_shape: 'Sequence[int]' = (), zero_copies: 'bool' = False, "
        "name: 'str | None' = None, output: 'RequestedLike' = None) -> 'Value'"
    )


def test_an_optional_input_before_a_required_one_is_said_to_be_absent() -> None:
    parameters = inspect.signature(LayerBuilders.add_scatter_nd).parameters
    assert list(parameters)[1:5] == ["input", "indices", "updates", "shape"]
    assert parameters["input"].default is inspect.Parameter.empty
    assert parameters["shape"].default is None


def test_a_builder_returns_the_output_of_the_layer_that_it_made(network: Network) -> None:
    value = network.add_activation(
        _input(network, 2, 3), function=ActivationFunction.ELU, a=1.5, name="elu"
    )
    layer = value.producer
    assert (layer.type, layer.name) == ("Activation", "elu")
    assert layer.descriptor == LAYERS["Activation"].descriptor(
        function=ActivationFunction.ELU, a=1.5
    )
    assert value.info == TensorInfo((2, 3))


def test_arrays_become_constants(network: Network) -> None:
    value = network.add_convolution2d(
        _input(network, 1, 8, 8, 3),
        np.ones((4, 3, 3, 3), np.float32),
        np.zeros(4, np.float32),
        data_layout=DataLayout.NHWC,
    )
    assert value.info.shape == (1, 6, 6, 4)
    assert value.producer.constant("bias") is not None


def test_lists_become_tuples(network: Network) -> None:
    value = network.add_pad(_input(network, 2, 3), pad_list=[(1, 0), (0, 2)])
    assert value.info.shape == (3, 5)
    assert value.producer.descriptor == LAYERS["Pad"].descriptor(pad_list=((1, 0), (0, 2)))


def test_any_number_of_inputs_is_a_list(network: Network) -> None:
    x = _input(network, 2, 3)
    assert network.add_concat([x, x, x], axis=1).info.shape == (2, 9)


def test_several_outputs_are_a_tuple(network: Network) -> None:
    first, second = network.add_splitter(_input(network, 5), sizes=[2, 3])
    assert (first.info.shape, second.info.shape) == ((2,), (3,))


def test_a_computed_parameter_is_an_input(network: Network) -> None:
    x = _input(network, "n", 4)
    value = network.add_reshape(x, network.add_shape(x))
    assert value.info.shape == (None, None)
    value = network.add_reshape(x, computed_target_shape=np.array([-1, 2, 2]))
    assert value.info.shape == ("n", 2, 2)


def test_an_output_may_be_said(network: Network) -> None:
    x = _input(network, 2)
    assert network.add_cast(x, output=DataType.SIGNED64).info.data_type is DataType.SIGNED64
    info = TensorInfo((2,), DataType.QASYMM_S8, 0.5, 3)
    assert network.add_quantize(x, output=info).info == info


def test_several_outputs_may_be_said(network: Network) -> None:
    infos = [TensorInfo((1,)), TensorInfo((None,), DataType.SIGNED64)]
    values = network.add_stand_in([_input(network, 2)], num_outputs=2, outputs=infos)
    assert [value.info for value in values] == infos


def test_a_layer_without_outputs_returns_nothing(network: Network) -> None:
    network.add_map(_input(network, 2), name="map")
    assert network.find("map").outputs == ()


def test_what_does_not_fit_is_refused_with_the_name_of_the_layer(network: Network) -> None:
    with pytest.raises(ShapeError, match=r"layer 'sum' \(Addition\): the shapes \[2\] and \[3\]"):
        network.add_addition(_input(network, 2), np.zeros(3, np.float32), name="sum")


def test_parameters_out_of_range_are_refused(network: Network) -> None:
    with pytest.raises(InvalidArgumentError, match="'block_size' is 0, expected at least 1"):
        network.add_space_to_depth(_input(network, 1, 2, 2, 1), block_size=0)
