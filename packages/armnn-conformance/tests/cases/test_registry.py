# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.layers import LAYERS
from armnn.layers.activation import PreluDescriptor
from armnn.layers.convolution import Convolution2dDescriptor
from armnn.layers.indexing import NonZeroDescriptor
from armnn.layers.normalization import SoftmaxDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_conformance.cases import (
    EXACT,
    all_cells,
    case,
    cases_of,
    covered_layers,
    data_types_of,
    usual,
)
from armnn_conformance.operands import values

FLOAT32, QASYMM_U8 = DataType.FLOAT32, DataType.QASYMM_U8


def test_the_descriptor_says_which_layer_a_case_is_for() -> None:
    x = values(FLOAT32, (2, 3))
    made = case(FLOAT32, "last axis", SoftmaxDescriptor(), [x], x.real)
    assert made.layer == "Softmax"
    assert made.id == str(made) == "Softmax-Float32-last axis"
    assert made.outputs == (TensorInfo((2, 3), FLOAT32),)


def test_inputs_may_be_given_by_the_names_of_their_slots() -> None:
    x, weights = values(FLOAT32, (1, 2, 2, 1)), values(FLOAT32, (1, 1, 1, 1))
    made = case(
        FLOAT32, "by name", Convolution2dDescriptor(), {"weights": weights, "input": x}, x.real
    )
    assert made.inputs == (x, weights, None)


def test_an_input_that_the_layer_lacks_is_an_error() -> None:
    x = values(FLOAT32, (2, 3))
    with pytest.raises(ValueError, match=r"Prelu has no input \['beta'\]: expected some of"):
        case(FLOAT32, "wrong", PreluDescriptor(), {"beta": x}, x.real)


def test_the_quantization_of_an_output_fits_what_is_expected() -> None:
    x = values(QASYMM_U8, (2,))
    made = case(QASYMM_U8, "fitted", SoftmaxDescriptor(), [x], np.array([0.0, 1.0]))
    assert made.outputs[0].scale == np.float32(1 / 255)


def test_an_output_may_be_of_another_type_or_a_given_info() -> None:
    x = values(FLOAT32, (2,))
    indices = np.array([[0, 1]])
    made = case(FLOAT32, "n", NonZeroDescriptor(), [x], indices, outputs=[DataType.SIGNED64])
    assert made.outputs == (TensorInfo((1, 2), DataType.SIGNED64),)
    assert made.tolerance is EXACT
    given = TensorInfo(None, QASYMM_U8, 0.5, 3)
    made = case(FLOAT32, "g", SoftmaxDescriptor(), [x], x.real, outputs=[given])
    assert made.outputs == (TensorInfo((2,), QASYMM_U8, 0.5, 3),)


def test_each_type_has_its_usual_tolerance_with_a_reason() -> None:
    assert usual(QASYMM_U8).steps == 1
    assert usual(DataType.SIGNED32) is EXACT
    loose = [usual(kind).rtol for kind in (DataType.BFLOAT16, DataType.FLOAT16, FLOAT32)]
    assert loose == sorted(loose, reverse=True)
    assert all(usual(kind).reason for kind in DataType)


def test_a_layer_without_cases_has_none() -> None:
    assert "Input" not in covered_layers()
    assert list(cases_of("Input")) == []


def test_cells_come_in_the_order_of_the_layer_table_and_the_data_types() -> None:
    names = list(LAYERS)
    places = [(names.index(layer), data_type.value) for layer, data_type in all_cells()]
    assert places == sorted(places)
    assert [layer for layer, _ in all_cells(["Softmax"])][:1] == ["Softmax"]


@pytest.mark.parametrize("layer", covered_layers())
def test_each_data_type_of_a_layer_has_a_case(layer: str) -> None:
    """Find columns without cases, which cannot be required."""
    assert [t for t in data_types_of(layer) if next(cases_of(layer, t), None) is None] == []
