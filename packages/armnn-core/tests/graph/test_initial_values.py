# SPDX-License-Identifier: MIT
"""Values with which variables begin, as texts and back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from armnn import TensorInfo
from armnn.errors import InvalidArgumentError
from armnn.graph.initial_values import initial_value, note_initial_value
from armnn.tensor import info_of


@pytest.mark.parametrize(
    "data",
    [
        np.float32([[0.1, -0.0], [np.inf, 1e-45]]),
        np.array([2**63 - 1, -(2**63)]),
        np.array([True, False]),
        np.array([0.1, 3e38], ml_dtypes.bfloat16),
        np.full((2, 3), -7, np.int8),
        np.full((), 2.5, np.float32),
        np.arange(65536, dtype=np.float32) / 3,
    ],
    ids=lambda data: f"{data.dtype}{list(data.shape)}",
)
def test_a_value_is_read_as_it_was_noted(data: NDArray[Any]) -> None:
    metadata: dict[str, str] = {}
    note_initial_value(metadata, "v", data)
    made = initial_value(metadata, "v", info_of(data), data.shape)
    assert (made.dtype, made.shape, made.tobytes()) == (data.dtype, data.shape, data.tobytes())


def test_nothing_is_noted_of_many_elements_that_differ() -> None:
    metadata: dict[str, str] = {}
    note_initial_value(metadata, "v", np.arange(65537))
    note_initial_value(metadata, "empty", np.empty((0, 3)))
    assert metadata == {}
    note_initial_value(metadata, "v", np.zeros(65537, np.int8))
    assert metadata == {"initial v": "0"}


def test_a_state_without_a_text_begins_with_zeros() -> None:
    info = TensorInfo((2,), "QAsymmS8", scales=(0.5,), zero_points=(-3,))
    assert initial_value({}, "v", info, (2,)).tolist() == [-3, -3]


@pytest.mark.parametrize(
    ("text", "message"), [("1 2 3", "have 3 numbers .* state 'v' of shape"), ("one", "no number")]
)
def test_a_text_that_does_not_fit_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        initial_value({"initial v": text}, "v", TensorInfo((2,)), (2,))
