# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.quantization import dequantize, quantize
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.ops._lstm_cell import BIASES, Cell, Storage, accumulated, clipped, stored


@pytest.mark.parametrize("data_type", [DataType.QASYMM_S8, DataType.QSYMM_S16])
@pytest.mark.parametrize(("scale", "zero_point"), [(0.1, 0), (2.0**-12, 0), (0.37, 100)])
def test_what_is_stored_is_what_quantising_keeps(
    data_type: DataType, scale: float, zero_point: int
) -> None:
    x = np.random.default_rng(0).normal(0, 20, 1000).astype(np.float32)
    x[:4] = np.inf, -np.inf, 0.5 * scale, -0.5 * scale
    info = TensorInfo(x.shape, data_type, scale, zero_point)
    kept = stored(info)(x)
    np.testing.assert_array_equal(kept, dequantize(quantize(x, info), info))


def test_a_sum_is_stored_after_each_term() -> None:
    x, weights = np.float32([[0.4, 0.4, 0.4]]), np.ones((1, 3), np.float32)
    start = np.zeros(1, np.float32)
    whole = stored(TensorInfo(None, DataType.QSYMM_S16, 1.0))
    assert accumulated(start, x, weights, whole).tolist() == [[0]]
    np.testing.assert_allclose(accumulated(start, x, weights, None), [[1.2]], rtol=1e-6)
    assert start.tolist() == [0]


def test_no_terms_leave_what_there_was() -> None:
    start = np.float32([3])
    nothing = np.empty((2, 0), np.float32), np.empty((1, 0), np.float32)
    assert accumulated(start, *nothing, None).tolist() == [[3], [3]]
    whole = stored(TensorInfo(None, DataType.QSYMM_S16, 1.0))
    assert accumulated(start, *nothing, whole).tolist() == [[3], [3]]


def test_a_limit_of_zero_clips_nothing() -> None:
    x = np.float32([-3, 3])
    assert clipped(x, 0).tolist() == [-3, 3]
    assert clipped(x, 2).tolist() == [-2, 2]


def test_gates_that_stand_side_by_side_are_each_stored_in_their_own_steps() -> None:
    infos = {
        "forget": TensorInfo(None, DataType.QSYMM_S16, 1.0),
        "cell": TensorInfo(None, DataType.QSYMM_S16, 0.25, 2),
    }
    storage = Storage(sums=infos, each_term=True)
    x = np.float32([[0.4, 0.6, 0.4, 1e9]])
    store = storage.store_of_sums(["forget", "cell"], 2)
    assert store(x).tolist() == [[0, 1, 0.5, (32767 - 2) * 0.25]]
    assert storage.store_of_sums(["cell"], 4)(x).tolist() == [[0.5, 0.5, 0.5, (32767 - 2) * 0.25]]
    assert Storage().store_of_sums(["cell"], 4)(x) is x


@pytest.mark.parametrize("each_term", [False, True])
def test_parameters_are_left_as_they_are(each_term: bool) -> None:
    parameters = {}
    for gate, bias in BIASES.items():
        parameters[f"input_to_{gate}_weights"] = np.empty((1, 0), np.float32)
        parameters[f"recurrent_to_{gate}_weights"] = np.empty((1, 0), np.float32)
        parameters[f"cell_to_{gate}_weights"] = np.ones(1, np.float32)
        parameters[bias] = np.float32([0.5])
    cell = Cell(parameters=parameters, peephole=True, storage=Storage(each_term=each_term))
    state = np.ones((1, 1), np.float32)
    nothing = np.empty((1, 0), np.float32)
    first, second = (cell.step(nothing, nothing, state) for _ in range(2))
    assert [y.tolist() for y in first] == [y.tolist() for y in second]
    assert all(parameters[bias].tolist() == [0.5] for bias in BIASES.values())
