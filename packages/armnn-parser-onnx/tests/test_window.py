# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from armnn_parser_onnx.parser import parse
from armnn_parser_onnx.window import Window

Model = Callable[..., onnx.ModelProto]


def padding_of(model: Model, size: int, **attributes: Any) -> tuple[int, int]:
    made = model(
        helper.make_node("Conv", ["x", "w"], ["y"], name="c", **attributes),
        {"x": (1, [1, 1, 1, size])},
        constants={"w": np.zeros((1, 1, 1, 3), np.float32)},
    )
    padding: tuple[int, int] = parse(made.SerializeToString()).find("c").descriptor.padding[1]
    return padding


@pytest.mark.parametrize(
    ("size", "attributes", "upper", "lower"),
    [
        (5, {}, (1, 1), (1, 1)),
        (6, {"strides": [1, 2]}, (0, 1), (1, 0)),
        (5, {"strides": [1, 2]}, (1, 1), (1, 1)),
        (6, {"strides": [1, 3]}, (0, 0), (0, 0)),
        (7, {"strides": [1, 5]}, (0, 1), (1, 0)),
        (6, {"dilations": [1, 2]}, (2, 2), (2, 2)),
        (6, {"dilations": [1, 2], "strides": [1, 2]}, (1, 2), (2, 1)),
    ],
)
def test_same_padding(
    model: Model,
    size: int,
    attributes: dict[str, Any],
    upper: tuple[int, int],
    lower: tuple[int, int],
) -> None:
    assert padding_of(model, size, auto_pad="SAME_UPPER", **attributes) == upper
    assert padding_of(model, size, auto_pad="SAME_LOWER", **attributes) == lower
    assert padding_of(model, size, auto_pad="VALID", **attributes) == (0, 0)


def test_given_pads_are_begins_then_ends(model: Model) -> None:
    assert padding_of(model, 5, pads=[0, 1, 0, 2]) == (1, 2)


def test_new_axes_in_front_do_nothing() -> None:
    window = Window((3,), (2,), (4,), (1,), (5,))
    assert _numbers(window.padded_to(2)) == ((1, 3), (1, 2), (1, 4), (0, 1), (0, 5))
    assert _numbers(window.padded_to(1)) == _numbers(window)


def _numbers(window: Window) -> tuple[tuple[int, ...], ...]:
    return window.size, window.strides, window.dilations, window.before, window.after
