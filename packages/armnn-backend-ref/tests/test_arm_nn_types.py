# SPDX-License-Identifier: MIT
"""CpuRef takes every data type that Arm NN's reference takes.

What it takes, it computes rightly: that is what the conformance cases of these types are for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.backends import ModelContext
from armnn.graph import Network
from armnn.layers import LAYERS
from armnn.layers.convolution import (
    Convolution2dDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.layers.reduction import ArgMinMaxDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.backend import RefBackend
from armnn_conformance.cases import data_types_of

_TYPES = {
    "F16": DataType.FLOAT16,
    "BF16": DataType.BFLOAT16,
    "F32": DataType.FLOAT32,
    "U8": DataType.QASYMM_U8,
    "S8": DataType.QASYMM_S8,
    "QS8": DataType.QSYMM_S8,
    "S16": DataType.QSYMM_S16,
    "S32": DataType.SIGNED32,
    "S64": DataType.SIGNED64,
    "BOOL": DataType.BOOLEAN,
}
_STANDARD = "F32 F16 U8 S8 S16"

# What RefLayerSupport.cpp of Arm NN 20.08 to 26.07 takes for the first input, and BFloat16 wherever
# it takes Float16.
_TAKEN = {
    "Activation": "STANDARD",
    "Addition": "STANDARD S32",
    "ArgMinMax": "STANDARD S32 S64",
    "BatchMatMul": "STANDARD",
    "BatchNormalization": "STANDARD",
    "BatchToSpaceNd": "STANDARD",
    "BroadcastTo": "STANDARD QS8 S32 S64",
    "Cast": "STANDARD QS8 S32 S64",
    "ChannelShuffle": "STANDARD QS8",
    "Comparison": "STANDARD S32 BOOL",
    "Concat": "STANDARD S32",
    "ConvertFp16ToFp32": "F16",
    "ConvertFp32ToFp16": "F32",
    "Convolution2d": "STANDARD QS8",
    "Convolution3d": "STANDARD QS8",
    "Debug": "STANDARD QS8 S32 BOOL",
    "DepthToSpace": "STANDARD",
    "DepthwiseConvolution2d": "STANDARD QS8",
    "Dequantize": "F16 U8 S8 QS8 S16",
    "DetectionPostProcess": "STANDARD",
    "Division": "STANDARD S32",
    "ElementwiseBinary": "STANDARD S32",
    "ElementwiseUnary": "STANDARD S32 BOOL",
    "FakeQuantization": "F32",
    "Fill": "F32 F16 S32",
    "Floor": "F32 F16",
    "FullyConnected": "STANDARD",
    "Gather": "STANDARD S32",
    "GatherNd": "STANDARD S32",
    "InstanceNormalization": "F32 F16",
    "L2Normalization": "STANDARD",
    "LogSoftmax": "F32 F16",
    "LogicalBinary": "BOOL",
    "Lstm": "F32 F16 S16",
    "Maximum": "STANDARD S32",
    "Mean": "STANDARD",
    "Minimum": "STANDARD S32",
    "Multiplication": "STANDARD S32",
    "Normalization": "STANDARD",
    "Pad": "STANDARD",
    "Permute": "STANDARD",
    "Pooling2d": "STANDARD",
    "Pooling3d": "STANDARD",
    "Prelu": "STANDARD",
    "QLstm": "S8",
    "QuantizedLstm": "U8",
    "Quantize": "STANDARD QS8",
    "Rank": "STANDARD QS8 S32 S64 BOOL",
    "Reduce": "STANDARD S32",
    "Reshape": "STANDARD S32 BOOL",
    "Resize": "STANDARD QS8",
    "ReverseV2": "STANDARD QS8 S32",
    "ScatterNd": "STANDARD QS8 S32",
    "Shape": "STANDARD QS8 S32 S64 BOOL",
    "Slice": "STANDARD S32",
    "Softmax": "STANDARD QS8",
    "SpaceToBatchNd": "STANDARD",
    "SpaceToDepth": "STANDARD",
    "Splitter": "STANDARD",
    "Stack": "STANDARD S32",
    "StridedSlice": "STANDARD",
    "Subtraction": "STANDARD S32",
    "Tile": "STANDARD QS8 S32 S64",
    "Transpose": "STANDARD",
    "TransposeConvolution2d": "STANDARD QS8",
    "UnidirectionalSequenceLstm": "F32 S8",
}
_BEYOND = {"Fused": "Arm NN has it for CpuAcc only"}


def _taken(layer: str) -> list[DataType]:
    names = _TAKEN[layer].replace("STANDARD", _STANDARD).split()
    if "F16" in names and layer != "ConvertFp16ToFp32":
        names.append("BF16")
    return [_TYPES[name] for name in names]


def test_every_layer_of_arm_nn_is_looked_at() -> None:
    computed = {name for name, spec in LAYERS.items() if spec.number < 1000 and not spec.no_kernel}
    assert computed == set(_TAKEN) | set(_BEYOND)


@pytest.mark.parametrize("layer", _TAKEN)
def test_every_type_of_arm_nn_is_computed(layer: str) -> None:
    missing = [kind.arm_name for kind in _taken(layer) if kind not in data_types_of(layer)]
    assert missing == []


def _supported(layer: str, infos: list[TensorInfo], d: Any, output: TensorInfo) -> str:
    network = Network("test")
    values = [network.add_input(str(place), each) for place, each in enumerate(infos)]
    made = network.add(layer, values, d, outputs=[output])
    return RefBackend().supports(made, ModelContext({})).reason


def _info(kind: DataType, *shape: int) -> TensorInfo:
    return TensorInfo(shape, kind, 0.5 if kind.is_quantized else ())


_BYTES = (DataType.QASYMM_U8, DataType.QASYMM_S8, DataType.QSYMM_S8)


@pytest.mark.parametrize("weights", _BYTES)
@pytest.mark.parametrize("data", _BYTES)
@pytest.mark.parametrize(
    ("layer", "d", "shape"),
    [
        ("Convolution2d", Convolution2dDescriptor(), (3, 2, 2, 2)),
        ("DepthwiseConvolution2d", DepthwiseConvolution2dDescriptor(), (1, 2, 2, 4)),
        (
            "TransposeConvolution2d",
            TransposeConvolution2dDescriptor(stride_x=1, stride_y=1),
            (3, 2, 2, 2),
        ),
    ],
)
def test_data_in_eight_bits_goes_with_weights_of_every_such_type(
    layer: str, d: Any, shape: tuple[int, ...], data: DataType, weights: DataType
) -> None:
    infos = [_info(data, 1, 2, 3, 3), _info(weights, *shape)]
    infos.append(_info(DataType.SIGNED32, shape[0] if shape[0] > 1 else shape[3]))
    assert _supported(layer, infos, d, TensorInfo(None, data, 0.25)) == ""


@pytest.mark.parametrize("kind", [DataType.SIGNED32, DataType.SIGNED64])
def test_an_index_has_32_or_64_bits(kind: DataType) -> None:
    infos, output = [_info(DataType.FLOAT32, 2, 3)], TensorInfo(None, kind)
    assert _supported("ArgMinMax", infos, ArgMinMaxDescriptor(), output) == ""


def test_sums_of_bfloat16_may_stay_float32(run_layer: Any) -> None:
    """1 + 2^-9 is no BFloat16, but a sum of two."""
    x = np.array([1.0, 2.0**-9]).astype(DataType.BFLOAT16.numpy_dtype).reshape(1, 2, 1, 1)
    weights = np.ones((1, 2, 1, 1), x.dtype)
    for output, expected in ((DataType.FLOAT32, 1 + 2.0**-9), (DataType.BFLOAT16, 1.0)):
        (y,) = run_layer("Convolution2d", [x, weights], outputs=[output])
        assert y.dtype == output.numpy_dtype
        assert float(y.item()) == expected


def test_sums_do_not_become_float64() -> None:
    infos = [_info(DataType.FLOAT16, 1, 2, 3, 3), _info(DataType.FLOAT16, 3, 2, 2, 2)]
    reason = _supported(
        "Convolution2d", infos, Convolution2dDescriptor(), TensorInfo(None, DataType.FLOAT64)
    )
    assert "the output 'output' is Float64, expected Float16 as the input 'input'" in reason
