# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn._symbolic import Symbolic, Tape
from armnn.graph import Layer, Network
from armnn.optimizer.symbolic.arithmetic import MOST_ELEMENTS, moved
from armnn.tensor import TensorInfo
from armnn.types import DataType

X = np.array([[10, 11, 12], [20, 21, 22]], np.int64)


def layer_of(kind: str, *operands: np.ndarray, **parameters: Any) -> Layer:
    network = Network("n")
    values = [network.add_constant(each) for each in operands]
    made = getattr(network, f"add_{kind}")
    result = made(values if kind == "concat" else values[0], *values[1:][: kind == "gather"],
                  **parameters)  # fmt: skip
    layer: Layer = result.producer
    return layer


@pytest.mark.parametrize(
    ("kind", "operands", "parameters", "expected"),
    [
        ("gather", [X, np.array(1)], {}, [20, 21, 22]),
        ("gather", [X, np.array(-1, np.int32)], {"axis": 1}, [12, 22]),
        ("gather", [X[0], np.array(2)], {}, 12),
        ("gather", [X, np.array([[1, 0], [0, 0]])], {"axis": 1}, [
            [[11, 10], [10, 10]], [[21, 20], [20, 20]],
        ]),
        ("concat", [X, X + 5], {"axis": 1}, [[10, 11, 12, 15, 16, 17], [20, 21, 22, 25, 26, 27]]),
        ("concat", [X[0], X[1, :1], X[0, :0]], {"axis": 0}, [10, 11, 12, 20]),
        ("reshape", [X], {"target_shape": (3, 2)}, [[10, 11], [12, 20], [21, 22]]),
        ("reshape", [X[:1, :1]], {"target_shape": ()}, 10),
        ("strided_slice", [X], {"begin": [0, 2], "end": [2, 0], "stride": [1, -1]}, [
            [12, 11], [22, 21],
        ]),
        ("strided_slice", [X[1]], {
            "begin": [-1], "end": [0], "stride": [1], "shrink_axis_mask": 1,
        }, 22),
    ],
)  # fmt: skip
def test_elements_go_where_the_layer_puts_them(
    kind: str, operands: list[np.ndarray], parameters: dict[str, Any], expected: Any
) -> None:
    found = moved(layer_of(kind, *operands, **parameters))
    assert found is not None
    assert (found[0].dtype, found[0].tolist()) == (np.int64, expected)


def test_numbers_that_depend_on_the_shapes_are_moved_as_they_are() -> None:
    tape = Tape()
    size = tape.input(7)
    layer = layer_of("concat", np.array([1, 2]), np.array([3]), axis=0)
    first = layer.inputs[0]
    assert first is not None
    data = np.empty(2, object)
    data[:] = [size, 5]
    first.producer.data = data
    (found,) = moved(layer) or ()
    assert [type(each) is Symbolic for each in found.tolist()] == [True, False, False]
    assert found.tolist()[0] is size
    assert found.tolist()[1:] == [5, 3]


@pytest.mark.parametrize("place", [0, 1])
def test_a_single_number_is_moved_without_a_decision(place: int) -> None:
    tape = Tape()
    size = tape.input(7)
    layer = layer_of("gather", np.array([7, 5]), np.array(place))
    first = layer.inputs[0]
    assert first is not None
    first.producer.data = np.array([None, 5])
    first.producer.data[0] = size
    (found,) = moved(layer) or ()
    assert found.shape == ()
    assert found.item() is size if place == 0 else found.item() == 5
    assert found.dtype == (object if place == 0 else np.int64)
    assert tape.replay([9]) is not None


@pytest.mark.parametrize(
    "layer",
    [
        layer_of("gather", X, np.array(2)),  # which is none of its rows
        layer_of("gather", X.astype(np.float32), np.array(1)),
        layer_of("reshape", np.arange(MOST_ELEMENTS + 1), target_shape=(-1,)),
        layer_of("transpose", X, dim_mappings=[1, 0]),
    ],
)
def test_others_are_left_to_a_backend(layer: Layer) -> None:
    assert moved(layer) is None


def test_stored_values_are_left_to_a_backend() -> None:
    network = Network("n")
    info = TensorInfo((2,), DataType.QASYMM_S8, 0.5, 3)
    stored = network.add_constant(np.array([1, 2], np.int8), info)
    assert moved(network.add_reshape(stored, target_shape=(2, 1)).producer) is None
