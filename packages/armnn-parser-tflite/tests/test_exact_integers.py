# SPDX-License-Identifier: MIT
"""Quantized operators on CpuRef match LiteRT's reference kernels exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

SHAPE = (2, 9, 8, 6)
KINDS = ["int8", "int16"]


def _quantized(lite: Any, kind: str, scale: float, shape: tuple[int, ...] = ()) -> Any:
    return lite.Tensor(kind, shape, scale=scale, zero_point=0 if kind == "int16" else -11)


def _noise(rng: np.random.Generator, kind: str, shape: tuple[int, ...] = SHAPE) -> Any:
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, shape, kind, endpoint=True)


def _weights(lite: Any, rng: np.random.Generator, shape: tuple[int, ...], axis: int) -> Any:
    scales = rng.uniform(0.001, 0.02, shape[axis]).astype(np.float32).tolist()
    return lite.constant(_noise(rng, "int8", shape), scale=scales, axis=axis)


def _bias(lite: Any, rng: np.random.Generator, kind: str, count: int, scale: float = 0.001) -> Any:
    wide = np.int64 if kind == "int16" else np.int32
    return lite.constant(rng.integers(-5000, 5000, count).astype(wide), scale=scale)


def _is_exact(lite: Any, op: Any, tensors: Any, feeds: Any) -> None:
    results = lite.check(op, tensors, feeds, steps=0)
    assert len(np.unique(results["y"])) > 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("padding", [0, 1])
def test_convolution(lite: Any, rng: np.random.Generator, kind: str, padding: int) -> None:
    step = 0.05 if kind == "int8" else 0.0005
    tensors = {
        "x": _quantized(lite, kind, step, SHAPE),
        "w": _weights(lite, rng, (10, 3, 3, 6), 0),
        "b": _bias(lite, rng, kind, 10),
        "y": _quantized(lite, kind, 4 * step),
    }
    options = {"padding": padding, "strideH": 2, "strideW": 1}
    op = lite.Op("CONV_2D", ["x", "w", "b"], options=options, version=3)
    _is_exact(lite, op, tensors, {"x": _noise(rng, kind)})


@pytest.mark.parametrize("kind", KINDS)
def test_depthwise_convolution(lite: Any, rng: np.random.Generator, kind: str) -> None:
    step = 0.05 if kind == "int8" else 0.0005
    tensors = {
        "x": _quantized(lite, kind, step, SHAPE),
        "w": _weights(lite, rng, (1, 3, 3, 12), 3),
        "b": _bias(lite, rng, kind, 12),
        "y": _quantized(lite, kind, step),
    }
    options = {"padding": 0, "strideH": 1, "strideW": 1, "depthMultiplier": 2}
    op = lite.Op("DEPTHWISE_CONV_2D", ["x", "w", "b"], options=options, version=3)
    _is_exact(lite, op, tensors, {"x": _noise(rng, kind)})


@pytest.mark.parametrize("kind", KINDS)
def test_transposed_convolution(lite: Any, rng: np.random.Generator, kind: str) -> None:
    step = 0.05 if kind == "int8" else 0.0005
    tensors = {
        "s": lite.constant(np.int32([2, 18, 16, 5])),
        "x": _quantized(lite, kind, step, SHAPE),
        "w": _weights(lite, rng, (5, 3, 3, 6), 0),
        "y": _quantized(lite, kind, 2 * step),
    }
    options = {"padding": 0, "strideH": 2, "strideW": 2}
    op = lite.Op("TRANSPOSE_CONV", ["s", "w", "x"], options=options, version=2)
    _is_exact(lite, op, tensors, {"x": _noise(rng, kind)})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_channel", [False, True])
def test_fully_connected(lite: Any, rng: np.random.Generator, kind: str, per_channel: bool) -> None:
    step = 0.05 if kind == "int8" else 0.0005
    weights = _weights(lite, rng, (40, 30), 0)
    if not per_channel:
        weights = lite.constant(_noise(rng, "int8", (40, 30)), scale=0.013)
    tensors = {
        "x": _quantized(lite, kind, step, (7, 30)),
        "w": weights,
        "b": _bias(lite, rng, kind, 40, step * 0.013),
        "y": _quantized(lite, kind, 4 * step),
    }
    op = lite.Op("FULLY_CONNECTED", ["x", "w", "b"], version=4)
    _is_exact(lite, op, tensors, {"x": _noise(rng, kind, (7, 30))})


@pytest.mark.parametrize("kind", [*KINDS, "uint8"])
@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
def test_arithmetic(lite: Any, rng: np.random.Generator, kind: str, name: str) -> None:
    step = 0.0005 if kind == "int16" else 0.05
    made = 2 * step if name != "MUL" else step * (40 if kind == "int16" else 4)
    tensors = {
        "x": lite.Tensor(kind, SHAPE, scale=step, zero_point=0 if kind == "int16" else 7),
        "z": lite.Tensor(kind, SHAPE[-1:], scale=1.7 * step, zero_point=0),
        "y": lite.Tensor(kind, scale=made, zero_point=0 if kind == "int16" else 20),
    }
    feeds = {"x": _noise(rng, kind), "z": _noise(rng, kind, SHAPE[-1:])}
    _is_exact(lite, lite.Op(name, ["x", "z"], version=2), tensors, feeds)


@pytest.mark.parametrize("window", [2, 3])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_average_pooling(lite: Any, rng: np.random.Generator, window: int, kind: str) -> None:
    tensor = lite.Tensor(kind, SHAPE, scale=0.1, zero_point=5)
    strides = {"padding": 0, "strideH": 1, "strideW": 2}
    options = strides | {"filterHeight": window, "filterWidth": window}
    op = lite.Op("AVERAGE_POOL_2D", ["x"], options=options, version=2)
    _is_exact(lite, op, {"x": tensor, "y": tensor}, {"x": _noise(rng, kind)})


@pytest.mark.parametrize("axes", [[1, 2], [3]])
@pytest.mark.parametrize("kind", KINDS)
def test_mean(lite: Any, rng: np.random.Generator, axes: list[int], kind: str) -> None:
    tensors = {
        "x": _quantized(lite, kind, 0.1, (9, *SHAPE[1:])),
        "a": lite.constant(np.int32(axes)),
        "y": _quantized(lite, kind, 0.03),
    }
    op = lite.Op("MEAN", ["x", "a"], options={"keepDims": True}, version=2)
    _is_exact(lite, op, tensors, {"x": _noise(rng, kind, (9, *SHAPE[1:]))})


@pytest.mark.parametrize(("kind", "made"), [("int8", "int8"), ("int16", "int8"), ("int8", "uint8")])
def test_another_scale(lite: Any, rng: np.random.Generator, kind: str, made: str) -> None:
    step = 0.0005 if kind == "int16" else 0.05
    tensors = {
        "x": _quantized(lite, kind, step, SHAPE),
        "y": lite.Tensor(made, scale=0.11, zero_point=9),
    }
    _is_exact(lite, lite.Op("QUANTIZE", ["x"], version=2), tensors, {"x": _noise(rng, kind)})


@pytest.mark.parametrize("kind", KINDS)
def test_batched_products(lite: Any, rng: np.random.Generator, kind: str) -> None:
    step = 0.05 if kind == "int8" else 0.0005
    tensors = {
        "x": _quantized(lite, kind, step, (2, 9, 7)),
        "z": _quantized(lite, kind, step, (2, 7, 8)),
        "y": _quantized(lite, kind, step * (10 if kind == "int8" else 30)),
    }
    feeds = {"x": _noise(rng, kind, (2, 9, 7)), "z": _noise(rng, kind, (2, 7, 8))}
    _is_exact(lite, lite.Op("BATCH_MATMUL", ["x", "z"], version=2), tensors, feeds)
