# SPDX-License-Identifier: MIT
"""Results of extreme values, worked out by hand, per backend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from armnn.layers.activation import ActivationDescriptor, PreluDescriptor
from armnn.layers.elementwise import ComparisonDescriptor
from armnn.layers.indexing import GatherDescriptor
from armnn.layers.normalization import (
    InstanceNormalizationDescriptor,
    L2NormalizationDescriptor,
    LayerNormalizationDescriptor,
    LogSoftmaxDescriptor,
    NormalizationDescriptor,
    RmsNormalizationDescriptor,
    SoftmaxDescriptor,
)
from armnn.layers.pooling import Pooling2dDescriptor
from armnn.layers.quantizing import (
    CastDescriptor,
    ConvertFp32ToFp16Descriptor,
    DynamicQuantizeDescriptor,
    QuantizeDescriptor,
)
from armnn.layers.reduction import ArgMinMaxDescriptor, MeanDescriptor
from armnn.layers.resizing import ResizeDescriptor
from armnn.tensor import TensorInfo
from armnn.types import (
    ActivationFunction,
    ComparisonOperation,
    DataType,
    PoolingAlgorithm,
    ResizeMethod,
)
from armnn_conformance.cases import LayerCase, case
from armnn_conformance.checks.correctness import CaseResult, Outcome, check_case
from armnn_conformance.operands import stored_tensor, tensor
from armnn_conformance.running import BoundCase, layer_of
from armnn_conformance.subject import Subject

F32, U8 = DataType.FLOAT32, DataType.QASYMM_U8
INF, NAN, HUGE = np.inf, np.nan, 3e38
A, B = 1.5, 0.25


@pytest.fixture(scope="module", params=["CpuRef", "CpuAcc"])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    with Subject(request.param) as found:
        yield found


def of(name: str, descriptor: Any, inputs: Sequence[Any], expected: Any, **options: Any) -> Any:
    """Return one case as a parameter, of Float32 by default."""
    tensors = [each if hasattr(each, "stored") else tensor(F32, each) for each in inputs]
    return pytest.param(case(F32, name, descriptor, tensors, expected, **options), id=name)


def image(*values: float) -> Any:
    """Return one channel of one row."""
    return np.array(values).reshape(1, 1, 1, -1)


def pool(kind: PoolingAlgorithm) -> Pooling2dDescriptor:
    return Pooling2dDescriptor(pool_type=kind, pool_width=2, pool_height=1, stride_x=2, stride_y=1)


_WIDER = ResizeDescriptor(
    target_width=3, target_height=1, method=ResizeMethod.BILINEAR, align_corners=True
)
_FIRST_OF_EQUALS = ArgMinMaxDescriptor(axis=0)

CASES = [
    of("softmax with beta", SoftmaxDescriptor(beta=10.0), [[HUGE, 0, -HUGE]], [1, 0, 0]),
    of("softmax with beta below zero", SoftmaxDescriptor(beta=-10.0), [[HUGE, -HUGE]], [0, 1]),
    of("softmax with beta zero", SoftmaxDescriptor(beta=0.0), [[HUGE, -HUGE]], [0.5, 0.5]),
    of("softmax of one infinity", SoftmaxDescriptor(), [[-INF, 0]], [0, 1]),
    of("log softmax with beta", LogSoftmaxDescriptor(beta=10.0), [[HUGE] * 2], [-np.log(2)] * 2),
    of("log softmax of a small beta", LogSoftmaxDescriptor(beta=0.5), [[HUGE, -HUGE]], [0, -HUGE]),
    of(
        "prelu of infinite alpha",
        PreluDescriptor(),
        [[2, -2, 2, -2, 2, -2, 0], [INF, INF, -INF, -INF, NAN, NAN, INF]],
        [2, -INF, 2, INF, 2, NAN, NAN],
    ),
    of(
        "length",
        L2NormalizationDescriptor(),
        [np.full((1, 4, 1, 1), HUGE)],
        np.full((1, 4, 1, 1), 0.5),
    ),
    of("length of tiny numbers", L2NormalizationDescriptor(eps=0.0), [image(1e-30)], image(1)),
    of("layer norm", LayerNormalizationDescriptor(), [[[HUGE, -HUGE]]], [[1, -1]]),
    of("layer norm of large alike", LayerNormalizationDescriptor(), [[[HUGE] * 3]], [[0, 0, 0]]),
    of("rms norm", RmsNormalizationDescriptor(), [[[HUGE, HUGE]]], [[1, 1]]),
    of("rms norm of tiny numbers", RmsNormalizationDescriptor(eps=0.0), [[[1e-30] * 2]], [[1, 1]]),
    of("instance norm", InstanceNormalizationDescriptor(), [image(HUGE, -HUGE)], image(1, -1)),
    of(
        "local response",
        NormalizationDescriptor(norm_size=1, alpha=1.0, beta=0.5, k=1.0),
        [image(HUGE, 1)],
        image(1, np.sqrt(0.5)),
    ),
    of("average", pool(PoolingAlgorithm.AVERAGE), [image(HUGE, HUGE)], image(HUGE)),
    of("root mean square", pool(PoolingAlgorithm.L2), [image(HUGE, HUGE)], image(HUGE)),
    of("maximum", pool(PoolingAlgorithm.MAX), [image(-INF, -INF, NAN, 1)], image(-INF, NAN)),
    of("mean", MeanDescriptor(axis=(0,)), [[HUGE, HUGE, HUGE]], HUGE),
    of("mean of columns", MeanDescriptor(axis=(0,)), [[[HUGE, 1], [HUGE, 3]]], [HUGE, 2]),
    of("mean of both signs", MeanDescriptor(axis=(0,)), [[HUGE, HUGE, -HUGE]], HUGE / 3),
    of("bilinear", _WIDER, [image(HUGE, -HUGE)], image(HUGE, 0, -HUGE)),
    of("index of NaN", _FIRST_OF_EQUALS, [[1, NAN, INF]], 1, outputs=[DataType.SIGNED32]),
    of(
        "comparison with NaN",
        ComparisonDescriptor(operation=ComparisonOperation.GREATER_OR_EQUAL),
        [[NAN, INF, 1e-40], [NAN, INF, 0]],
        [False, True, True],
        outputs=[DataType.BOOLEAN],
    ),
    of(
        "numbers to integers",
        CastDescriptor(),
        [[NAN, INF, -INF, HUGE, -1.9]],
        np.array([0, 2**31 - 1, -(2**31), 2**31 - 1, -1]),
        outputs=[DataType.SIGNED32],
    ),
    of(
        "numbers to bytes",
        CastDescriptor(),
        [[NAN, INF, -INF, 255.9]],
        np.array([0, 255, 0, 255]),
        outputs=[DataType.UNSIGNED8],
    ),
    of(
        "numbers to truth",
        CastDescriptor(),
        [[NAN, 1e-40, -0.0]],
        [True, True, False],
        outputs=[DataType.BOOLEAN],
    ),
    of(
        "quantized",
        QuantizeDescriptor(),
        [[INF, -INF, NAN, HUGE]],
        [127.5, 0, 0, 127.5],
        outputs=[TensorInfo(None, U8, 0.5, 0)],
    ),
    of(
        "quantized as it runs",
        DynamicQuantizeDescriptor(),
        [[INF, -INF, NAN, HUGE, -HUGE]],
        (np.array([255, 0, 128, 255, 0]), HUGE / 127.5, np.array(128)),
        outputs=[DataType.UNSIGNED8, F32, DataType.UNSIGNED8],
    ),
]


@pytest.mark.parametrize("layer_case", CASES)
def test_it_is_computed_as_by_hand(subject: Subject, layer_case: LayerCase) -> None:
    assert check_case(subject, layer_case) == Outcome(CaseResult.PASSED)


_AT_LIMITS = {  # at -inf, -3e38, 3e38 and inf, with a = 1.5 and b = 0.25
    ActivationFunction.SIGMOID: [0, 0, 1, 1],
    ActivationFunction.TANH: [-1.5, -1.5, 1.5, 1.5],
    ActivationFunction.LINEAR: [-INF, -INF, INF, INF],
    ActivationFunction.RELU: [0, 0, HUGE, INF],
    ActivationFunction.BOUNDED_RELU: [0.25, 0.25, 1.5, 1.5],
    ActivationFunction.SOFT_RELU: [0, 0, HUGE, INF],
    ActivationFunction.LEAKY_RELU: [-INF, -INF, HUGE, INF],
    ActivationFunction.ABS: [INF, HUGE, HUGE, INF],
    ActivationFunction.SQRT: [NAN, NAN, np.sqrt(HUGE), INF],
    ActivationFunction.SQUARE: [INF, INF, INF, INF],
    ActivationFunction.ELU: [-1.5, -1.5, HUGE, INF],
    ActivationFunction.HARD_SWISH: [NAN, 0, HUGE, INF],  # infinity times zero
    ActivationFunction.GELU: [NAN, 0, HUGE, INF],
    ActivationFunction.SOFT_SIGN: [NAN, -1, 1, NAN],  # infinity over infinity
    ActivationFunction.MISH: [NAN, 0, HUGE, INF],
    ActivationFunction.SELU: [-0.375, -0.375, HUGE / 4, INF],
    ActivationFunction.CELU: [-1.5, -1.5, HUGE, INF],
    ActivationFunction.HARD_SIGMOID: [0, 0, 1, 1],
    ActivationFunction.THRESHOLDED_RELU: [0, 0, HUGE, INF],
    ActivationFunction.SHRINK: [-INF, -HUGE, HUGE, INF],
    ActivationFunction.SWISH: [NAN, 0, HUGE, INF],
    ActivationFunction.GELU_TANH: [NAN, 0, HUGE, INF],
}


def test_every_activation_has_its_limits() -> None:
    assert set(_AT_LIMITS) == set(ActivationFunction)


@pytest.mark.parametrize("function", ActivationFunction)
def test_an_activation_has_its_limits(subject: Subject, function: ActivationFunction) -> None:
    x = tensor(F32, [-INF, -HUGE, HUGE, INF, NAN])
    d = ActivationDescriptor(function=function, a=A, b=B)
    made = case(F32, "limits", d, [x], [*_AT_LIMITS[function], NAN])
    assert check_case(subject, made) == Outcome(CaseResult.PASSED)


def test_what_moves_keeps_every_bit(subject: Subject) -> None:
    bits = np.array([0x7FC0_1234, 0xFF80_0001, 0x0000_0001, 0x8000_0000], np.uint32)
    with np.errstate(invalid="ignore"):  # one of them is a signalling NaN
        x = stored_tensor(F32, bits.view(np.float32))
    indices = stored_tensor(DataType.SIGNED32, [3, 2, 1, 0])
    made = case(F32, "payloads", GatherDescriptor(), [x, indices], x.real[::-1])
    (moved,) = BoundCase(subject, layer_of(made), made.inputs).run()
    assert moved.view(np.uint32).tolist() == bits[::-1].tolist()


def test_float16_overflows_to_infinity_when_it_is_rounded() -> None:
    x = tensor(F32, [65519.0, 65520.0, -HUGE, 2.0**-25, 3 * 2.0**-26])
    expected = [65504, INF, -INF, 0, 2.0**-24]
    made = case(
        F32, "limits", ConvertFp32ToFp16Descriptor(), [x], expected, outputs=[DataType.FLOAT16]
    )
    with Subject("CpuRef") as reference:
        assert check_case(reference, made) == Outcome(CaseResult.PASSED)
