# SPDX-License-Identifier: MIT
"""How each layer type is written as ONNX nodes; importing the module enters the writers.

ONNX has the channels in axis 1, and weights of convolutions as [O, I, ...].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    ComparisonOperation,
    DataLayout,
    DataType,
    NormalizationAlgorithmChannel,
    NormalizationAlgorithmMethod,
    PaddingMethod,
    PaddingMode,
    PoolingAlgorithm,
    ReduceOperation,
    ResizeMethod,
    ResizeRounding,
    SequenceDirection,
    UnaryOperation,
)
from armnn_parser_onnx.export.graph import Operation, exports


@exports("Activation")
def activation(op: Operation) -> str:
    """Write the function's operator, else the descriptor's formula."""
    return _FUNCTIONS[op.d.function](op)


@exports("Prelu")
def prelu(op: Operation) -> str:
    """Write PRelu, with Expand for wider slopes.

    PRelu's slope broadcasts to the input only.
    """
    x = op.x
    if op.shape("input") != op.output_shape:
        x = op.emit("Expand", x, op.integers(op.output_shape))
    return op.emit("PRelu", x, op.input("alpha"))


def _plain(op_type: str) -> Callable[[Operation], str]:
    def write(op: Operation) -> str:
        return op.emit(op_type, op.x)

    return write


def _linear(op: Operation) -> str:
    scaled = op.emit("Mul", op.x, op.constant(op.d.a))
    return op.emit("Add", scaled, op.constant(op.d.b))


def _tanh(op: Operation) -> str:
    y = op.emit("Tanh", op.x if op.d.b == 1 else op.emit("Mul", op.x, op.constant(op.d.b)))
    return y if op.d.a == 1 else op.emit("Mul", y, op.constant(op.d.a))


def _bounded_relu(op: Operation) -> str:
    return op.emit("Clip", op.x, op.constant(op.d.b), op.constant(op.d.a))


def _with(op_type: str, **parameters: str) -> Callable[[Operation], str]:
    """Return a writer with attributes a and b.

    They are the descriptor's.
    """

    def write(op: Operation) -> str:
        attributes = {name: float(getattr(op.d, field)) for name, field in parameters.items()}
        return op.emit(op_type, op.x, **attributes)

    return write


def _gelu(approximate: str) -> Callable[[Operation], str]:
    def write(op: Operation) -> str:
        return op.emit("Gelu", op.x, approximate=approximate)

    return write


def _square(op: Operation) -> str:
    return op.emit("Mul", op.x, op.x)


def _swish(op: Operation) -> str:
    gate = op.emit("Sigmoid", op.emit("Mul", op.x, op.constant(op.d.a)))
    return op.emit("Mul", op.x, gate)


_FUNCTIONS: dict[ActivationFunction, Callable[[Operation], str]] = {
    ActivationFunction.SIGMOID: _plain("Sigmoid"),
    ActivationFunction.TANH: _tanh,
    ActivationFunction.LINEAR: _linear,
    ActivationFunction.RELU: _plain("Relu"),
    ActivationFunction.BOUNDED_RELU: _bounded_relu,
    ActivationFunction.SOFT_RELU: _plain("Softplus"),
    ActivationFunction.LEAKY_RELU: _with("LeakyRelu", alpha="a"),
    ActivationFunction.ABS: _plain("Abs"),
    ActivationFunction.SQRT: _plain("Sqrt"),
    ActivationFunction.SQUARE: _square,
    ActivationFunction.ELU: _with("Elu", alpha="a"),
    ActivationFunction.HARD_SWISH: _plain("HardSwish"),
    ActivationFunction.GELU: _gelu("none"),
    ActivationFunction.SOFT_SIGN: _plain("Softsign"),
    ActivationFunction.MISH: _plain("Mish"),
    ActivationFunction.SELU: _with("Selu", alpha="a", gamma="b"),
    ActivationFunction.CELU: _with("Celu", alpha="a"),
    ActivationFunction.HARD_SIGMOID: _with("HardSigmoid", alpha="a", beta="b"),
    ActivationFunction.THRESHOLDED_RELU: _with("ThresholdedRelu", alpha="a"),
    ActivationFunction.SHRINK: _with("Shrink", lambd="a", bias="b"),
    ActivationFunction.SWISH: _swish,
    ActivationFunction.GELU_TANH: _gelu("tanh"),
}


@exports("Convolution2d")
def convolution2d(op: Operation) -> str:
    """Write Conv; the weights' channels determine the groups."""
    layout = op.d.data_layout
    weights = op.channels_first(op.input("weights"), layout)
    groups = op.shape("input")[layout.channel_axis] // op.shape("weights")[layout.channel_axis]
    return _convolution(op, weights, groups)


@exports("DepthwiseConvolution2d")
def depthwise_convolution2d(op: Operation) -> str:
    """Write Conv with one group per input channel.

    The weights are [1,KH,KW,I*M] here.
    """
    weights = op.emit("Transpose", op.input("weights"), perm=[3, 0, 1, 2])
    return _convolution(op, weights, op.shape("input")[op.d.data_layout.channel_axis])


@exports("Convolution3d")
def convolution3d(op: Operation) -> str:
    """Conv with three spatial axes; the weights are [KD,KH,KW,I,O] here."""
    weights = op.emit("Transpose", op.input("weights"), perm=[4, 3, 0, 1, 2])
    d = op.d
    return _convolution(
        op,
        weights,
        1,
        strides=(d.stride_z, d.stride_y, d.stride_x),
        dilations=(d.dilation_z, d.dilation_y, d.dilation_x),
        pads=(d.pad_front, d.pad_top, d.pad_left, d.pad_back, d.pad_bottom, d.pad_right),
    )


@exports("TransposeConvolution2d")
def transpose_convolution2d(op: Operation) -> str:
    """Write ConvTranspose, whose weights are [I,O/groups,KH,KW].

    A given output shape becomes output_padding.
    """
    d, layout = op.d, op.d.data_layout
    rows, columns = layout.spatial_axes
    kernel = [op.shape("weights")[axis] for axis in (rows, columns)]
    strides = (d.stride_y, d.stride_x)
    pads = ((d.pad_top, d.pad_bottom), (d.pad_left, d.pad_right))
    more: list[int] = []
    for axis, size, stride, (before, after) in zip(
        (rows, columns), kernel, strides, pads, strict=True
    ):
        natural = (op.shape("input")[axis] - 1) * stride + size - before - after
        more.append(op.output_shape[axis] - natural)
    if any(not 0 <= extra < stride for extra, stride in zip(more, strides, strict=True)):
        op.refuse(f"its output shape {list(op.output_shape)} is not that of its parameters")
    inputs, members = (op.shape(name)[layout.channel_axis] for name in ("input", "weights"))
    outputs, groups = op.shape("weights")[0], inputs // members
    weights = op.channels_first(op.input("weights"), layout)
    apart = op.reshape(weights, (groups, outputs // groups, members, *kernel))
    swapped = op.emit("Transpose", apart, perm=[0, 2, 1, 3, 4])
    y = op.emit(
        "ConvTranspose",
        op.channels_first(op.x, layout),
        op.reshape(swapped, (inputs, outputs // groups, *kernel)),
        op.input("bias"),
        group=groups,
        strides=list(strides),
        pads=[d.pad_top, d.pad_left, d.pad_bottom, d.pad_right],
        output_padding=more,
    )
    return op.laid_out(y, layout)


def _convolution(
    op: Operation,
    weights: str,
    groups: int,
    *,
    strides: Sequence[int] = (),
    dilations: Sequence[int] = (),
    pads: Sequence[int] = (),
) -> str:
    d, layout = op.d, op.d.data_layout
    y = op.emit(
        "Conv",
        op.channels_first(op.x, layout),
        weights,
        op.input("bias"),
        group=groups,
        strides=list(strides or (d.stride_y, d.stride_x)),
        dilations=list(dilations or (d.dilation_y, d.dilation_x)),
        pads=list(pads or (d.pad_top, d.pad_left, d.pad_bottom, d.pad_right)),
    )
    return op.laid_out(y, layout)


_BINARY_LAYERS = {
    "Addition": "Add",
    "Subtraction": "Sub",
    "Multiplication": "Mul",
    "Division": "Div",
    "Maximum": "Max",
    "Minimum": "Min",
}
_BINARY_OPERATIONS = {
    BinaryOperation.ADD: "Add",
    BinaryOperation.DIV: "Div",
    BinaryOperation.MAXIMUM: "Max",
    BinaryOperation.MINIMUM: "Min",
    BinaryOperation.MUL: "Mul",
    BinaryOperation.SUB: "Sub",
    BinaryOperation.POWER: "Pow",
    BinaryOperation.BITWISE_AND: "BitwiseAnd",
    BinaryOperation.BITWISE_OR: "BitwiseOr",
    BinaryOperation.BITWISE_XOR: "BitwiseXor",
}
_UNARY_OPERATIONS = {
    UnaryOperation.ABS: "Abs",
    UnaryOperation.EXP: "Exp",
    UnaryOperation.SQRT: "Sqrt",
    UnaryOperation.NEG: "Neg",
    UnaryOperation.LOGICAL_NOT: "Not",
    UnaryOperation.LOG: "Log",
    UnaryOperation.SIN: "Sin",
    UnaryOperation.CEIL: "Ceil",
    UnaryOperation.ERF: "Erf",
    UnaryOperation.ROUND: "Round",
    UnaryOperation.SIGN: "Sign",
    UnaryOperation.COS: "Cos",
    UnaryOperation.TAN: "Tan",
    UnaryOperation.ASIN: "Asin",
    UnaryOperation.ACOS: "Acos",
    UnaryOperation.ATAN: "Atan",
    UnaryOperation.SINH: "Sinh",
    UnaryOperation.COSH: "Cosh",
    UnaryOperation.ASINH: "Asinh",
    UnaryOperation.ACOSH: "Acosh",
    UnaryOperation.ATANH: "Atanh",
    UnaryOperation.RECIPROCAL: "Reciprocal",
    UnaryOperation.BITWISE_NOT: "BitwiseNot",
}
_COMPARISONS = {
    ComparisonOperation.EQUAL: "Equal",
    ComparisonOperation.GREATER: "Greater",
    ComparisonOperation.GREATER_OR_EQUAL: "GreaterOrEqual",
    ComparisonOperation.LESS: "Less",
    ComparisonOperation.LESS_OR_EQUAL: "LessOrEqual",
}


@exports(*_BINARY_LAYERS)
def binary_layer(op: Operation) -> str:
    """Write the operator that the layer type names."""
    return _binary(op, _BINARY_LAYERS[op.layer.type])


@exports("ElementwiseBinary")
def elementwise_binary(op: Operation) -> str:
    """Write a binary operator, except integer quotients and remainders.

    Those differ too much from the layer's.
    """
    operation: BinaryOperation = op.d.operation
    if operation is BinaryOperation.SQ_DIFF:
        difference = op.emit("Sub", *op.inputs)
        return op.emit("Mul", difference, difference)
    if operation not in _BINARY_OPERATIONS:
        op.refuse(f"its operation {operation.arm_name} has no counterpart")
    return _binary(op, _BINARY_OPERATIONS[operation])


@exports("ElementwiseUnary")
def elementwise_unary(op: Operation) -> str:
    """Write the operator of the operation."""
    operation: UnaryOperation = op.d.operation
    if operation is UnaryOperation.RSQRT:
        return op.emit("Reciprocal", op.emit("Sqrt", op.x))
    of_integers = (UnaryOperation.BITWISE_NOT, UnaryOperation.ABS, UnaryOperation.NEG)
    if op.info.data_type.is_integer and operation not in of_integers:
        op.refuse(f"it is {operation.arm_name} of {op.info.data_type.arm_name}")
    return op.emit(_UNARY_OPERATIONS[operation], op.x)


@exports("Floor")
def floor(op: Operation) -> str:
    """Floor; an integer is its own."""
    return op.emit("Floor" if op.info.data_type.is_float else "Identity", op.x)


@exports("Comparison")
def comparison(op: Operation) -> str:
    """Write the comparison; NotEqual is the opposite of Equal."""
    operation: ComparisonOperation = op.d.operation
    if operation is ComparisonOperation.NOT_EQUAL:
        return op.emit("Not", op.emit("Equal", *op.inputs))
    if op.info.data_type is DataType.BOOLEAN and operation is not ComparisonOperation.EQUAL:
        op.refuse("it orders Booleans, which ONNX does not")
    return op.emit(_COMPARISONS[operation], *op.inputs)


@exports("LogicalBinary")
def logical_binary(op: Operation) -> str:
    """Write And, Or or Xor."""
    return op.emit(op.d.operation.arm_name.removeprefix("Logical"), *op.inputs)


@exports("Where")
def where(op: Operation) -> str:
    """Write Where."""
    return op.emit("Where", *op.inputs)


@exports("IsNaN")
def is_nan(op: Operation) -> str:
    """IsNaN."""
    return op.emit("IsNaN", op.x)


@exports("IsInf")
def is_inf(op: Operation) -> str:
    """IsInf."""
    return op.emit(
        "IsInf",
        op.x,
        detect_positive=int(op.d.detect_positive),
        detect_negative=int(op.d.detect_negative),
    )


@exports("Cast", "ConvertFp16ToFp32", "ConvertFp32ToFp16")
def cast(op: Operation) -> str:
    """Write Cast among types that compute.

    The result of floats that do not fit is up to the reader.
    """
    target = op.layer.outputs[0].info.data_type
    if op.info.data_type.is_storage_only or target.is_storage_only:
        op.refuse(f"it casts {op.info.data_type.arm_name} to {target.arm_name}")
    if op.info.data_type.is_float and target.is_integer:
        op.refuse(f"ONNX does not define {target.arm_name} for floats that do not fit into it")
    return op.cast(op.x, target)


def _binary(op: Operation, op_type: str) -> str:
    return op.emit(op_type, *op.inputs)


@exports("Slice")
def slice_(op: Operation) -> str:
    """Slice; a size of -1 is the rest of the axis."""
    starts = list(op.d.begin)
    ends = [start + size for start, size in zip(starts, op.output_shape, strict=True)]
    return op.emit("Slice", op.x, op.integers(starts), op.integers(ends))


@exports("StridedSlice")
def strided_slice(op: Operation) -> str:
    """Write Slice, then Reshape for the masks' axes.

    The masks add and remove axes.
    """
    shape = op.shape("input")
    taken = [entry for entry in op.d.index(len(shape)) if entry is not None]
    starts, ends, steps = [], [], []
    for entry, size in zip(taken, shape, strict=True):
        if isinstance(entry, slice):
            start, end, step = entry.indices(size)
        else:
            start, end, step = entry % size, entry % size + 1, 1
        starts.append(start)
        # Backward past the first element: -1 would be the last one.
        ends.append(end if end >= 0 else np.iinfo(np.int64).min)
        steps.append(step)
    axes = op.integers(range(len(shape)))
    sliced = op.emit(
        "Slice", op.x, op.integers(starts), op.integers(ends), axes, op.integers(steps)
    )
    return op.reshape(sliced, op.output_shape)


@exports("Gather")
def gather(op: Operation) -> str:
    """Gather."""
    return op.emit("Gather", op.x, _indices(op), axis=op.d.axis)


@exports("GatherNd")
def gather_nd(op: Operation) -> str:
    """GatherND; its indices have 64 bits."""
    return op.emit("GatherND", op.x, _indices(op))


@exports("GatherElements")
def gather_elements(op: Operation) -> str:
    """Write GatherElements."""
    return op.emit("GatherElements", op.x, _indices(op), axis=op.d.axis)


@exports("TopK")
def top_k(op: Operation) -> tuple[str, str]:
    """TopK; its indices have 64 bits."""
    values, places = op.emit_several(
        2,
        "TopK",
        op.x,
        op.integers([op.d.k]),
        axis=op.d.axis,
        largest=int(op.d.largest),
        sorted=int(op.d.sorted),
    )
    return values, op.cast(places, op.layer.outputs[1].info.data_type)


@exports("Trilu")
def trilu(op: Operation) -> str:
    """Trilu."""
    return op.emit("Trilu", op.x, op.integers(op.d.k), upper=int(op.d.upper))


def _indices(op: Operation) -> str:
    return op.cast(op.input("indices"), DataType.SIGNED64)


@exports("FullyConnected")
def fully_connected(op: Operation) -> str:
    """Gemm on the input flattened to a matrix."""
    weights = op.shape("weights")
    depth = weights[1] if op.d.transpose_weight_matrix else weights[0]
    x = op.reshape(op.x, (op.shape("input")[0], depth))
    bias = op.input("bias")
    y = op.emit("Gemm", x, op.input("weights"), bias, transB=int(op.d.transpose_weight_matrix))
    return op.reshape(y, op.output_shape)


@exports("BatchMatMul")
def batch_mat_mul(op: Operation) -> str:
    """Write MatMul; refuse channels-last layouts and adjoints."""
    d = op.d
    layouts = (d.data_layout_x, d.data_layout_y)
    if d.adjoint_x or d.adjoint_y or any(layout is not DataLayout.NCHW for layout in layouts):
        op.refuse("it has adjoints or channels last, expected matrices in the last two axes")
    operands = [
        _transposed(op, name) if transpose else op.input(name)
        for name, transpose in (("input", d.transpose_x), ("other", d.transpose_y))
    ]
    return op.emit("MatMul", *operands)


@exports("Einsum")
def einsum(op: Operation) -> str:
    """Einsum."""
    return op.emit("Einsum", *op.inputs, equation=op.d.equation)


def _transposed(op: Operation, name: str) -> str:
    rank = len(op.shape(name))
    perm = [*range(rank - 2), rank - 1, rank - 2]
    return op.emit("Transpose", op.input(name), perm=perm)


@exports("BatchNormalization")
def batch_normalization(op: Operation) -> str:
    """BatchNormalization; the channels may be in any axis here."""
    axis = op.d.channel_axis % len(op.shape("input"))
    statistics = [op.input(name) for name in ("gamma", "beta", "mean", "variance")]
    order = [0, axis, *(a for a in range(1, len(op.shape("input"))) if a != axis)]
    if axis == 0:
        op.refuse("its channels are in axis 0")
    x = op.x if axis == 1 else op.emit("Transpose", op.x, perm=order)
    y = op.emit("BatchNormalization", x, *statistics, epsilon=float(op.d.eps))
    return y if axis == 1 else op.emit("Transpose", y, perm=np.argsort(order).tolist())


@exports("InstanceNormalization")
def instance_normalization(op: Operation) -> str:
    """InstanceNormalization, with the one gamma and beta for each channel."""
    layout = op.d.data_layout
    channels = op.shape("input")[layout.channel_axis]
    y = op.emit(
        "InstanceNormalization",
        op.channels_first(op.x, layout),
        op.constant(np.full(channels, op.d.gamma)),
        op.constant(np.full(channels, op.d.beta)),
        epsilon=float(op.d.eps),
    )
    return op.laid_out(y, layout)


@exports("L2Normalization")
def l2_normalization(op: Operation) -> str:
    """Write the layer's formula: LpNormalization has no lower bound."""
    axis = 1 if op.d.data_layout is DataLayout.NCHW else len(op.shape("input")) - 1
    squares = op.emit("ReduceSumSquare", op.x, op.integers([axis]), keepdims=1)
    length = op.emit("Sqrt", op.emit("Max", squares, op.constant(op.d.eps)))
    return op.emit("Div", op.x, length)


@exports("Normalization")
def normalization(op: Operation) -> str:
    """LRN, whose alpha is that of the whole window."""
    d = op.d
    across = d.norm_channel_type is NormalizationAlgorithmChannel.ACROSS
    brightness = d.norm_method_type is NormalizationAlgorithmMethod.LOCAL_BRIGHTNESS
    if not (across and brightness and d.norm_size % 2):
        op.refuse("it is not local brightness across an odd number of channels")
    y = op.emit(
        "LRN",
        op.channels_first(op.x, d.data_layout),
        alpha=float(d.alpha) * d.norm_size,
        beta=float(d.beta),
        bias=float(d.k),
        size=d.norm_size,
    )
    return op.laid_out(y, d.data_layout)


@exports("Softmax", "LogSoftmax")
def softmax(op: Operation) -> str:
    """Softmax or LogSoftmax of beta times the input."""
    x = op.x if op.d.beta == 1 else op.emit("Mul", op.x, op.constant(op.d.beta))
    return op.emit(op.layer.type, x, axis=op.d.axis)


@exports("LayerNormalization")
def layer_normalization(op: Operation) -> str:
    """LayerNormalization, which wants a gamma."""
    axis = op.d.axis % len(op.shape("input"))
    gamma = op.input("gamma") or op.constant(np.ones(op.shape("input")[axis:]))
    beta = op.input("beta")
    return op.emit("LayerNormalization", op.x, gamma, beta, axis=axis, epsilon=float(op.d.eps))


@exports("RmsNormalization")
def rms_normalization(op: Operation) -> str:
    """Write the layer's formula: opset 20 lacks the operator."""
    rank = len(op.shape("input"))
    axes = op.integers(range(op.d.axis % rank, rank))
    mean = op.emit("ReduceMean", op.emit("Mul", op.x, op.x), axes, keepdims=1)
    y = op.emit("Div", op.x, op.emit("Sqrt", op.emit("Add", mean, op.constant(op.d.eps))))
    gamma = op.input("gamma")
    return op.emit("Mul", y, gamma) if gamma else y


@exports("Pooling2d", "Pooling3d")
def pooling(op: Operation) -> str:
    """MaxPool or AveragePool, the mean square's root for L2.

    Windows beyond the padded input, which a rounded-up output has, become padding: it counts in
    no average here, so that averages that count padding cannot have any.
    """
    d, layout = op.d, op.d.data_layout
    if not op.info.data_type.is_float:
        op.refuse(f"it pools {op.info.data_type.arm_name}, expected floating point")
    counts_padding = d.padding_method is PaddingMethod.IGNORE_VALUE
    window, before, after = [], [], []
    for axis, size, stride, (low, high) in zip(
        layout.spatial_axes, d.window, d.strides, d.padding, strict=True
    ):
        length = op.shape("input")[axis]
        wanted = size if size else length
        more = max((op.output_shape[axis] - 1) * stride + wanted - low - high - length, 0)
        if low >= wanted or high + more >= wanted:
            op.refuse("a window of it reads nothing but padding")
        counted = (low + length + high + more - wanted) // max(stride, 1) + 1
        if counted != op.output_shape[axis]:
            op.refuse(f"it has {op.output_shape[axis]} windows where ONNX counts {counted}")
        if more and counts_padding and d.pool_type is not PoolingAlgorithm.MAX:
            op.refuse("a window of it reaches beyond the counted padding")
        window.append(wanted)
        before.append(low)
        after.append(high + more)
    x = op.channels_first(op.x, layout)
    parameters: dict[str, Any] = {
        "kernel_shape": window,
        "strides": [max(stride, 1) for stride in d.strides],
        "pads": [*before, *after],
    }
    if d.pool_type is PoolingAlgorithm.MAX:
        return op.laid_out(op.emit("MaxPool", x, **parameters), layout)
    squares = op.emit("Mul", x, x) if d.pool_type is PoolingAlgorithm.L2 else x
    y = op.emit("AveragePool", squares, count_include_pad=int(counts_padding), **parameters)
    return op.laid_out(op.emit("Sqrt", y) if d.pool_type is PoolingAlgorithm.L2 else y, layout)


_REDUCTIONS = {
    ReduceOperation.SUM: "ReduceSum",
    ReduceOperation.MAX: "ReduceMax",
    ReduceOperation.MEAN: "ReduceMean",
    ReduceOperation.MIN: "ReduceMin",
    ReduceOperation.PROD: "ReduceProd",
}


@exports("Reduce")
def reduce(op: Operation) -> str:
    """Write the operator of the operation."""
    return _reduced(op, _REDUCTIONS[op.d.reduce_operation])


@exports("Mean")
def mean(op: Operation) -> str:
    """ReduceMean."""
    return _reduced(op, "ReduceMean")


@exports("ArgMinMax")
def arg_min_max(op: Operation) -> str:
    """ArgMin or ArgMax; ONNX's indices have 64 bits."""
    last = int(op.d.select_last_index)
    kind = f"Arg{op.d.function.arm_name}"
    places = op.emit(kind, op.x, axis=op.d.axis, keepdims=0, select_last_index=last)
    return op.cast(places, op.layer.outputs[0].info.data_type)


@exports("CumSum")
def cum_sum(op: Operation) -> str:
    """CumSum."""
    return op.emit(
        "CumSum",
        op.x,
        op.integers(op.d.axis),
        exclusive=int(op.d.exclusive),
        reverse=int(op.d.reverse),
    )


def _reduced(op: Operation, op_type: str) -> str:
    if 0 in op.shape("input"):
        op.refuse("it reduces nothing, which has no mean")
    rank = len(op.shape("input"))
    axes = sorted(axis % rank for axis in op.d.axis) if op.d.axis else list(range(rank))
    keep = int(op.d.keep_dims)
    return op.emit(op_type, op.x, op.integers(axes), keepdims=keep, noop_with_empty_axes=1)


@exports("Reshape")
def reshape(op: Operation) -> str:
    """Reshape to the shape that it has here."""
    return op.reshape(op.x, op.output_shape)


@exports("Permute")
def permute(op: Operation) -> str:
    """Write Transpose, the inverse spelling of Permute.

    Transpose lists where each axis comes from, Permute where it is moved to.
    """
    return op.emit("Transpose", op.x, perm=np.argsort(op.d.dim_mappings).tolist())


@exports("Transpose")
def transpose(op: Operation) -> str:
    """Transpose."""
    return op.emit("Transpose", op.x, perm=list(op.d.dim_mappings))


@exports("BroadcastTo")
def broadcast_to(op: Operation) -> str:
    """Expand."""
    return op.emit("Expand", op.x, op.integers(op.output_shape))


@exports("Tile")
def tile(op: Operation) -> str:
    """Tile."""
    return op.emit("Tile", op.x, op.integers(op.d.multiples))


@exports("Pad")
def pad(op: Operation) -> str:
    """Pad; ONNX has nothing that repeats the border's own elements."""
    if op.d.padding_mode is PaddingMode.SYMMETRIC:
        op.refuse("it pads symmetrically, expected constant or reflecting padding")
    pads = op.integers([*(b for b, _ in op.d.pad_list), *(a for _, a in op.d.pad_list)])
    if op.d.padding_mode is PaddingMode.REFLECT:
        return op.emit("Pad", op.x, pads, mode="reflect")
    return op.emit("Pad", op.x, pads, op.constant(op.d.pad_value), mode="constant")


@exports("SpaceToDepth")
def space_to_depth(op: Operation) -> str:
    """SpaceToDepth."""
    x = op.channels_first(op.x, op.d.data_layout)
    y = op.emit("SpaceToDepth", x, blocksize=op.d.block_size)
    return op.laid_out(y, op.d.data_layout)


@exports("DepthToSpace")
def depth_to_space(op: Operation) -> str:
    """DepthToSpace."""
    x = op.channels_first(op.x, op.d.data_layout)
    mode = "CRD" if op.d.column_row_depth else "DCR"
    y = op.emit("DepthToSpace", x, blocksize=op.d.block_size, mode=mode)
    return op.laid_out(y, op.d.data_layout)


@exports("ChannelShuffle")
def channel_shuffle(op: Operation) -> str:
    """Reshape, Transpose, Reshape."""
    shape = op.shape("input")
    axis = op.d.axis % len(shape)
    groups = (op.d.num_groups, shape[axis] // op.d.num_groups)
    grouped = op.reshape(op.x, (*shape[:axis], *groups, *shape[axis + 1 :]))
    order = [*range(axis), axis + 1, axis, *range(axis + 2, len(shape) + 1)]
    return op.reshape(op.emit("Transpose", grouped, perm=order), shape)


@exports("Concat")
def concat(op: Operation) -> str:
    """Concat."""
    return op.emit("Concat", *op.inputs, axis=op.d.axis)


@exports("Stack")
def stack(op: Operation) -> str:
    """Concat along a new axis."""
    axis = op.d.axis % len(op.output_shape)
    parts = [op.emit("Unsqueeze", name, op.integers([axis])) for name in op.inputs]
    return op.emit("Concat", *parts, axis=axis)


@exports("Splitter")
def splitter(op: Operation) -> tuple[str, ...]:
    """Split."""
    sizes = op.integers(op.d.sizes)
    return op.emit_several(len(op.d.sizes), "Split", op.x, sizes, axis=op.d.axis)


@exports("SpaceToBatchNd", "BatchToSpaceNd")
def batches(op: Operation) -> str:
    """Write Pad, Reshape, Transpose and Slice for two spatial axes."""
    if op.d.data_layout not in (DataLayout.NCHW, DataLayout.NHWC) or len(op.d.block_shape) != 2:
        op.refuse("it has not two spatial axes")
    x = op.channels_first(op.x, op.d.data_layout)
    write = _space_to_batch if op.layer.type == "SpaceToBatchNd" else _batch_to_space
    return op.laid_out(write(op, x), op.d.data_layout)


def _space_to_batch(op: Operation, x: str) -> str:
    (top, bottom), (left, right) = op.d.pad_list
    n, c, h, w = _planes(op)
    x = op.emit("Pad", x, op.integers([0, 0, top, left, 0, 0, bottom, right]), op.constant(0))
    rows, columns = op.d.block_shape
    h, w = (h + top + bottom) // rows, (w + left + right) // columns
    folded = op.reshape(x, (n, c, h, rows, w, columns))
    moved = op.emit("Transpose", folded, perm=[3, 5, 0, 1, 2, 4])
    return op.reshape(moved, (rows * columns * n, c, h, w))


def _batch_to_space(op: Operation, x: str) -> str:
    (top, bottom), (left, right) = op.d.crops
    n, c, h, w = _planes(op)
    rows, columns = op.d.block_shape
    unfolded = op.reshape(x, (rows, columns, n // (rows * columns), c, h, w))
    moved = op.emit("Transpose", unfolded, perm=[2, 3, 4, 0, 5, 1])
    h, w = h * rows, w * columns
    whole = op.reshape(moved, (n // (rows * columns), c, h, w))
    ends = op.integers([h - bottom, w - right])
    return op.emit("Slice", whole, op.integers([top, left]), ends, op.integers([2, 3]))


def _planes(op: Operation) -> tuple[int, int, int, int]:
    """Return batch, channels, height and width of the input."""
    shape, layout = op.shape("input"), op.d.data_layout
    height, width = (shape[axis] for axis in layout.spatial_axes)
    return shape[0], shape[layout.channel_axis], height, width


_NEAREST = {
    ResizeRounding.ROUND_PREFER_FLOOR: "round_prefer_floor",
    ResizeRounding.ROUND_PREFER_CEIL: "round_prefer_ceil",
    ResizeRounding.FLOOR: "floor",
    ResizeRounding.CEIL: "ceil",
}
_METHODS = {
    ResizeMethod.BILINEAR: "linear",
    ResizeMethod.NEAREST_NEIGHBOR: "nearest",
    ResizeMethod.CUBIC: "cubic",
}


@exports("Resize")
def resize(op: Operation) -> str:
    """Resize to the size that it has here."""
    d, layout = op.d, op.d.data_layout
    if d.scale_width or d.scale_height:
        op.refuse("its scales are not those of its sizes")
    nearest = None
    if d.method is ResizeMethod.NEAREST_NEIGHBOR:
        nearest = _NEAREST.get(d.rounding)
        if nearest is None and (d.align_corners or d.half_pixel_centers):
            op.refuse("it rounds as TensorFlow does, which ONNX cannot say")
        nearest = nearest or "floor"
    if d.align_corners:
        mode = "align_corners"
    else:
        mode = "half_pixel" if d.half_pixel_centers else "asymmetric"
    x = op.channels_first(op.x, layout)
    batch, channels = (op.output_shape[axis] for axis in (0, layout.channel_axis))
    sizes = op.integers([batch, channels, *(op.output_shape[axis] for axis in layout.spatial_axes)])
    y = op.emit(
        "Resize",
        x,
        "",
        "",
        sizes,
        mode=_METHODS[d.method],
        coordinate_transformation_mode=mode,
        nearest_mode=nearest,
        cubic_coeff_a=float(d.cubic_coefficient),
        exclude_outside=int(d.exclude_outside),
    )
    return op.laid_out(y, layout)


_OP_TYPES = {"Rnn": "RNN", "Gru": "GRU", "SequenceLstm": "LSTM"}
_DIRECTIONS = {
    SequenceDirection.FORWARD: "forward",
    SequenceDirection.REVERSE: "reverse",
    SequenceDirection.BIDIRECTIONAL: "bidirectional",
}
_ACTIVATIONS = {
    ActivationFunction.SIGMOID: "Sigmoid",
    ActivationFunction.TANH: "Tanh",
    ActivationFunction.RELU: "Relu",
}


@exports(*_OP_TYPES)
def recurrent(op: Operation) -> tuple[str, ...]:
    """Write the operator in time-major order.

    Every reader of ONNX knows that order.
    """
    d = op.d
    activations = [f for way in range(d.num_directions) for f in d.activations_of(way)]
    for each in activations:
        plain_tanh = each.function is not ActivationFunction.TANH or (each.a, each.b) == (1, 1)
        if each.function not in _ACTIVATIONS or not plain_tanh:
            op.refuse(f"its activation {each.function.arm_name} has no counterpart here")
    states = [name for name in ("output_state_in", "cell_state_in") if _has_slot(op, name)]
    inputs = [
        _time_major(op, op.x),
        op.input("weights"),
        op.input("recurrent_weights"),
        op.input("bias"),
        op.input("sequence_lengths"),
        *(_state(op, op.input(name)) for name in states),
        *([op.input("peephole_weights")] if op.layer.type == "SequenceLstm" else []),
    ]
    y, *finals = op.emit_several(
        len(op.layer.outputs),
        _OP_TYPES[op.layer.type],
        *inputs,
        hidden_size=op.shape("recurrent_weights")[2],
        direction=_DIRECTIONS[d.direction],
        activations=[_ACTIVATIONS[each.function] for each in activations],
        clip=float(d.clip) if d.clip else None,
        linear_before_reset=int(d.linear_before_reset) if op.layer.type == "Gru" else None,
        input_forget=int(d.input_forget) if op.layer.type == "SequenceLstm" else None,
    )
    if not d.time_major:
        # [T,D,N,U] here, [N,T,D,U] there; the states are [D,N,U] and [N,D,U].
        y = op.emit("Transpose", y, perm=[2, 0, 1, 3])
        finals = [op.emit("Transpose", final, perm=[1, 0, 2]) for final in finals]
    return (y, *finals)


def _has_slot(op: Operation, name: str) -> bool:
    return any(slot.name == name for slot in op.layer.spec.inputs)


def _time_major(op: Operation, x: str) -> str:
    if op.d.time_major:
        return x
    return op.emit("Transpose", x, perm=[1, 0, 2])


def _state(op: Operation, state: str) -> str:
    if op.d.time_major or not state:
        return state
    return op.emit("Transpose", state, perm=[1, 0, 2])
