# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import UnsupportedOperatorError
from armnn_parser_tflite.parser import parse


@pytest.mark.parametrize("shape", [(3, 8), (1, 2, 4), (2, 3, 8), (2, 3, 4)])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("activation", [0, 1])
def test_fully_connected_reads_rows(
    lite: Any, rng: np.random.Generator, shape: tuple[int, ...], keep: bool, activation: int
) -> None:
    if keep and shape[-1] != 8:
        shape = (*shape[:-1], 8)
    lite.check(
        lite.Op(
            "FULLY_CONNECTED",
            ["x", "w", "b"],
            options={"keepNumDims": keep, "fusedActivationFunction": activation},
        ),
        {
            "w": lite.constant(rng.normal(size=(5, 8)).astype(np.float32)),
            "b": lite.constant(rng.normal(size=5).astype(np.float32)),
        },
        {"x": rng.normal(size=shape).astype(np.float32)},
        atol=1e-5,
    )


def test_unknown_batches_are_kept(lite: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3, 8)).astype(np.float32)
    weights = rng.normal(size=(5, 8)).astype(np.float32)
    model = lite.build(
        lite.Op("FULLY_CONNECTED", ["x", "w"], options={"keepNumDims": True}),
        {
            "x": lite.Tensor(shape=(1, 1, 8), signature=(-1, -1, 8)),
            "w": lite.constant(weights),
            "y": lite.Tensor(shape=(1, 1, 5), signature=(-1, -1, 5)),
        },
    )
    np.testing.assert_allclose(lite.run(model, {"x": x})["y"], x @ weights.T, 1e-4, 1e-5)


@pytest.mark.parametrize("per_channel", [False, True])
def test_int8(lite: Any, rng: np.random.Generator, per_channel: bool) -> None:
    x = rng.integers(-128, 128, (4, 16)).astype(np.int8)
    scale = [0.01, 0.02, 0.03] if per_channel else 0.02
    steps = [0.05 * one for one in scale] if isinstance(scale, list) else 0.05 * scale
    lite.check(
        lite.Op("FULLY_CONNECTED", ["x", "w", "b"], version=4),
        {
            "x": lite.Tensor("int8", x.shape, scale=0.05, zero_point=-9),
            "w": lite.constant(rng.integers(-127, 128, (3, 16)).astype(np.int8), scale=scale),
            "b": lite.constant(np.int32([100, -2000, 7]), scale=steps),
            "y": lite.Tensor("int8", (4, 3), scale=0.4, zero_point=12),
        },
        {"x": x},
    )


def test_weights_shuffled_for_a_processor_are_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 8)),
        "w": lite.constant(np.zeros((5, 8), np.float32)),
        "y": lite.Tensor(),
    }
    op = lite.Op("FULLY_CONNECTED", ["x", "w"], options={"weightsFormat": 1})
    with pytest.raises(UnsupportedOperatorError, match="its weights are in the format 1"):
        parse(lite.build(op, tensors))


@pytest.mark.parametrize(("adj_x", "adj_y"), [(False, False), (True, False), (False, True)])
def test_batch_mat_mul(lite: Any, rng: np.random.Generator, adj_x: bool, adj_y: bool) -> None:
    x = rng.normal(size=(2, 4, 3) if adj_x else (2, 3, 4)).astype(np.float32)
    other = rng.normal(size=(1, 5, 4) if adj_y else (1, 4, 5)).astype(np.float32)
    lite.check(
        lite.Op("BATCH_MATMUL", ["x", "o"], options={"adjX": adj_x, "adjY": adj_y}),
        {"o": lite.constant(other)},
        {"x": x},
        atol=1e-5,
    )
