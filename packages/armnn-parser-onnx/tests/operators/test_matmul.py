# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

node = helper.make_node
Model = Callable[..., onnx.ModelProto]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
    ],
)
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_products_follow_numpy(
    check: Callable[..., Any],
    rng: np.random.Generator,
    first: tuple[int, ...],
    second: tuple[int, ...],
    constant: bool,
    dtype: type,
) -> None:
    a, b = ((10 * rng.standard_normal(shape)).astype(dtype) for shape in (first, second))
    inputs = {"a": a} if constant else {"a": a, "b": b}
    constants = {"b": b} if constant else {}
    check(node("MatMul", ["a", "b"], ["y"]), inputs, constants=constants, rtol=1e-4, atol=1e-4)
    check(
        node("MatMul", ["a", "b"], ["y"]),
        inputs,
        constants=constants,
        dynamic=True,
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize(
    "attributes", [{}, {"transA": 1}, {"transB": 1}, {"alpha": 0.5, "beta": 2.0}]
)
@pytest.mark.parametrize("added", [None, (4,), (1, 4), (2, 1), (2, 4), ()])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("opset", [7, 13])
def test_gemm(
    check: Callable[..., Any],
    rng: np.random.Generator,
    attributes: dict[str, Any],
    added: tuple[int, ...] | None,
    constant: bool,
    opset: int,
) -> None:
    a = rng.standard_normal((3, 2) if "transA" in attributes else (2, 3)).astype(np.float32)
    weights = {"b": rng.standard_normal((4, 3) if "transB" in attributes else (3, 4))}
    if added is not None or opset < 11:
        weights["c"] = rng.standard_normal(added or (4,))
    weights = {name: np.asarray(data, np.float32) for name, data in weights.items()}
    inputs = {"a": a} if constant else {"a": a, **weights}
    gemm = node("Gemm", ["a", *weights], ["y"], **attributes)
    check(gemm, inputs, constants=weights if constant else {}, opset=opset, rtol=1e-4)


def test_gemm_with_constant_weights_is_one_layer(model: Model) -> None:
    weights = {"b": np.zeros((4, 3), np.float32), "c": np.zeros(4, np.float32)}
    made = model(
        node("Gemm", ["a", "b", "c"], ["y"], name="g", transB=1),
        {"a": (1, ["N", 3])},
        constants=weights,
    )
    network = parse(made.SerializeToString())
    assert network.find("g").type == "FullyConnected"
    assert network.outputs[0].input_infos[0].shape == ("N", 4)


def test_a_factor_of_zero_leaves_the_summand_out(run: Callable[..., Any], model: Model) -> None:
    a = np.ones((2, 2), np.float32)
    nan = {"b": a, "c": np.full(2, np.nan, np.float32)}
    (y,) = run(
        model(node("Gemm", ["a", "b", "c"], ["y"], beta=0.0), {"a": a}, constants=nan), {"a": a}
    )
    assert y.tolist() == [[2, 2], [2, 2]]


def test_wrong_ranks_are_refused(model: Model) -> None:
    scalar, cube = np.zeros((), np.float32), np.zeros((2, 2, 2), np.float32)
    with pytest.raises(ParseError, match="an input is a scalar: expected rank 1 or more"):
        parse(
            model(node("MatMul", ["a", "b"], ["y"]), {"a": scalar, "b": cube}).SerializeToString()
        )
    with pytest.raises(ParseError, match="an input has rank 3: expected matrices, rank 2"):
        parse(model(node("Gemm", ["a", "b"], ["y"]), {"a": cube, "b": cube}).SerializeToString())
