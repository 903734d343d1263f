# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

node = helper.make_node
Model = Callable[..., onnx.ModelProto]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    "attributes",
    [
        {"value": numpy_helper.from_array(X)},
        {"value_float": 1.5},
        {"value_floats": [1.5, 2.5]},
        {"value_int": 7},
        {"value_ints": [7, 8]},
    ],
)
def test_constants(check: Callable[..., Any], attributes: dict[str, Any]) -> None:
    check(node("Constant", [], ["y"], **attributes), {})


@pytest.mark.parametrize("attributes", [{}, {"value_int": 1, "value_float": 1.0}])
def test_a_constant_has_exactly_one_value(model: Model, attributes: dict[str, Any]) -> None:
    with pytest.raises(ParseError, match="expected exactly one value"):
        parse(model(node("Constant", [], ["y"], **attributes)).SerializeToString())


def test_constants_of_text_or_few_elements_are_refused(model: Model) -> None:
    made = model(node("Constant", [], ["y"], value_string="text", name="c"))
    with pytest.raises(ParseError, match="its attribute 'value_string' is a string or a sparse"):
        parse(made.SerializeToString())
    sparse = onnx.SparseTensorProto(dims=[2])
    made = model(node("Constant", [], ["y"], sparse_value=sparse, name="c"))
    with pytest.raises(ParseError, match="'sparse_value' is a string or a sparse tensor"):
        parse(made.SerializeToString())


def test_malformed_data_of_a_constant_names_the_node(model: Model) -> None:
    data = onnx.TensorProto(data_type=1, dims=[3], raw_data=b"1234")
    made = model(node("Constant", [], ["y"], value=data, name="c"))
    with pytest.raises(ParseError, match=r"^node 'c' \(Constant\): the tensor '' has 4 bytes of"):
        parse(made.SerializeToString())


def test_identity_and_dropout_are_no_layers(model: Model) -> None:
    nodes = [node("Identity", ["x"], ["a"]), node("Dropout", ["a"], ["y"])]
    network = parse(model(nodes, {"x": X}).SerializeToString())
    assert [layer.type for layer in network.layers] == ["Input", "Output"]


@pytest.mark.parametrize("opset", [7, 10, 13])
def test_the_mask_of_dropout_is_true(run: Callable[..., Any], model: Model, opset: int) -> None:
    made = model(node("Dropout", ["x"], ["y", "m"]), {"x": X}, ["y", "m"], opset=opset)
    y, mask = run(made, {"x": X})
    np.testing.assert_array_equal(y, X)
    assert mask.shape == X.shape
    assert mask.all()


@pytest.mark.parametrize("constant", [True, False])
def test_dropout_in_training_is_refused(model: Model, constant: bool) -> None:
    given = {"t": np.array(True)}
    made = model(
        node("Dropout", ["x", "", "t"], ["y"]),
        {"x": X} if constant else {"x": X, **given},
        constants=given if constant else {},
    )
    with pytest.raises(ParseError, match="it may be in training mode"):
        parse(made.SerializeToString())


def test_dropout_that_says_it_does_not_train_is_taken(model: Model) -> None:
    made = model(node("Dropout", ["x", "", "t"], ["y"]), {"x": X}, constants={"t": np.array(False)})
    assert len(parse(made.SerializeToString())) == 2
