# SPDX-License-Identifier: MIT
"""Layers of realistic sizes, beside handwritten NumPy expressions.

The expressions are the shortest that say what the layer computes; they are not tuned. Layers that
no single expression computes (recurrent ones, detection, the error function) have no case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from armnn import DataType, TensorInfo
from armnn import types as t
from benchmarks.layers.case import Array, Case
from benchmarks.layers.elementwise_cases import elementwise_cases
from benchmarks.layers.moving_cases import moving_cases

IMAGE = (1, 32, 128, 128)
MATRIX = (512, 1024)
ONE_STEP = 1.0
"""Stored values may differ by a step: halves are rounded away from zero, by NumPy to even."""


def cases() -> Iterator[Case]:
    """Yield all cases, with the same values at each run."""
    generator = np.random.default_rng(0)

    def uniform(*shape: int) -> Array:
        return generator.uniform(-3, 3, shape).astype(np.float32)

    x, y = uniform(*IMAGE), uniform(*IMAGE)
    yield from elementwise_cases(x, y)
    yield from _reductions(x)
    yield from _normalizations(x, uniform(*MATRIX), uniform(32))
    yield from _products(uniform)
    yield from _windows(x, uniform(1, 3, 3, 32), uniform(64, 32, 3, 3), uniform(64, 32, 1, 1))
    yield from moving_cases(x, y, generator.integers(0, 512, 512))
    yield from _converted(x)


_REDUCTIONS: dict[str, Callable[..., Array]] = {
    "SUM": np.sum,
    "MAX": np.max,
    "MEAN": np.mean,
    "MIN": np.min,
    "PROD": np.prod,
}


def _reductions(x: Array) -> Iterator[Case]:
    near_one = 1 + x / 1e4
    for axes in ((1,), (2, 3), (3,)):
        of = f"axes {axes}"
        for name, combine in _REDUCTIONS.items():
            operation = t.ReduceOperation[name]
            yield Case(
                "Reduce",
                f"{operation.arm_name} {of}",
                (near_one,),
                lambda x, combine=combine, axes=axes: combine(x, axis=axes),
                {"reduce_operation": operation, "axis": axes},
                tolerance=1e-2,
            )
        yield Case("Mean", of, (x,), lambda x, axes=axes: x.mean(axes), {"axis": axes})
    for function, find in (
        (t.ArgMinMaxFunction.MIN, np.argmin),
        (t.ArgMinMaxFunction.MAX, np.argmax),
    ):
        for axis in (1, 3):
            yield Case(
                "ArgMinMax",
                f"{function.arm_name} axis {axis}",
                (x,),
                lambda x, find=find, axis=axis: find(x, axis),
                {"function": function, "axis": axis},
            )
    yield Case("CumSum", "", (x,), lambda x: np.cumsum(x, 3), {"axis": 3}, tolerance=1e-2)


def _softmax(x: Array, axis: int) -> Array:
    e: Array = np.exp(x - x.max(axis, keepdims=True))
    e /= e.sum(axis, keepdims=True)
    return e


def _standardized(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    y: Array = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
    return y


def _normalizations(x: Array, rows: Array, of_channel: Array) -> Iterator[Case]:
    for axis in (-1, 1):
        yield Case(
            "Softmax", f"axis {axis}", (x,), lambda x, a=axis: _softmax(x, a), {"axis": axis}
        )
    yield Case("Softmax", "matrix", (rows,), lambda x: _softmax(x, -1), {"axis": -1})
    yield Case("LogSoftmax", "", (rows,), lambda x: np.log(_softmax(x, -1)), {"axis": -1})
    c = np.abs(of_channel) + 1
    yield Case(
        "BatchNormalization",
        "",
        (x, c, c, c, c),
        lambda x, mean, variance, beta, gamma: (
            (x - mean[:, None, None])
            / np.sqrt(variance[:, None, None] + 1e-4)
            * gamma[:, None, None]
            + beta[:, None, None]
        ),
    )
    yield Case(
        "InstanceNormalization", "", (x,), lambda x: _standardized(x, (2, 3), 1e-5), {"eps": 1e-5}
    )
    yield Case(
        "GroupNormalization",
        "",
        (x,),
        lambda x: _standardized(x.reshape(1, 8, -1), (2,), 1e-5).reshape(x.shape),
        {"num_groups": 8, "eps": 1e-5},
    )
    yield Case("LayerNormalization", "", (rows,), lambda x: _standardized(x, (1,), 1e-5))
    yield Case(
        "RmsNormalization",
        "",
        (rows,),
        lambda x: x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5),
    )
    yield Case(
        "L2Normalization", "", (x,), lambda x: x / np.sqrt(np.sum(x * x, 1, keepdims=True) + 1e-12)
    )
    yield Case(
        "Normalization",
        "",
        (x,),
        lambda x: (
            x
            * (
                1
                + 1e-2
                * sliding_window_view(np.pad(x * x, [(0, 0), (2, 2), (0, 0), (0, 0)]), 5, 1).sum(-1)
            )
            ** -0.75
        ),
        {"norm_size": 5, "alpha": 1e-2, "beta": 0.75, "k": 1.0},
    )


def _products(uniform: Callable[..., Array]) -> Iterator[Case]:
    a, b, bias = uniform(256, 512), uniform(512, 512), uniform(512)
    batch = (uniform(16, 128, 256), uniform(16, 256, 128))
    yield Case("FullyConnected", "", (a, b, bias), lambda x, w, b: x @ w + b, tolerance=1e-2)
    yield Case(
        "FullyConnected",
        "transposed",
        (a, b, bias),
        lambda x, w, b: x @ w.T + b,
        {"transpose_weight_matrix": True},
        tolerance=1e-2,
    )
    yield Case("BatchMatMul", "", batch, np.matmul, tolerance=1e-2)
    equation = "bij,bjk->bik"
    yield Case(
        "Einsum",
        "",
        batch,
        lambda x, y: np.einsum(equation, x, y),
        {"equation": equation},
        tolerance=1e-2,
    )
    small = [np.clip(m * 30, -127, 127).astype(np.int8) for m in (a, b)]
    yield Case(
        "MatMulInteger", "", tuple(small), lambda x, y: x.astype(np.int32) @ y.astype(np.int32)
    )
    q, k, v = uniform(1, 8, 256, 64), uniform(1, 8, 256, 64), uniform(1, 8, 256, 64)
    yield Case(
        "Attention",
        "",
        (q, k, v),
        lambda q, k, v: _softmax(q @ k.swapaxes(-1, -2) / sqrt(64), -1) @ v,
    )


def _windows(x: Array, depthwise: Array, full: Array, pointwise: Array) -> Iterator[Case]:
    ones = {"stride_x": 1, "stride_y": 1}
    for name, weights in (("1x1", pointwise), ("3x3", full)):
        size = weights.shape[2:]
        yield Case(
            "Convolution2d",
            name,
            (x, weights),
            lambda x, w, size=size: np.einsum(
                "nchwij,ocij->nohw", sliding_window_view(x, size, (2, 3)), w, optimize=True
            ),
            ones,
            tolerance=1e-2,
        )
    yield Case(
        "DepthwiseConvolution2d",
        "3x3",
        (x, depthwise),
        lambda x, w: np.einsum(
            "nchwij,ijc->nchw", sliding_window_view(x, (3, 3), (2, 3)), w[0], optimize=True
        ),
        ones,
        tolerance=1e-2,
    )
    fields = {"pool_width": 2, "pool_height": 2, "stride_x": 2, "stride_y": 2}
    blocks = (1, 32, 64, 2, 64, 2)
    for kind, combine in ((t.PoolingAlgorithm.MAX, np.max), (t.PoolingAlgorithm.AVERAGE, np.mean)):
        yield Case(
            "Pooling2d",
            f"{kind.arm_name} 2x2",
            (x,),
            lambda x, combine=combine: combine(x.reshape(blocks), axis=(3, 5)),
            {**fields, "pool_type": kind},
        )
        yield Case(
            "Pooling2d",
            f"{kind.arm_name} global",
            (x,),
            lambda x, combine=combine: combine(x, axis=(2, 3), keepdims=True),
            {**fields, "pool_width": 128, "pool_height": 128, "pool_type": kind},
        )


def _converted(x: Array) -> Iterator[Case]:
    for data_type in (DataType.QASYMM_U8, DataType.QASYMM_S8, DataType.QSYMM_S16):
        info = TensorInfo(
            IMAGE, data_type, scales=0.05, zero_points=0 if data_type is DataType.QSYMM_S16 else 3
        )
        yield from _quantized(x, info)
    whole = (x * 10).astype(np.int32)
    # A bare astype would leave open what becomes of values that do not fit; the layer saturates.
    yield Case(
        "Cast",
        "to Signed32",
        (x,),
        lambda x: np.clip(x, np.float32(-(2**31)), np.float32(2**31 - 128)).astype(np.int32),
        outputs=(DataType.SIGNED32,),
    )
    yield Case("Cast", "to Float32", (whole,), lambda x: x.astype("f"), outputs=(DataType.FLOAT32,))
    yield Case("ConvertFp32ToFp16", "", (x,), lambda x: x.astype(np.float16), tolerance=1e-2)
    yield Case("ConvertFp16ToFp32", "", (x.astype(np.float16),), lambda x: x.astype("f"))
    yield Case(
        "FakeQuantization",
        "",
        (x,),
        lambda x: np.clip(np.rint(x / np.float32(12 / 255)) + 127, 0, 255),
        tolerance=ONE_STEP,
    )


def _quantized(x: Array, info: TensorInfo) -> Iterator[Case]:
    dtype = info.data_type.numpy_dtype
    (scale,), (zero,) = info.scales, info.zero_points
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    name = info.data_type.arm_name

    def stored(x: Array) -> Array:
        steps: Array = np.clip(np.rint(x / np.float32(scale)) + zero, low, high)
        return steps.astype(dtype)

    def real(q: Array) -> Array:
        return (q.astype(np.float32) - zero) * np.float32(scale)

    q = stored(x)
    yield Case("Quantize", name, (x,), stored, outputs=(info,), tolerance=ONE_STEP)
    yield Case("Dequantize", name, (q,), real, infos={0: info}, outputs=(DataType.FLOAT32,))
    yield Case(
        "Addition",
        name,
        (q, q),
        lambda x, y: stored(real(x) + real(y)),
        infos={0: info, 1: info},
        outputs=(info,),
        tolerance=ONE_STEP,
    )
