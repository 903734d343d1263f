# SPDX-License-Identifier: MIT
"""The table of rules that says which layers CpuRef runs.

The first rule that fails is the reason.
"""

from __future__ import annotations

from armnn.backends import SUPPORTED, Support
from armnn.graph import Layer
from armnn.types import DataType
from armnn_backend_ref.rules import (
    ANY,
    BOOLEANS,
    BYTES,
    FLOATS,
    HALVES,
    INDICES,
    INTEGERS,
    NUMBERS,
    QUANTIZED,
    REAL,
    WEIGHTS,
    Rule,
    activates,
    alike,
    binary,
    has_pixels,
    has_steps,
    local_brightness,
    multiplies,
    plain_bits,
    poolable,
    reducible,
    resolved,
    rowwise,
    scaled,
    takes,
    takes_each,
    unary,
    weighted,
)

_LIKE_INPUT = alike("input", "output")
_CONVOLUTION = (takes("input", REAL), _LIKE_INPUT, weighted)
_ARITHMETIC = (takes("input", NUMBERS), alike("input", "other", "output"))
_REAL = (takes("input", REAL), _LIKE_INPUT)
_MOVES = (takes("input", ANY), _LIKE_INPUT)
_INDEXED = (takes("input", ANY), takes("indices", INDICES), _LIKE_INPUT)
_SEQUENCE = (
    takes("input", REAL),
    takes_each(".*weights|bias|.*_state_in", REAL),
    takes("sequence_lengths", INDICES),
    alike("input", "output_state_in", "output", "output_state_out"),
)

RULES: dict[str, tuple[Rule, ...]] = {
    "Activation": (activates, _LIKE_INPUT),
    "Prelu": (takes("input", REAL), alike("input", "alpha", "output")),
    "Addition": _ARITHMETIC,
    "Subtraction": _ARITHMETIC,
    "Multiplication": _ARITHMETIC,
    "Division": _ARITHMETIC,
    "Maximum": _ARITHMETIC,
    "Minimum": _ARITHMETIC,
    "ElementwiseBinary": (binary, alike("input", "other", "output")),
    "ElementwiseUnary": (unary, _LIKE_INPUT),
    "Comparison": (takes("input", ANY), alike("input", "other")),
    "LogicalBinary": (takes("input", BOOLEANS), takes("other", BOOLEANS)),
    "Where": (takes("condition", BOOLEANS), takes("x", ANY), alike("x", "y", "output")),
    "IsNaN": (takes("input", REAL),),
    "IsInf": (takes("input", REAL),),
    "Floor": (takes("input", NUMBERS), _LIKE_INPUT),
    "Fused": (takes("inputs", NUMBERS), alike("inputs", "output")),
    "Convolution2d": _CONVOLUTION,
    "DepthwiseConvolution2d": _CONVOLUTION,
    "TransposeConvolution2d": _CONVOLUTION,
    "Convolution3d": _CONVOLUTION,
    "ConvolutionInteger": (
        takes("input", BYTES),
        takes("weights", BYTES),
        alike("input", "input_zero_point"),
        alike("weights", "weights_zero_point"),
    ),
    "FullyConnected": _CONVOLUTION,
    "BatchMatMul": (multiplies, alike("input", "other", "output")),
    "Einsum": (takes("inputs", NUMBERS), alike("inputs", "output")),
    "MatMulInteger": (
        takes("input", BYTES),
        takes("other", BYTES),
        alike("input", "input_zero_point"),
        alike("other", "other_zero_point"),
    ),
    "Determinant": _REAL,
    "Pooling2d": (poolable, _LIKE_INPUT),
    "Pooling3d": (poolable, _LIKE_INPUT),
    "BatchNormalization": (
        *_REAL,
        *(takes(name, REAL) for name in ("mean", "variance", "beta", "gamma")),
    ),
    "InstanceNormalization": _REAL,
    "L2Normalization": _REAL,
    "Normalization": (*_REAL, local_brightness),
    "LayerNormalization": (*_REAL, takes("gamma", REAL), takes("beta", REAL)),
    "RmsNormalization": (*_REAL, takes("gamma", REAL)),
    "GroupNormalization": (*_REAL, takes("gamma", REAL), takes("beta", REAL)),
    "Softmax": _REAL,
    "LogSoftmax": _REAL,
    "ArgMinMax": (takes("input", NUMBERS),),
    "Mean": (takes("input", NUMBERS), _LIKE_INPUT),
    "Reduce": (reducible, _LIKE_INPUT),
    "CumSum": (takes("input", NUMBERS), _LIKE_INPUT),
    "CumProd": (takes("input", NUMBERS), _LIKE_INPUT),
    "Rnn": _SEQUENCE,
    "Gru": _SEQUENCE,
    "SequenceLstm": (*_SEQUENCE, alike("input", "cell_state_in", "cell_state_out")),
    "ReverseSequence": (takes("input", ANY), takes("sequence_lengths", INDICES), _LIKE_INPUT),
    "Attention": (
        takes("query", REAL),
        alike("query", "key", "value", "output"),
        takes("mask", REAL + BOOLEANS),
    ),
    "RotaryEmbedding": (*_REAL, takes("cos", REAL), takes("sin", REAL)),
    "TopK": (takes("input", NUMBERS), alike("input", "values")),
    "OneHot": (takes("indices", INTEGERS), takes("values", ANY), alike("values", "output")),
    "Trilu": _MOVES,
    "GatherElements": _INDEXED,
    "ScatterElements": (
        takes("input", NUMBERS),
        takes("indices", INDICES),
        alike("input", "updates", "output"),
    ),
    "Unique": (takes("input", ANY), alike("input", "values")),
    "Compress": (takes("input", ANY), takes("condition", BOOLEANS), _LIKE_INPUT),
    "Range": (
        takes("start", FLOATS + INTEGERS),
        alike("start", "limit", "delta", "output", mixed=False),
    ),
    "Lstm": (
        *(takes(name, (*FLOATS, DataType.QSYMM_S16)) for name in ("input", "scratch_buffer")),
        takes("cell_state_out", (*FLOATS, DataType.QSYMM_S16)),
        takes_each(".*_weights|.*_bias|.*_state_in", REAL),
        alike("input", "output_state_in", "scratch_buffer", "output_state_out", "output"),
        alike("cell_state_in", "cell_state_out"),
    ),
    "UnidirectionalSequenceLstm": (
        takes("input", REAL),
        takes_each(".*_weights|.*_state_in", REAL),
        takes_each(".*_bias", (*REAL, DataType.SIGNED32)),
        alike("input", "output_state_in", "output_state_out", "output"),
        alike("cell_state_in", "cell_state_out"),
    ),
    "QLstm": (
        takes("input", (DataType.QASYMM_S8,)),
        takes("cell_state_in", (DataType.QSYMM_S16,)),
        takes_each("(input_to|recurrent_to|projection)_.*weights", (DataType.QSYMM_S8,)),
        takes_each("cell_to_.*|.*_layer_norm_weights", (DataType.QSYMM_S16,)),
        takes_each(".*_bias", (DataType.SIGNED32,)),
        alike("input", "output_state_in", "output_state_out", "output", mixed=False),
        alike("cell_state_in", "cell_state_out", mixed=False),
        has_steps,
    ),
    "QuantizedLstm": (
        takes("input", (DataType.QASYMM_U8,)),
        takes("previous_cell_state_in", (DataType.QSYMM_S16,)),
        takes_each(".*_weights", WEIGHTS),
        takes_each(".*_bias", (DataType.SIGNED32,)),
        alike("input", "previous_output_in", "output", mixed=False),
        alike("previous_cell_state_in", "cell_state_out", mixed=False),
    ),
    "DetectionPostProcess": tuple(
        takes(name, REAL) for name in ("box_encodings", "scores", "anchors")
    ),
    "NonMaxSuppression": (takes("boxes", REAL), takes("scores", REAL)),
    "Reshape": _MOVES,
    "Permute": _MOVES,
    "Transpose": _MOVES,
    "SpaceToDepth": _MOVES,
    "DepthToSpace": _MOVES,
    "SpaceToBatchNd": _MOVES,
    "BatchToSpaceNd": _MOVES,
    "ChannelShuffle": _MOVES,
    "BroadcastTo": _MOVES,
    "Tile": _MOVES,
    "Pad": _MOVES,
    "ReverseV2": _MOVES,
    "Gather": _INDEXED,
    "GatherNd": _INDEXED,
    "ScatterNd": (
        takes("updates", NUMBERS),
        takes("indices", INDICES),
        alike("updates", "input", "output"),
        rowwise,
    ),
    "Slice": _MOVES,
    "StridedSlice": _MOVES,
    "NonZero": (takes("input", ANY),),
    "Concat": (takes("inputs", ANY), alike("inputs", "output")),
    "Splitter": _MOVES,
    "Stack": (takes("inputs", ANY), alike("inputs", "output")),
    "Resize": (*_REAL, has_pixels),
    "RoiAlign": (*_REAL, has_pixels, takes("boxes", REAL), takes("batch_indices", INDICES)),
    "GridSample": (*_REAL, has_pixels, takes("grid", REAL)),
    "Quantize": (takes("input", REAL), takes("output", QUANTIZED)),
    "Dequantize": (takes("input", (*QUANTIZED, *HALVES)), takes("output", FLOATS)),
    "Cast": (),
    "BitCast": (plain_bits,),
    "DynamicQuantize": (takes("input", REAL),),
    "ConvertFp16ToFp32": (takes("input", (DataType.FLOAT16,)),),
    "ConvertFp32ToFp16": (takes("input", (DataType.FLOAT32,)),),
    "FakeQuantization": (takes("input", FLOATS), _LIKE_INPUT),
    "Debug": _MOVES,
    "Rank": (),
    "Shape": (),
    "Fill": (takes("output", ANY),),
}
"""For each layer type, what its tensors and its descriptor must be."""


def support_of(layer: Layer) -> Support:
    """Return whether CpuRef runs a layer whose shapes are known."""
    if layer.type not in RULES:
        hint = layer.spec.no_kernel or "name a backend that has one as well"
        return Support.no(f"CpuRef has no kernel for {layer.type}: {hint}")
    for rule in (resolved, *RULES[layer.type], scaled):
        reason = rule(layer)
        if reason:
            return Support.no(f"{layer.type} on CpuRef: {reason}")
    return SUPPORTED
