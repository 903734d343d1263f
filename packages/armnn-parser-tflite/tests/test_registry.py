# SPDX-License-Identifier: MIT
from __future__ import annotations

import tflite

from armnn_parser_tflite.operators import find_converter, operator_names


def test_every_name_is_one_of_the_schema_or_custom() -> None:
    builtin = set(vars(tflite.BuiltinOperator))
    assert [name for name in operator_names() if name not in builtin] == [
        "Convolution2DTransposeBias",
        "TFLite_Detection_PostProcess",
    ]


def test_custom_operators_do_not_stand_in_for_builtin_ones() -> None:
    assert find_converter("RELU", custom=True) is None
    assert find_converter("TFLite_Detection_PostProcess", custom=False) is None
    assert find_converter("TFLite_Detection_PostProcess", custom=True) is not None


def test_the_operators_of_arm_nn_are_there() -> None:
    arm_nn = """
        ABS ADD ARG_MAX ARG_MIN AVERAGE_POOL_2D BATCH_MATMUL BATCH_TO_SPACE_ND BROADCAST_TO CAST
        CEIL CONCATENATION CONV_2D CONV_3D DEPTH_TO_SPACE DEPTHWISE_CONV_2D DEQUANTIZE DIV ELU
        EQUAL EXP EXPAND_DIMS FLOOR_DIV FULLY_CONNECTED GATHER GATHER_ND GELU GREATER
        GREATER_EQUAL HARD_SWISH L2_NORMALIZATION LEAKY_RELU LESS LESS_EQUAL
        LOCAL_RESPONSE_NORMALIZATION LOG LOGICAL_NOT LOGISTIC LOG_SOFTMAX MAX_POOL_2D MAXIMUM MEAN
        MINIMUM MIRROR_PAD MUL NEG NOT_EQUAL PACK PAD PADV2 POW PRELU QUANTIZE REDUCE_MAX
        REDUCE_MIN REDUCE_PROD RELU RELU6 RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR
        REVERSE_V2 RSQRT SCATTER_ND SHAPE SIN SLICE SOFTMAX SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT
        SPLIT_V SQRT SQUARE SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM TANH TILE TRANSPOSE
        TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK
    """
    assert [name for name in arm_nn.split() if find_converter(name, custom=False) is None] == []
