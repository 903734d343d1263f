# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError
from armnn_parser_tflite.parser import parse


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("RESHAPE", [2, 2]),
        ("TRANSPOSE", [np.nan, 0]),
        ("SUM", [1]),
        ("TILE", [2, np.inf]),
        ("GATHER", [0]),
        ("PAD", [[0, 0], [1, 1]]),
        ("EXPAND_DIMS", [0]),
    ],
)
def test_positions_that_are_not_integers_are_refused(
    lite: Any, name: str, numbers: list[Any]
) -> None:
    tensors = {
        "x": lite.Tensor(shape=(2, 2)),
        "n": lite.constant(np.float32(numbers)),
        "y": lite.Tensor(),
    }
    with pytest.raises(
        ParseError, match=r"\(operator 0\): its input 1 is [Ff]loat32: expected int"
    ):
        parse(lite.build(lite.Op(name, ["x", "n"]), tensors))


def test_large_custom_options_stand_behind_the_tables(lite: Any) -> None:
    def edit(model: Any) -> None:
        operator = model.subgraphs[0].operators[0]
        operator.largeCustomOptionsOffset, operator.largeCustomOptionsSize = 1 << 20, 5

    names = list("pqrt")
    tensors = {name: lite.Tensor() for name in names} | {"x": lite.Tensor(shape=(1, 6, 4))}
    op = lite.Op("TFLite_Detection_PostProcess", ["x", "x", "x"], names)
    with pytest.raises(ParseError, match="its options lie outside of the file"):
        parse(lite.build(op, tensors, outputs=names, edit=edit))


def test_operators_without_inputs_or_outputs_are_refused(lite: Any) -> None:
    tensors = {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor(shape=(2,))}
    with pytest.raises(ParseError, match=r"ADD_N \(operator 0\): it has no input"):
        parse(lite.build(lite.Op("ADD_N", []), tensors))
    tensors["k"] = lite.constant(np.int32(1))
    with pytest.raises(ParseError, match=r"TOPK_V2 \(operator 0\): its output 1 is missing"):
        parse(lite.build(lite.Op("TOPK_V2", ["x", "k"]), tensors))


def test_layers_without_a_name_have_that_of_the_operator(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.subgraphs[0].tensors[1].name = ""

    tensors = {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor(shape=(2,))}
    network = parse(lite.build(lite.Op("RELU", ["x"]), tensors, edit=edit))
    assert network.find("RELU_0").type == "Activation"
