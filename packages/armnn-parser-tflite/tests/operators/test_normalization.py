# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse


@pytest.mark.parametrize("beta", [1.0, 0.3])
@pytest.mark.parametrize("shape", [(5,), (2, 7), (1, 2, 3, 4)])
def test_softmax_is_along_the_last_axis(
    lite: Any, rng: np.random.Generator, beta: float, shape: tuple[int, ...]
) -> None:
    x = rng.normal(size=shape).astype(np.float32)
    lite.check(lite.Op("SOFTMAX", ["x"], options={"beta": beta}), {}, {"x": x})


def test_int8_softmax(lite: Any, rng: np.random.Generator) -> None:
    x = rng.integers(-128, 128, (3, 10)).astype(np.int8)
    tensors = {
        "x": lite.Tensor("int8", x.shape, scale=0.1, zero_point=5),
        "y": lite.Tensor("int8", x.shape, scale=1 / 256, zero_point=-128),
    }
    lite.check(lite.Op("SOFTMAX", ["x"], version=2, options={"beta": 1.0}), tensors, {"x": x})


def test_log_softmax(lite: Any, rng: np.random.Generator) -> None:
    lite.check(lite.Op("LOG_SOFTMAX", ["x"]), {}, {"x": rng.normal(size=(2, 7)).astype(np.float32)})


@pytest.mark.parametrize("shape", [(2, 5), (1, 2, 3, 4)])
def test_l2_normalization(lite: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x = rng.normal(size=shape).astype(np.float32)
    lite.check(lite.Op("L2_NORMALIZATION", ["x"]), {}, {"x": x})


def test_the_norm_of_nothing_is_bounded(lite: Any) -> None:
    x = np.full((1, 4), 1e-8, np.float32)
    lite.check(lite.Op("L2_NORMALIZATION", ["x"]), {}, {"x": x}, atol=1e-9)


def _lrn(lite: Any, radius: int) -> Any:
    options = {"radius": radius, "bias": 1.5, "alpha": 0.2, "beta": 0.7}
    return lite.Op("LOCAL_RESPONSE_NORMALIZATION", ["x"], options=options)


def test_the_radius_counts_the_channels_on_one_side(lite: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(1, 2, 2, 9)).astype(np.float32)
    model = lite.build(_lrn(lite, 2), {"x": lite.Tensor(shape=x.shape), "y": lite.Tensor()})
    # As TensorFlow defines it; LiteRT's reference kernel leaves out the last neighbor.
    sums = sum(np.pad(x**2, [(0, 0)] * 3 + [(2, 2)])[..., at : at + 9] for at in range(5))
    expected = x / (1.5 + 0.2 * sums) ** 0.7
    np.testing.assert_allclose(lite.run(model, {"x": x})["y"], expected, 1e-5)


def test_a_negative_radius_is_refused(lite: Any) -> None:
    tensors = {"x": lite.Tensor(shape=(1, 2, 2, 9)), "y": lite.Tensor()}
    with pytest.raises(ParseError, match="the radius is -1: expected at least 0"):
        parse(lite.build(_lrn(lite, -1), tensors))


def test_a_response_of_another_rank_is_refused(lite: Any) -> None:
    tensors = {"x": lite.Tensor(shape=(2, 9)), "y": lite.Tensor()}
    with pytest.raises(UnsupportedOperatorError, match="its input is not of rank 4"):
        parse(lite.build(_lrn(lite, 1), tensors))
