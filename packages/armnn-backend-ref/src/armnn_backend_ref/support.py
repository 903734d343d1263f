# SPDX-License-Identifier: MIT
"""The layers that CpuRef runs: rules about tensors, and the table of each layer's rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from armnn.backends import SUPPORTED, Support
from armnn.graph import Layer
from armnn.layers.activation import ActivationDescriptor
from armnn.layers.elementwise import ElementwiseBinaryDescriptor, ElementwiseUnaryDescriptor
from armnn.layers.indexing import ScatterNdDescriptor
from armnn.layers.matmul import BatchMatMulDescriptor, FullyConnectedDescriptor
from armnn.layers.normalization import NormalizationDescriptor
from armnn.layers.pooling import Pooling2dDescriptor, Pooling3dDescriptor
from armnn.layers.recurrent import QLstmDescriptor
from armnn.layers.reduction import ReduceDescriptor
from armnn.tensor import TensorInfo, format_shape
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    DataLayout,
    DataType,
    NormalizationAlgorithmMethod,
    PoolingAlgorithm,
    ReduceOperation,
    UnaryOperation,
)
from armnn_backend_ref.ops.recurrent import BIASES

Rule: TypeAlias = Callable[["Layer"], str]
"""Returns why a layer is refused, "" if it is not."""

FLOATS = (DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT32, DataType.FLOAT64)
HALVES = (DataType.FLOAT16, DataType.BFLOAT16)
QUANTIZED = (DataType.QASYMM_U8, DataType.QASYMM_S8, DataType.QSYMM_S8, DataType.QSYMM_S16)
INTEGERS = (
    DataType.SIGNED8,
    DataType.SIGNED16,
    DataType.SIGNED32,
    DataType.SIGNED64,
    DataType.UNSIGNED8,
    DataType.UNSIGNED16,
    DataType.UNSIGNED32,
    DataType.UNSIGNED64,
)
BYTES = (DataType.SIGNED8, DataType.UNSIGNED8)
WIDE_INTEGERS = (DataType.SIGNED64, DataType.UNSIGNED64)
"""Integers that float64 does not hold."""
NARROW_INTEGERS = tuple(kind for kind in INTEGERS if kind not in WIDE_INTEGERS)
BOOLEANS = (DataType.BOOLEAN,)
REAL = FLOATS + QUANTIZED
MIXED = (*HALVES, DataType.FLOAT32, *QUANTIZED)
"""Types that are computed in float32, whatever stands beside them."""
NUMBERS = REAL + INTEGERS
ANY = NUMBERS + BOOLEANS
INDICES = (DataType.SIGNED32, DataType.SIGNED64)
WEIGHTS = (DataType.QASYMM_U8, DataType.QASYMM_S8, DataType.QSYMM_S8, DataType.QSYMM_S16)
INTEGER_ACTIVATIONS = (
    ActivationFunction.RELU,
    ActivationFunction.ABS,
    ActivationFunction.SQUARE,
)
INTEGER_OPERATIONS = (
    UnaryOperation.ABS,
    UnaryOperation.NEG,
    UnaryOperation.CEIL,
    UnaryOperation.ROUND,
    UnaryOperation.SIGN,
)
BITWISE_OPERATIONS = (
    BinaryOperation.BITWISE_AND,
    BinaryOperation.BITWISE_OR,
    BinaryOperation.BITWISE_XOR,
    BinaryOperation.SHIFT_LEFT,
    BinaryOperation.SHIFT_RIGHT,
)

OUTPUT_AXES = {"DepthwiseConvolution2d": 3, "Convolution3d": 4}
"""The axis of the output channels in weights, where it is not the first."""


def takes(name: str, types: Iterable[DataType]) -> Rule:
    """Return a rule that limits a slot's data types."""
    allowed = tuple(types)

    def rule(layer: Layer) -> str:
        for what, info in _tensors(layer, name):
            if info.data_type not in allowed:
                return f"{what} is {info.data_type.arm_name}, expected {_one_of(allowed)}"
        return ""

    return rule


def takes_each(pattern: str, types: Iterable[DataType]) -> Rule:
    """Return a rule that limits all matching slots' data types."""
    allowed = tuple(types)

    def rule(layer: Layer) -> str:
        names = [slot.name for slot in layer.spec.inputs if re.fullmatch(pattern, slot.name)]
        return next(filter(None, (takes(name, allowed)(layer) for name in names)), "")

    return rule


def alike(*names: str, mixed: bool = True) -> Rule:
    """Return a rule that requires the first slot's data type.

    Their scales may differ.

    Args:
        names: The slots.
        mixed: Whether Float16, BFloat16, Float32 and the quantized types may stand beside each
            other.
    """

    def rule(layer: Layer) -> str:
        (what, info), *others = [pair for name in names for pair in _tensors(layer, name)]
        for other, other_info in others:
            both = mixed and info.data_type in MIXED and other_info.data_type in MIXED
            if not both and other_info.data_type is not info.data_type:
                return (
                    f"{other} is {other_info.data_type.arm_name}, expected "
                    f"{info.data_type.arm_name} as {what}"
                )
        return ""

    return rule


def scaled(layer: Layer) -> str:
    """Quantized tensors have a scale."""
    infos = (*layer.input_infos, *layer.output_infos)
    if all(info is None or info.scales or not info.is_quantized for info in infos):
        return ""  # as of nearly all
    names = [slot.name for slot in layer.spec.inputs]
    for name in (*names, *(slot.name for slot in layer.spec.outputs)):
        for what, info in _tensors(layer, name):
            if info.is_quantized and not info.scales:
                return f"{what} is {info.data_type.arm_name} without a scale: give it one"
    return ""


def resolved(layer: Layer) -> str:
    """Require that inputs which replace parameters have been resolved."""
    for index, info in enumerate(layer.input_infos):
        slot = layer.spec.input_slot(index)
        if info is not None and slot.fills is not None:
            return f"the input {slot.name!r} is computed by the network, expected a known value"
    return ""


def weighted(layer: Layer) -> str:
    """Require weights and bias to fit the data's type.

    Quantized weights have scales of their own. A Signed32 bias counts in steps of the data times
    those of the weights, of which one is quantized.
    """
    data, weights = _info(layer, "input"), _info(layer, "weights")
    if data.data_type not in MIXED:
        bias = takes("bias", {data.data_type: None, DataType.FLOAT32: None})
        return takes("weights", (data.data_type,))(layer) or bias(layer)
    if data.is_per_axis:
        return f"the input 'input' has {len(data.scales)} scales, expected one"
    has_steps = data.is_quantized or weights.is_quantized
    bias = takes("bias", (*((DataType.SIGNED32,) if has_steps else ()), *MIXED))
    return takes("weights", MIXED)(layer) or bias(layer) or _scales_per_output(layer)


def _scales_per_output(layer: Layer) -> str:
    """Require the weights' scales along the axis of output channels."""
    weights = _info(layer, "weights")
    axis = OUTPUT_AXES.get(layer.type, 0)
    if isinstance(layer.descriptor, FullyConnectedDescriptor):
        axis = 0 if layer.descriptor.transpose_weight_matrix else 1
    if weights.axis in (None, axis):
        return ""
    return f"the scales of the input 'weights' lie along axis {weights.axis}, expected {axis}"


def has_steps(layer: Layer) -> str:
    """Require the scales of a QLstm's inner tensors."""
    d = layer.descriptor
    if isinstance(d, QLstmDescriptor):
        gates = ("forget", "cell", "output") if d.cifg_enabled else tuple(BIASES)
        for name in (*(f"{gate}_intermediate_scale" for gate in gates), "hidden_state_scale"):
            if getattr(d, name) <= 0:
                return f"{name} is {getattr(d, name)}, expected a scale above 0"
    return ""


def poolable(layer: Layer) -> str:
    """Refuse averages of integers; their maximum is exact."""
    d = layer.descriptor
    exact = (
        isinstance(d, (Pooling2dDescriptor, Pooling3dDescriptor))
        and d.pool_type is PoolingAlgorithm.MAX
    )
    return _taken_for(layer, "pool_type", NUMBERS if exact else REAL)


def multiplies(layer: Layer) -> str:
    """Require a real type for adjoint matrices, any number otherwise.

    An adjoint matrix is made of determinants of real numbers.
    """
    d = layer.descriptor
    for parameter in ("adjoint_x", "adjoint_y"):
        if isinstance(d, BatchMatMulDescriptor) and getattr(d, parameter):
            reason = takes("input", REAL)(layer)
            return f"{reason} for {parameter} True" if reason else ""
    return takes("input", NUMBERS)(layer)


def rowwise(layer: Layer) -> str:
    """Require gather indices that fix the leading axes.

    Arm NN does not define another axis.
    """
    d = layer.descriptor
    if isinstance(d, ScatterNdDescriptor) and d.axis_enabled:
        return "axis_enabled is True, expected False: rows of indices name the leading axes"
    return ""


def has_pixels(layer: Layer) -> str:
    """Require a picture of at least one pixel to sample."""
    shape = _info(layer, "input").shape
    layout = getattr(layer.descriptor, "data_layout", DataLayout.NCHW)
    if shape is not None and any(shape[axis] == 0 for axis in _spatial_axes(layout, len(shape))):
        return f"the input 'input' of shape {format_shape(shape)} has no pixels to sample"
    return ""


def _spatial_axes(layout: DataLayout, rank: int) -> range:
    return range(1, rank - 1) if layout is DataLayout.NHWC else range(2, rank)


def local_brightness(layer: Layer) -> str:
    """Return the reason against a normalization that is not of local brightness, or ""."""
    d = layer.descriptor
    if (
        isinstance(d, NormalizationDescriptor)
        and d.norm_method_type is not NormalizationAlgorithmMethod.LOCAL_BRIGHTNESS
    ):
        return f"norm_method_type is {d.norm_method_type.arm_name}, expected LocalBrightness"
    return ""


def activates(layer: Layer) -> str:
    """Return the reason against the types of an activation, or ""."""
    d = layer.descriptor
    exact = isinstance(d, ActivationDescriptor) and d.function in INTEGER_ACTIVATIONS
    return _taken_for(layer, "function", NUMBERS if exact else REAL)


def unary(layer: Layer) -> str:
    """Return the reason against the types of an elementwise function, or ""."""
    d = layer.descriptor
    if not isinstance(d, ElementwiseUnaryDescriptor):
        return ""
    if d.operation is UnaryOperation.LOGICAL_NOT:
        return _taken_for(layer, "operation", BOOLEANS)
    if d.operation is UnaryOperation.BITWISE_NOT:
        return _taken_for(layer, "operation", INTEGERS)
    exact = d.operation in INTEGER_OPERATIONS
    return _taken_for(layer, "operation", NUMBERS if exact else REAL + NARROW_INTEGERS)


def binary(layer: Layer) -> str:
    """Require integers for bitwise operations, numbers otherwise."""
    d = layer.descriptor
    bitwise = isinstance(d, ElementwiseBinaryDescriptor) and d.operation in BITWISE_OPERATIONS
    return _taken_for(layer, "operation", INTEGERS if bitwise else NUMBERS)


def _taken_for(layer: Layer, parameter: str, types: Iterable[DataType]) -> str:
    """Check an input's type against the value of a parameter."""
    reason = takes("input", types)(layer)
    value = getattr(layer.descriptor, parameter, None)
    return f"{reason} for {parameter} {value.arm_name}" if reason and value is not None else reason


def plain_bits(layer: Layer) -> str:
    """Require elements of one size, without quantization."""
    (what, data), (made, output) = *_tensors(layer, "input"), *_tensors(layer, "output")
    for name, info in ((what, data), (made, output)):
        if info.data_type not in ANY or info.is_quantized:
            return f"{name} is {info.data_type.arm_name}, expected a plain type of 8 bits or more"
    if data.data_type.bits != output.data_type.bits:
        return (
            f"{made} is {output.data_type.arm_name}, expected {data.data_type.bits} bits as "
            f"{data.data_type.arm_name} has"
        )
    return ""


def reducible(layer: Layer) -> str:
    """Require an operation that the data type has.

    The maximum of truth values is whether any is true, the minimum whether all are.
    """
    d = layer.descriptor
    extreme = isinstance(d, ReduceDescriptor) and d.reduce_operation in (
        ReduceOperation.MAX,
        ReduceOperation.MIN,
    )
    return takes("input", ANY if extreme else NUMBERS)(layer)


def _tensors(layer: Layer, name: str) -> list[tuple[str, TensorInfo]]:
    """Return a slot's tensors, each with its name for messages.

    An absent slot gives none.

    Raises:
        KeyError: The layer type has no such slot.
    """
    found = []
    for index, info in enumerate(layer.input_infos):
        if info is not None and layer.spec.input_slot(index).name == name:
            found.append((f"the input {name!r}", info))
    slots = layer.spec.output_slots(layer.descriptor)
    for slot, info in zip(slots, layer.output_infos, strict=True):
        if slot.name == name:
            found.append((f"the output {name!r}", info))
    if not found and all(slot.name != name for slot in layer.spec.outputs):
        layer.spec.input_index(name)
    return found


def _info(layer: Layer, name: str) -> TensorInfo:
    return _tensors(layer, name)[0][1]


def _one_of(types: Iterable[DataType]) -> str:
    *front, last = [data_type.arm_name for data_type in types]
    return f"{', '.join(front)} or {last}" if front else last


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
    "MatMulNBits": (
        takes("input", REAL),
        takes("weights", (DataType.UNSIGNED8,)),
        takes("scales", REAL),
        takes("zero_points", (*FLOATS, DataType.UNSIGNED8)),
        takes("bias", REAL),
        _LIKE_INPUT,
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
    "DynamicQuantizeLstm": (
        takes("input", REAL),
        takes_each("weights|recurrent_weights", BYTES),
        takes_each("bias|peephole_weights|.*_state_in|.*_scales", REAL),
        takes("sequence_lengths", INDICES),
        alike("weights", "weight_zero_points"),
        alike("recurrent_weights", "recurrent_zero_points"),
        alike("input", "output_state_in", "output", "output_state_out"),
        alike("input", "cell_state_in", "cell_state_out"),
    ),
    "ReverseSequence": (takes("input", ANY), takes("sequence_lengths", INDICES), _LIKE_INPUT),
    "Attention": (
        takes("query", REAL),
        alike("query", "key", "value", "output"),
        takes("mask", REAL + BOOLEANS),
    ),
    "CachedAttention": (
        takes("query", REAL),
        alike("query", "key", "value", "output"),
        takes("lengths", INDICES),
        takes("mask", REAL + BOOLEANS),
        takes("sink", REAL),
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
    "TensorScatter": (
        takes("input", ANY),
        alike("input", "updates", "output"),
        takes("positions", INDICES),
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
    "DequantizeBlocks": (
        takes("input", (DataType.UNSIGNED8,)),
        takes("scales", REAL),
        takes("zero_points", (*FLOATS, DataType.UNSIGNED8)),
        takes("output", REAL),
    ),
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
"""For each layer type, the requirements on its tensors and its descriptor."""


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
