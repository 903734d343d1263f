# SPDX-License-Identifier: MIT
"""Conformance cases of normalization, with explicit loops over neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers.normalization import (
    BatchNormalizationDescriptor,
    GroupNormalizationDescriptor,
    InstanceNormalizationDescriptor,
    L2NormalizationDescriptor,
    LayerNormalizationDescriptor,
    LogSoftmaxDescriptor,
    NormalizationDescriptor,
    RmsNormalizationDescriptor,
    SoftmaxDescriptor,
)
from armnn.types import DataLayout, DataType, NormalizationAlgorithmChannel
from armnn_conformance.cases import EXTREME, LayerCase, Tolerance, case, cases
from armnn_conformance.operands import FLOATS, LARGE, REAL, CaseTensor, tensor, values

LAYOUTS = (DataLayout.NCHW, DataLayout.NHWC)

_COARSE = {
    DataType.FLOAT32: Tolerance("means and roots of float32 sums", rtol=1e-4, atol=2e-5),
    DataType.FLOAT16: Tolerance("means and roots of float16", rtol=1e-2, atol=5e-3),
    DataType.BFLOAT16: Tolerance("means and roots of bfloat16", rtol=3e-2, atol=2e-2),
    DataType.FLOAT64: Tolerance("means and roots of float64 sums", rtol=1e-10, atol=1e-11),
}


def _along_channels(numbers: NDArray[Any], rank: int, axis: int) -> NDArray[Any]:
    shape = [1] * rank
    shape[axis] = -1
    return numbers.reshape(shape)


@cases(BatchNormalizationDescriptor, types=REAL)
def batch_normalization(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both layouts, a large eps, two ranks, odd sizes."""
    for layout, shape, eps in (
        (DataLayout.NCHW, (2, 3, 2, 5), 0.5),
        (DataLayout.NHWC, (2, 2, 5, 3), 1e-4),
        (DataLayout.NCHW, (4, 3), 1e-2),
        (DataLayout.NCHW, (2, 3, 1, 2, 2), 1e-2),
    ):
        axis = 1 if layout is DataLayout.NCHW else len(shape) - 1
        x = values(data_type, shape, seed=1)
        mean, variance, beta, gamma = (
            values(data_type, (3,), low, high, seed=seed, constant=True)
            for seed, (low, high) in enumerate(((-1, 1), (0.3, 2), (-1, 1), (0.5, 2)))
        )
        m, v, b, g = (
            _along_channels(t.real, len(shape), axis) for t in (mean, variance, beta, gamma)
        )
        yield case(
            data_type,
            f"{layout.arm_name} of rank {len(shape)}",
            BatchNormalizationDescriptor(eps=eps, data_layout=layout),
            [x, mean, variance, beta, gamma],
            g * (x.real - m) / np.sqrt(v + eps) + b,
            tolerance=_COARSE.get(data_type),
            edge=len(shape) != 4,
        )


@cases(InstanceNormalizationDescriptor, types=REAL)
def instance_normalization(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both layouts, other parameters, and one pixel."""
    for layout in LAYOUTS:
        shape = (2, 3, 4, 5)
        x = values(data_type, shape, seed=2)
        axes = (2, 3) if layout is DataLayout.NCHW else (1, 2)
        d = InstanceNormalizationDescriptor(gamma=1.5, beta=-0.25, eps=0.1, data_layout=layout)
        centered = x.real - x.real.mean(axes, keepdims=True)
        variance = (centered**2).mean(axes, keepdims=True)
        expected = 1.5 * centered / np.sqrt(variance + 0.1) - 0.25
        yield case(data_type, layout.arm_name, d, [x], expected, tolerance=_COARSE.get(data_type))
    x = values(data_type, (1, 3, 1, 1), seed=3)
    d = InstanceNormalizationDescriptor(beta=0.5, eps=1.0)
    yield case(data_type, "one pixel", d, [x], np.full(x.real.shape, 0.5), edge=True)


@cases(L2NormalizationDescriptor, types=REAL)
def l2_normalization(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both layouts, and vectors shorter than eps."""
    for layout in LAYOUTS:
        axis = 1 if layout is DataLayout.NCHW else 3
        x = values(data_type, (2, 4, 3, 5), seed=4)
        length = np.sqrt((x.real**2).sum(axis, keepdims=True))
        d = L2NormalizationDescriptor(data_layout=layout)
        yield case(data_type, layout.arm_name, d, [x], x.real / length)
    x = tensor(data_type, np.array([0.5, -0.25, 1.0, 2.0]).reshape(1, 2, 2, 1))
    d = L2NormalizationDescriptor(eps=4.0)
    squares = (x.real**2).sum(1, keepdims=True)
    expected = x.real / np.sqrt(np.maximum(squares, 4.0))
    yield case(data_type, "eps as the lower bound", d, [x], expected, edge=True)


def _neighbors(x: NDArray[Any], axes: tuple[int, ...], radius: int) -> NDArray[Any]:
    """Sum the squares within the radius along the axes."""
    total = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        box = [slice(p, p + 1) for p in place]
        for axis in axes:
            box[axis] = slice(max(0, place[axis] - radius), place[axis] + radius + 1)
        total[place] = (x[tuple(box)] ** 2).sum()
    return total


@cases(NormalizationDescriptor, types=REAL)
def normalization(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both kinds, both layouts, and a wide window.

    The kinds are across channels and within them; the window is wider than the picture.
    """
    for layout in LAYOUTS:
        for kind in NormalizationAlgorithmChannel:
            across = kind is NormalizationAlgorithmChannel.ACROSS
            for size, edge in ((3, False), (9, True)):
                x = values(data_type, (1, 4, 3, 5), seed=5)
                channel = 1 if layout is DataLayout.NCHW else 3
                spatial = (2, 3) if layout is DataLayout.NCHW else (1, 2)
                axes = (channel,) if across else spatial
                d = NormalizationDescriptor(
                    norm_channel_type=kind,
                    norm_size=size,
                    alpha=0.3,
                    beta=0.75,
                    k=1.5,
                    data_layout=layout,
                )
                total = 1.5 + 0.3 * _neighbors(x.real, axes, size // 2)
                name = f"{kind.arm_name} {size} {layout.arm_name}"
                yield case(data_type, name, d, [x], x.real * total**-0.75, edge=edge)
    # A size of 4 reaches two elements on either side, as 5 does.
    d = NormalizationDescriptor(norm_size=4, alpha=0.5, beta=0.25, k=0.75)
    x = values(data_type, (1, 6, 2, 3), seed=12)
    expected = x.real * (0.75 + 0.5 * _neighbors(x.real, (1,), 2)) ** -0.25
    yield case(data_type, "an even size", d, [x], expected, edge=True)


@cases(NormalizationDescriptor, types=FLOATS)
def normalization_by_large_numbers(data_type: DataType) -> Iterator[LayerCase]:
    """Cover squares that overflow, and whose root does not."""
    large = LARGE[data_type]
    x = tensor(data_type, np.array([large, -large, large / 2, 0.0]).reshape(1, 4, 1, 1))
    d = NormalizationDescriptor(norm_size=3, alpha=0.25, beta=0.5, k=1.0)
    expected = x.real / np.sqrt(1.0 + 0.25 * _neighbors(x.real, (1,), 1))
    yield case(data_type, "large numbers", d, [x], expected, edge=True, needs=EXTREME)


def _softmax(x: NDArray[Any], beta: float, axis: int) -> NDArray[Any]:
    powers = np.exp(beta * (x - x.max(axis, keepdims=True)))
    result: NDArray[Any] = powers / powers.sum(axis, keepdims=True)
    return result


@cases(SoftmaxDescriptor, types=REAL)
def softmax(data_type: DataType) -> Iterator[LayerCase]:
    """Cover two axes, beta, overflowing exponentials, one element."""
    x = values(data_type, (2, 3, 5), -3, 3, seed=6)
    yield case(data_type, "last axis", SoftmaxDescriptor(), [x], _softmax(x.real, 1, -1))
    d = SoftmaxDescriptor(beta=0.5, axis=1)
    yield case(data_type, "middle axis with beta", d, [x], _softmax(x.real, 0.5, 1))
    deep = values(data_type, (2, 3, 1, 2, 2), -3, 3, seed=6)
    d = SoftmaxDescriptor(axis=-4)
    title = "negative axis of rank 5"
    yield case(data_type, title, d, [deep], _softmax(deep.real, 1, 1), edge=True)
    x = tensor(data_type, [[1000.0, 990.0, -1000.0], [-800.0, -800.0, -800.0]])
    expected = _softmax(x.real, 1, -1)
    yield case(data_type, "large numbers", SoftmaxDescriptor(), [x], expected, edge=True)
    x = values(data_type, (3, 1), seed=7)
    yield case(data_type, "one element", SoftmaxDescriptor(), [x], np.ones((3, 1)), edge=True)


@cases(SoftmaxDescriptor, types=FLOATS)
def softmax_of_infinities(data_type: DataType) -> Iterator[LayerCase]:
    """Cover masks of -infinity, and lines of NaN."""
    x = tensor(data_type, [[-np.inf, 1.0, 2.0], [0.0, -np.inf, -np.inf]])
    expected = _softmax(x.real, 1, -1)
    yield case(data_type, "masked", SoftmaxDescriptor(), [x], expected, edge=True)
    x = tensor(data_type, [[np.inf, 1.0], [-np.inf, -np.inf], [np.nan, 1.0], [1.0, 2.0]])
    expected = np.full((4, 2), np.nan)
    expected[3] = _softmax(x.real[3], 1, -1)
    yield case(data_type, "no number", SoftmaxDescriptor(), [x], expected, edge=True)
    x = tensor(data_type, [[LARGE[data_type], 0.0, -LARGE[data_type]]])
    d = SoftmaxDescriptor(beta=4.0)
    expected = np.array([[1.0, 0.0, 0.0]])
    yield case(data_type, "limits of the type", d, [x], expected, edge=True, needs=EXTREME)


@cases(LogSoftmaxDescriptor, types=REAL)
def log_softmax(data_type: DataType) -> Iterator[LayerCase]:
    """Cover two axes, beta, and underflowing softmax."""
    x = values(data_type, (2, 3, 5), -3, 3, seed=8)
    for name, beta, axis in (("last axis", 1.0, -1), ("first axis with beta", 2.0, 0)):
        d = LogSoftmaxDescriptor(beta=beta, axis=axis)
        yield case(data_type, name, d, [x], np.log(_softmax(x.real, beta, axis)))
    x = values(data_type, (2, 1, 3, 2, 2), -3, 3, seed=8)
    expected = np.log(_softmax(x.real, 1, 2))
    yield case(data_type, "rank 5", LogSoftmaxDescriptor(axis=2), [x], expected, edge=True)
    x = tensor(data_type, [[0.0, -500.0], [-600.0, -600.0]])
    shifted = x.real - x.real.max(-1, keepdims=True)
    expected = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    title = "where softmax underflows"
    yield case(data_type, title, LogSoftmaxDescriptor(), [x], expected, edge=True)


def _standardized(x: NDArray[Any], axes: tuple[int, ...], eps: float) -> NDArray[Any]:
    centered = x - x.mean(axes, keepdims=True)
    result: NDArray[Any] = centered / np.sqrt((centered**2).mean(axes, keepdims=True) + eps)
    return result


def _factors(data_type: DataType, shape: tuple[int, ...]) -> tuple[CaseTensor, CaseTensor]:
    return (
        values(data_type, shape, 0.5, 2, seed=9, constant=True),
        values(data_type, shape, -1, 1, seed=10, constant=True),
    )


@cases(LayerNormalizationDescriptor, types=REAL)
def layer_normalization(data_type: DataType) -> Iterator[LayerCase]:
    """Cover one and two axes, with optional factor and offset."""
    x = values(data_type, (2, 3, 4), seed=11)
    tolerance = _COARSE.get(data_type)
    for axis, eps, shape in ((-1, 1e-5, (4,)), (1, 0.25, (3, 4))):
        gamma, beta = _factors(data_type, shape)
        axes = tuple(range(axis % 3, 3))
        d = LayerNormalizationDescriptor(axis=axis, eps=eps)
        expected = _standardized(x.real, axes, eps) * gamma.real + beta.real
        name = f"axis {axis}"
        yield case(data_type, name, d, [x, gamma, beta], expected, tolerance=tolerance)
    d = LayerNormalizationDescriptor(axis=-2, eps=0.1)
    expected = _standardized(x.real, (1, 2), 0.1)
    yield case(data_type, "bare", d, [x], expected, tolerance=tolerance, edge=True)
    gamma, beta = _factors(data_type, (3, 4))
    for name, operands, result in (
        ("gamma alone", [x, gamma], expected * gamma.real),
        ("beta alone", [x, None, beta], expected + beta.real),
    ):
        yield case(data_type, name, d, operands, result, tolerance=tolerance, edge=True)
    deep = values(data_type, (2, 1, 3, 2, 4), seed=11)
    gamma, beta = _factors(data_type, (2, 4))
    expected = _standardized(deep.real, (3, 4), 0.1) * gamma.real + beta.real
    yield case(data_type, "rank 5", d, [deep, gamma, beta], expected, tolerance=tolerance)


@cases(LayerNormalizationDescriptor, InstanceNormalizationDescriptor, types=FLOATS)
def normalization_of_large_numbers(data_type: DataType) -> Iterator[LayerCase]:
    """Cover numbers whose sums and squares overflow."""
    large = LARGE[data_type]
    tolerance = _COARSE.get(data_type)
    x = tensor(data_type, np.array([large, -large, large, -large]).reshape(1, 1, 1, 4))
    signs = np.sign(x.real)
    for d in (LayerNormalizationDescriptor(), InstanceNormalizationDescriptor()):
        yield case(data_type, "large numbers", d, [x], signs, tolerance=tolerance, needs=EXTREME)


@cases(RmsNormalizationDescriptor, types=REAL)
def rms_normalization(data_type: DataType) -> Iterator[LayerCase]:
    """Cover one and two axes, with and without factor."""
    x = values(data_type, (2, 3, 4), seed=12)
    for axis, eps in ((-1, 1e-5), (1, 0.25)):
        axes = tuple(range(axis % 3, 3))
        root = np.sqrt((x.real**2).mean(axes, keepdims=True) + eps)
        gamma, _ = _factors(data_type, x.real.shape[axis % 3 :])
        d = RmsNormalizationDescriptor(axis=axis, eps=eps)
        expected = x.real / root * gamma.real
        title = f"axis {axis}"
        yield case(data_type, title, d, [x, gamma], expected, tolerance=_COARSE.get(data_type))
        title = f"axis {axis}, bare"
        expected = x.real / root
        yield case(data_type, title, d, [x], expected, tolerance=_COARSE.get(data_type), edge=True)
    x = values(data_type, (2, 1, 3, 2, 4), seed=12)
    gamma, _ = _factors(data_type, (2, 4))
    root = np.sqrt((x.real**2).mean((3, 4), keepdims=True) + 0.25)
    d = RmsNormalizationDescriptor(axis=-2, eps=0.25)
    expected = x.real / root * gamma.real
    tolerance = _COARSE.get(data_type)
    yield case(data_type, "rank 5", d, [x, gamma], expected, tolerance=tolerance, edge=True)


@cases(GroupNormalizationDescriptor, types=REAL)
def group_normalization(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both layouts, one group, and one channel per group."""
    for layout in LAYOUTS:
        for groups in (1, 2, 4):
            shape = (2, 4, 2, 3) if layout is DataLayout.NCHW else (2, 2, 3, 4)
            channel = layout.channel_axis
            x = values(data_type, shape, seed=13)
            gamma, beta = _factors(data_type, (4,))
            expected = np.empty(shape)
            moved, target = np.moveaxis(x.real, channel, 1), np.moveaxis(expected, channel, 1)
            members = 4 // groups
            for first in range(0, 4, members):
                part = moved[:, first : first + members]
                target[:, first : first + members] = _standardized(part, (1, 2, 3), 0.1)
            factor, offset = (_along_channels(t.real, 4, channel) for t in (gamma, beta))
            d = GroupNormalizationDescriptor(num_groups=groups, eps=0.1, data_layout=layout)
            yield case(
                data_type,
                f"{groups} groups {layout.arm_name}",
                d,
                [x, gamma, beta],
                expected * factor + offset,
                tolerance=_COARSE.get(data_type),
                edge=groups != 2,
            )
            if groups == 2:
                name = f"without factors {layout.arm_name}"
                tolerance = _COARSE.get(data_type)
                yield case(data_type, name, d, [x], expected, tolerance=tolerance)
