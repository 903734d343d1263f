# SPDX-License-Identifier: MIT
"""Operators are converted, deferred, or refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tflite

import armnn
from armnn.errors import ParseError, UnsupportedOperatorError
from armnn.graph import Operator, Survey
from armnn_parser_tflite.conversion import _REASONS, _reason
from armnn_parser_tflite.operators import find_converter
from armnn_parser_tflite.parser import parse


def _tensors(lite: Any, names: str) -> dict[str, Any]:
    return {name: lite.Tensor(shape=(2,)) for name in names}


def test_all_unsupported_operators_are_named(lite: Any) -> None:
    data = lite.build(
        [
            lite.Op("LSH_PROJECTION", ["x"], ["a"]),
            lite.Op("RELU", ["a"], ["b"]),
            lite.Op("HashThing", ["x"], ["c"], custom_options=b""),
            lite.Op("LSH_PROJECTION", ["x"], ["d"]),
            lite.Op("ADD_N", ["b", "c", "d"]),
        ],
        _tensors(lite, "xabcdy"),
    )
    with pytest.raises(UnsupportedOperatorError) as caught:
        parse(data)
    assert caught.value.operators == ("LSH_PROJECTION", "HashThing")
    assert str(caught.value) == (
        "the model uses unsupported operators: "
        "LSH_PROJECTION (operators 0, 3): it looks up by keys or works on texts, which networks "
        "lack; HashThing (operators 2): it is a custom operator, and what it means is not in the "
        "file; armnn.register_operator('tflite', 'HashThing', ...) gives it a function"
    )


def test_a_survey_notes_every_operator_and_converts_the_rest(lite: Any) -> None:
    data = lite.build(
        [
            lite.Op("RELU", ["x"], ["a"]),
            lite.Op("HashThing", ["a"], ["b"], custom_options=b""),
            lite.Op("TANH", ["b"], ["y"]),
        ],
        _tensors(lite, "xaby"),
    )
    survey = Survey()
    network = parse(data, survey=survey)
    assert [(each.type, each.name) for each in survey.operators] == [
        ("RELU", "0"),
        ("HashThing", "1"),
        ("TANH", "2"),
    ]
    assert {each.type: _reason[:26] for each, _reason in survey.refused.items()} == {
        "HashThing": "it is a custom operator, a"
    }
    assert [each.type for each in survey.cut_off] == ["TANH"]
    assert network.outputs == ()
    assert {layer.origin for layer in network.layers if layer.origin} == {Operator("RELU", "0")}


def test_codes_newer_than_the_bindings_are_refused_by_number(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.operatorCodes[0].builtinCode = 5000

    data = lite.build(lite.Op("RELU", ["x"]), _tensors(lite, "xy"), edit=edit)
    with pytest.raises(UnsupportedOperatorError, match=r"builtin operator 5000 \(operators 0\)"):
        parse(data)


def test_older_files_have_the_code_in_one_byte(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.operatorCodes[0].builtinCode = 0

    data = lite.build(lite.Op("RELU", ["x"]), _tensors(lite, "xy"), edit=edit)
    assert [layer.type for layer in parse(data).layers] == ["Input", "Activation", "Output"]


def test_newer_versions_of_an_operator_are_refused(lite: Any) -> None:
    data = lite.build(lite.Op("RELU", ["x"], version=9), _tensors(lite, "xy"))
    with pytest.raises(UnsupportedOperatorError, match="it is of version 9, newer than 3"):
        parse(data)


def test_operators_that_no_output_needs_do_not_matter(lite: Any) -> None:
    data = lite.build(
        [lite.Op("LSH_PROJECTION", ["x"], ["a"]), lite.Op("RELU", ["x"])], _tensors(lite, "xay")
    )
    assert [layer.type for layer in parse(data).layers] == ["Input", "Activation", "Output"]


def test_strings_are_refused(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.subgraphs[0].tensors[2].type = 5

    data = lite.build(lite.Op("ADD", ["x", "s"]), _tensors(lite, "xys"), edit=edit)
    with pytest.raises(UnsupportedOperatorError, match="has a tensor of a type that is not suppo"):
        parse(data)


def test_options_of_another_operator_are_refused(lite: Any) -> None:
    data = lite.build(lite.Op("ADD", ["x", "x"], kind="MulOptions"), _tensors(lite, "xy"))
    with pytest.raises(ParseError, match=r"ADD \(operator 0\): it has MulOptions: expected AddOpt"):
        parse(data)


def test_options_left_out_have_their_defaults(lite: Any) -> None:
    def edit(model: Any) -> None:
        operator = model.subgraphs[0].operators[0]
        operator.builtinOptions, operator.builtinOptionsType = None, 0

    data = lite.build(lite.Op("ADD", ["x", "x"]), _tensors(lite, "xy"), edit=edit)
    x = np.float32([1, -2])
    np.testing.assert_array_equal(lite.run(data, {"x": x})["y"], 2 * x)


def test_what_layers_refuse_names_the_operator(lite: Any) -> None:
    tensors = {**_tensors(lite, "xy"), "s": lite.constant(np.float32([1, 2, 3]))}
    data = lite.build(lite.Op("ADD", ["x", "s"]), tensors)
    with pytest.raises(ParseError, match=r"ADD \(operator 0\): layer 'y' \(Addition\): "):
        parse(data)


def test_an_operator_that_waits_may_meet_several_shapes(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 1), signature=(-1, -1)),
        "a": lite.constant(np.int32(1)),
        "p": lite.Tensor(),
        "y": lite.Tensor(),
    }
    ops = [lite.Op("SPLIT", ["a", "x"], ["p", "y"]), lite.Op("NEG", ["p"], ["z"])]
    data = lite.build(ops, tensors | {"z": lite.Tensor()}, outputs=["z", "y"])
    with armnn.Runtime() as runtime:
        loaded = runtime.load_network(runtime.optimize(parse(data), backends=["CpuRef"]))
        for rows, columns in ((1, 4), (4, 2), (1, 4)):
            x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
            results = loaded.run({"x": x})
            np.testing.assert_array_equal(results["z"], -x[:, : columns // 2])
            np.testing.assert_array_equal(results["y"], x[:, columns // 2 :])
        with pytest.raises(ParseError, match="an axis of 3 elements cannot become 2 equal parts"):
            loaded.run({"x": np.zeros((1, 3), np.float32)})


@pytest.mark.parametrize("name", _REASONS)
def test_what_has_a_reason_is_builtin_and_not_converted(name: str) -> None:
    assert hasattr(tflite.BuiltinOperator, name) or name.startswith("STABLEHLO_")
    assert find_converter(name, custom=False) is None


def test_each_kind_of_operator_has_its_reason() -> None:
    assert "random" in _reason("RANDOM_UNIFORM", custom=False)
    assert _reason("DILATE", custom=False) == "no layer computes it"
    assert "custom operator" in _reason("RANDOM_UNIFORM", custom=True)


def test_a_custom_operator_of_the_program(lite: Any) -> None:
    """Its outputs have the type and the scale of the file, and the shape of the function."""
    data = lite.build(
        [
            lite.Op("Twice", [None, "x", None], ["a"], custom_options=b"two"),
            lite.Op("RELU", ["a"], ["y"]),
        ],
        {
            "x": lite.Tensor("int8", (2,), scale=0.5, zero_point=1),
            "a": lite.Tensor("int8", (4,), scale=0.25, zero_point=-3),
            "y": lite.Tensor("int8", (4,), scale=0.25, zero_point=-3),
        },
    )
    given: list[Any] = []

    def twice(nothing: Any, x: Any, *, custom_options: bytes) -> Any:
        given.append((x.dtype, nothing, custom_options))
        return np.concatenate([x, x])

    with armnn.register_operator("tflite", "Twice", twice):
        network = parse(data)
    (layer,) = (each for each in network.layers if each.type == "StandIn")
    assert given == [(np.dtype(np.int8), None, b"two")]
    assert layer.title == "tflite::Twice"
    (info,) = layer.output_infos
    assert (info.shape, info.data_type.arm_name) == ((4,), "QAsymmS8")
    assert (info.scales, info.zero_points) == ((0.25,), (-3,))

    def wide(_nothing: Any, x: Any, *, custom_options: bytes) -> Any:
        return x.astype(np.float32)

    message = r"output 0 .*Twice is Float32: the file says QAsymmS8"
    with (
        armnn.register_operator("tflite", "Twice", wide),
        pytest.raises(ParseError, match=message),
    ):
        parse(data)


def test_a_custom_operator_that_layers_compute_is_replaced_if_that_was_said(lite: Any) -> None:
    name = "TFLite_Detection_PostProcess"
    data = lite.build([lite.Op(name, ["x"], ["y"], custom_options=b"")], _tensors(lite, "xy"))
    with (
        armnn.register_operator("tflite", name, lambda x, custom_options: x),
        pytest.raises(UnsupportedOperatorError, match=r"registered tflite::.*replace=True"),
    ):
        parse(data)
    with armnn.register_operator("tflite", name, lambda x, custom_options: x, replace=True):
        assert any(layer.title == f"tflite::{name}" for layer in parse(data).layers)
