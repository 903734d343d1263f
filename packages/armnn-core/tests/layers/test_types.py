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
OWN = {
    "NonZero": 1000,
    "Where": 1001,
    "LayerNormalization": 1002,
    "RmsNormalization": 1003,
    "GroupNormalization": 1004,
    "IsNaN": 1005,
    "IsInf": 1006,
    "Einsum": 1007,
    "Rnn": 1008,
    "Gru": 1009,
    "SequenceLstm": 1010,
    "ReverseSequence": 1011,
    "TopK": 1012,
    "CumSum": 1013,
    "Range": 1014,
    "OneHot": 1015,
    "Trilu": 1016,
    "GatherElements": 1017,
    "ScatterElements": 1018,
    "Attention": 1019,
    "RotaryEmbedding": 1020,
    "GridSample": 1021,
    "NonMaxSuppression": 1022,
    "MatMulInteger": 1023,
    "ConvolutionInteger": 1024,
    "DynamicQuantize": 1025,
    "Compress": 1026,
    "RoiAlign": 1027,
    "CumProd": 1028,
    "Unique": 1029,
    "Determinant": 1030,
    "BitCast": 1031,
}

FAMILY_MEMBERS = {
    "io": "Input Output Constant",
    "activation": "Activation Prelu",
    "elementwise": "Addition Subtraction Multiplication Division Maximum Minimum ElementwiseBinary "
    "ElementwiseUnary Comparison LogicalBinary Floor Fused Where "
    "IsNaN IsInf",
    "convolution": "Convolution2d DepthwiseConvolution2d TransposeConvolution2d Convolution3d "
    "ConvolutionInteger",
    "matmul": "FullyConnected BatchMatMul Einsum MatMulInteger Determinant",
    "pooling": "Pooling2d Pooling3d",
    "normalization": "BatchNormalization InstanceNormalization L2Normalization Normalization "
    "Softmax LogSoftmax LayerNormalization RmsNormalization GroupNormalization",
    "reduction": "ArgMinMax Mean Reduce CumSum CumProd",
    "reshaping": "Reshape Permute Transpose SpaceToDepth DepthToSpace SpaceToBatchNd "
    "BatchToSpaceNd ChannelShuffle BroadcastTo Tile Pad ReverseV2",
    "indexing": "Gather GatherNd ScatterNd Slice StridedSlice NonZero",
    "joining": "Concat Stack Splitter",
    "resizing": "Resize GridSample RoiAlign",
    "quantizing": "Quantize Dequantize Cast ConvertFp16ToFp32 ConvertFp32ToFp16 FakeQuantization "
    "DynamicQuantize BitCast",
    "recurrent": "Lstm UnidirectionalSequenceLstm QLstm QuantizedLstm",
    "sequence": "Rnn Gru SequenceLstm ReverseSequence",
    "selecting": "TopK OneHot Trilu GatherElements ScatterElements Compress Unique",
    "attention": "Attention RotaryEmbedding",
    "detection": "DetectionPostProcess NonMaxSuppression",
    "dimensions": "Rank Shape Fill Range",
    "plumbing": "Debug MemCopy MemImport Merge Switch Map Unmap PreCompiled StandIn",
}


def test_the_table_has_the_78_layer_types_of_arm_nn_with_their_numbers() -> None:
    assert len(ARM_NN) == 78
    numbers = {spec.name: spec.number for spec in LAYERS.values() if spec.number < 1000}
    assert numbers == ARM_NN


def test_what_arm_nn_lacks_is_numbered_from_1000() -> None:
    assert {s.name: s.number for s in LAYERS.values() if s.number >= len(ARM_NN)} == OWN


def test_layer_types_are_the_rows_of_the_table() -> None:
    assert {member.name: member.value for member in LayerType} == {
        spec.name: spec.number for spec in LAYERS.values()
    }


def test_every_family_declares_its_layers() -> None:
    members = {
        family.__name__.rpartition(".")[2]: [
            spec.name
            for spec in LAYERS.values()
            if spec.family == family.__name__.rpartition(".")[2]
            and getattr(family, spec.descriptor.__name__) is spec.descriptor
        ]
        for family in FAMILIES
    }
    assert {name: sorted(found) for name, found in members.items()} == {
        name: sorted(listed.split()) for name, listed in FAMILY_MEMBERS.items()
    }


def test_a_layer_knows_its_family() -> None:
    assert LAYERS["Convolution2d"].family == "convolution"
