# SPDX-License-Identifier: MIT
"""Unknown shapes: -1, copied dimensions, computed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from armnn.layers.reshaping import ReshapeDescriptor
from armnn_parser_onnx.parser import parse

Model = Callable[..., onnx.ModelProto]


def unsqueezed(model: Model, shape: list[Any], axes: list[int]) -> onnx.ModelProto:
    return model(
        helper.make_node("Unsqueeze", ["x", "a"], ["y"], name="u"),
        {"x": (1, shape)},
        constants={"a": np.array(axes)},
    )


@pytest.mark.parametrize(
    ("shape", "axes", "target", "copies"),
    [
        ([2, 3], [1], (2, 1, 3), False),
        ([2, 0], [1], (2, 1, 0), False),
        (["N", 3], [0], (1, -1, 3), True),
        (["N", 3], [1], (0, 1, 3), True),
        (["N", None], [2], (0, 0, 1), True),
        (["N", None], [1], (0, 1, -1), True),
    ],
)
def test_known_or_single_unknown_dimensions_need_no_other_layer(
    model: Model, shape: list[Any], axes: list[int], target: tuple[int, ...], copies: bool
) -> None:
    network = parse(unsqueezed(model, shape, axes).SerializeToString())
    assert [layer.type for layer in network.layers] == ["Input", "Reshape", "Output"]
    expected = ReshapeDescriptor(target_shape=target, zero_copies=copies)
    assert network.find("u").descriptor == expected


def test_two_unknown_dimensions_that_move_are_computed(
    model: Model, run: Callable[..., Any]
) -> None:
    made = unsqueezed(model, [None, None], [0])
    types = [layer.type for layer in parse(made.SerializeToString()).layers]
    assert types.count("Shape") == 1
    assert types.count("Concat") == 1
    for shape in ((2, 3), (0, 3), (1, 1)):
        x = np.zeros(shape, np.float32)
        assert run(made, {"x": x})[0].shape == (1, *shape)


def test_a_product_of_unknown_dimensions_is_computed(model: Model, run: Callable[..., Any]) -> None:
    made = model(
        helper.make_node("Flatten", ["x"], ["y"], axis=2), {"x": (1, [None, None, None, None])}
    )
    types = [layer.type for layer in parse(made.SerializeToString()).layers]
    assert types.count("Reduce") == 2
    assert run(made, {"x": np.zeros((2, 3, 4, 5), np.float32)})[0].shape == (6, 20)
    assert run(made, {"x": np.zeros((2, 0, 4, 5), np.float32)})[0].shape == (0, 20)


def test_one_network_takes_several_batches(model: Model, run: Callable[..., Any]) -> None:
    weights = {"w": np.ones((2, 3, 3), np.float32)}
    made = model(
        helper.make_node("Conv", ["x", "w"], ["y"]), {"x": (1, ["N", 3, "W"])}, constants=weights
    )
    for batch, width in ((1, 5), (4, 3), (2, 9)):
        (y,) = run(made, {"x": np.ones((batch, 3, width), np.float32)})
        np.testing.assert_array_equal(y, np.full((batch, 2, width - 2), 9))
