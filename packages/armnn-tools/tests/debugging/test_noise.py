# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from armnn import DataType, Network, TensorInfo
from armnn_tools.debugging.judging import floor_of, terms_of

if TYPE_CHECKING:
    from armnn.graph import Layer


def layer(
    kind: str, *shape: int, data_type: DataType = DataType.FLOAT32, **parameters: object
) -> Layer:
    network = Network("one")
    x = network.add_input("x", TensorInfo(shape, data_type))
    made = getattr(network, f"add_{kind}")(x, **parameters)
    layer: Layer = made.producer
    return layer


def test_products_count_what_an_element_sums() -> None:
    weights = np.zeros((5, 3, 2, 2), np.float32)
    assert terms_of(layer("convolution2d", 1, 3, 8, 8, weights=weights)) == 12
    assert terms_of(layer("fully_connected", 2, 64, weights=np.zeros((64, 4), np.float32))) == 64


def test_other_layers_count_along_their_axes() -> None:
    assert terms_of(layer("softmax", 2, 10, 7, axis=1)) == 10
    assert terms_of(layer("mean", 4, 100, axis=(1,))) == 100
    assert terms_of(layer("floor", 4, 100)) == 1
    assert terms_of(layer("layer_normalization", 4, 100, axis=1)) == 100


@pytest.mark.parametrize(
    ("data_type", "unit"), [(DataType.FLOAT32, 2.0**-23), (DataType.FLOAT16, 2.0**-10)]
)
def test_the_floor_is_a_unit_times_the_root_of_the_terms(data_type: DataType, unit: float) -> None:
    made = layer("mean", 4, 100, axis=(1,), data_type=data_type)
    assert floor_of(made, made.output.info) == 10 * unit
