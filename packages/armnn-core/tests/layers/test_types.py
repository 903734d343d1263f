# SPDX-License-Identifier: MIT
"""The layer types, with numbers and families."""

from __future__ import annotations

from armnn.layers import FAMILIES, LAYERS, LayerType

ARM_NN = {
    "Activation": 0,
    "Addition": 1,
    "ArgMinMax": 2,
    "BatchNormalization": 3,
    "BatchToSpaceNd": 4,
    "Comparison": 5,
    "Concat": 6,
    "Constant": 7,
    "ConvertFp16ToFp32": 8,
    "ConvertFp32ToFp16": 9,
    "Convolution2d": 10,
    "Debug": 11,
    "DepthToSpace": 12,
    "DepthwiseConvolution2d": 13,
    "Dequantize": 14,
    "DetectionPostProcess": 15,
    "Division": 16,
    "ElementwiseUnary": 17,
    "FakeQuantization": 18,
    "Fill": 19,
    "Floor": 20,
    "FullyConnected": 21,
    "Gather": 22,
    "Input": 23,
    "InstanceNormalization": 24,
    "L2Normalization": 25,
    "LogicalBinary": 26,
    "LogSoftmax": 27,
    "Lstm": 28,
    "QLstm": 29,
    "Map": 30,
    "Maximum": 31,
    "Mean": 32,
    "MemCopy": 33,
    "MemImport": 34,
    "Merge": 35,
    "Minimum": 36,
    "Multiplication": 37,
    "Normalization": 38,
    "Output": 39,
    "Pad": 40,
    "Permute": 41,
    "Pooling2d": 42,
    "PreCompiled": 43,
    "Prelu": 44,
    "Quantize": 45,
    "QuantizedLstm": 46,
    "Reshape": 47,
    "Rank": 48,
    "Resize": 49,
    "Reduce": 50,
    "Slice": 51,
    "Softmax": 52,
    "SpaceToBatchNd": 53,
    "SpaceToDepth": 54,
    "Splitter": 55,
    "Stack": 56,
    "StandIn": 57,
    "StridedSlice": 58,
    "Subtraction": 59,
    "Switch": 60,
    "Transpose": 61,
    "TransposeConvolution2d": 62,
    "Unmap": 63,
    "Cast": 64,
    "Shape": 65,
    "UnidirectionalSequenceLstm": 66,
    "ChannelShuffle": 67,
    "Convolution3d": 68,
    "Pooling3d": 69,
    "GatherNd": 70,
    "BatchMatMul": 71,
    "ElementwiseBinary": 72,
    "ReverseV2": 73,
    "Tile": 74,
    "Fused": 75,
    "BroadcastTo": 76,
    "ScatterNd": 77,
}


def test_the_table_has_the_78_layer_types_of_arm_nn_with_their_numbers() -> None:
    assert len(ARM_NN) == 78
    numbers = {spec.name: spec.number for spec in LAYERS.values() if spec.number < 1000}
    assert numbers == ARM_NN


def test_what_arm_nn_lacks_is_numbered_from_1000_without_gaps() -> None:
    numbers = sorted(spec.number for spec in LAYERS.values() if spec.number >= len(ARM_NN))
    assert numbers == [*range(1000, 1000 + len(numbers))]


def test_layer_types_are_the_rows_of_the_table() -> None:
    assert {member.name: member.value for member in LayerType} == {
        spec.name: spec.number for spec in LAYERS.values()
    }


def test_a_family_has_the_descriptors_that_it_declares() -> None:
    families = {family.__name__.rpartition(".")[2]: family for family in FAMILIES}
    assert len(families) == len(FAMILIES)
    for spec in LAYERS.values():
        assert getattr(families[spec.family], spec.descriptor.__name__) is spec.descriptor


def test_a_layer_knows_its_family() -> None:
    assert LAYERS["Convolution2d"].family == "convolution"
