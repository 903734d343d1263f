# SPDX-License-Identifier: MIT
"""Normalization over channels, images and axes, and the softmax functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError, add_layer, cast, compare
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    ComparisonOperation,
    DataLayout,
    DataType,
    NormalizationAlgorithmChannel,
    NormalizationAlgorithmMethod,
    ReduceOperation,
    UnaryOperation,
)
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import activation, binary
from armnn_parser_onnx.operators.elementwise import unary
from armnn_parser_onnx.shapes import reshape_like, reshape_to_groups

_FLOAT32 = 1  # TensorProto.FLOAT, the default of stash_type


@operator("BatchNormalization")
def batch_normalization(operation: Operation) -> Value:
    """Add BatchNormalization with the statistics that the model holds."""
    if operation.integer("spatial", 1) != 1:
        raise RefusedError("it has statistics per element (spatial=0), not per channel")
    if operation.flag("training_mode"):
        raise RefusedError("it is in training mode")
    value = operation.input()
    data_type = value.info.data_type
    gamma, beta, mean, variance = (
        cast(operation, operation.input(index), data_type, operation.schema.inputs[index].name)
        for index in range(1, 5)
    )
    return add_layer(
        operation,
        "BatchNormalization",
        [value, mean, variance, beta, gamma],
        eps=operation.real("epsilon"),
        data_layout=DataLayout.NCHW,
    )


@operator("InstanceNormalization")
def instance_normalization(operation: Operation) -> Value:
    """Add InstanceNormalization, or GroupNormalization where the factors of channels differ."""
    value, gamma, beta = operation.input(), operation.constant(1), operation.constant(2)
    rank = len(operation.shape())
    if rank < 3:
        raise operation.error(f"the input has rank {rank}: expected [N, C, ...]")
    channels = operation.shape(1)
    if gamma is None or beta is None or not len(gamma) or np.ptp(gamma) or np.ptp(beta):
        if len(channels) != 1 or not isinstance(channels[0], int):
            raise NotKnownYetError("the number of its channels is not known")
        return _normalized_groups(operation, channels[0])
    image = value if rank == 4 else _as_image(operation, value, rank)
    result = operation.network.add_instance_normalization(
        image,
        gamma=float(gamma[0]),
        beta=float(beta[0]),
        eps=operation.real("epsilon"),
        data_layout=DataLayout.NCHW,
        name=operation.layer_name("" if rank == 4 else "image"),
    )
    return result if rank == 4 else reshape_like(operation, result, value)


@operator("GroupNormalization", since=21)
def group_normalization(operation: Operation) -> Value:
    """Add GroupNormalization; scale and bias are per channel."""
    _check_stash(operation)
    groups = operation.integer("num_groups")
    if groups < 1 or len(operation.shape()) < 3:
        raise operation.error(
            f"the attribute 'num_groups' is {groups} and the input has rank "
            f"{len(operation.shape())}: expected a positive number and [N, C, ...]"
        )
    return _normalized_groups(operation, groups)


def _normalized_groups(operation: Operation, groups: int) -> Value:
    return operation.network.add_group_normalization(
        operation.input(),
        operation.input(1),
        operation.input(2),
        num_groups=max(groups, 1),
        eps=operation.real("epsilon"),
        data_layout=DataLayout.NCHW,
        name=operation.layer_name(),
    )


@operator("LayerNormalization")
def layer_normalization(operation: Operation) -> Sequence[Value]:
    """Add LayerNormalization, or its arithmetic for further outputs.

    The optional further outputs are the mean and the inverse of the deviation.
    """
    _check_stash(operation)
    if any(operation.outputs[1:]):
        return _layer_normalization_by_arithmetic(operation)
    result = add_layer(
        operation,
        "LayerNormalization",
        [operation.input(), operation.input(1), operation.optional_input(2)],
        axis=operation.axis(operation.integer("axis"), len(operation.shape())),
        eps=operation.real("epsilon"),
    )
    return [result]


def _layer_normalization_by_arithmetic(operation: Operation) -> Sequence[Value]:
    """Add (x - mean) / sqrt(variance + epsilon) * scale + bias.

    Mean and variance are those over the last axes.
    """
    given = operation.input()
    axes = _last_axes(operation)
    value = cast(operation, given, _stage_type(given), "stage_1")
    mean = _mean(operation, value, axes, "mean")
    centered = binary(operation, BinaryOperation.SUB, value, mean, "centered")
    square = activation(operation, centered, ActivationFunction.SQUARE, part="square")
    variance = _mean(operation, square, axes, "variance")
    epsilon = operation.number(operation.real("epsilon"), variance, "epsilon")
    shifted = binary(operation, BinaryOperation.ADD, variance, epsilon, "shifted")
    inverse = unary(operation, UnaryOperation.RSQRT, shifted, "inverse_deviation")
    result = binary(operation, BinaryOperation.MUL, centered, inverse, "normalized")
    result = cast(operation, result, given.info.data_type, "stage_2")
    bias = operation.optional_input(2)
    part = "" if bias is None else "scaled"
    result = binary(operation, BinaryOperation.MUL, result, operation.input(1), part)
    if bias is not None:
        result = binary(operation, BinaryOperation.ADD, result, bias)
    return [result, mean, inverse]


@operator("RMSNormalization")
def rms_normalization(operation: Operation) -> Value:
    """Add RmsNormalization."""
    _check_stash(operation)
    return operation.network.add_rms_normalization(
        operation.input(),
        operation.input(1),
        axis=operation.axis(operation.integer("axis"), len(operation.shape())),
        eps=operation.real("epsilon"),
        name=operation.layer_name(),
    )


@operator("MeanVarianceNormalization")
def mean_variance_normalization(operation: Operation) -> Value:
    """Add (x - mean) / (deviation + 1e-9) over the axes."""
    value = operation.input()
    rank = len(operation.shape())
    reduced = operation.integers("axes")
    axes = operation.axes((0, 2, 3) if reduced is None else reduced, rank)
    mean = _mean(operation, value, axes, "mean")
    centered = binary(operation, BinaryOperation.SUB, value, mean, "centered")
    square = activation(operation, centered, ActivationFunction.SQUARE, part="square")
    variance = _mean(operation, square, axes, "variance")
    deviation = unary(operation, UnaryOperation.SQRT, variance, "deviation")
    shift = operation.number(1e-9, value, "epsilon")
    divisor = binary(operation, BinaryOperation.ADD, deviation, shift, "divisor")
    return binary(operation, BinaryOperation.DIV, centered, divisor)


def _mean(operation: Operation, value: Value, axes: tuple[int, ...], part: str) -> Value:
    return add_layer(operation, "Mean", [value], part, axis=axes, keep_dims=True)


def _last_axes(operation: Operation) -> tuple[int, ...]:
    rank = len(operation.shape())
    return tuple(range(operation.axis(operation.integer("axis"), rank), rank))


def _check_stash(operation: Operation) -> None:
    if operation.integer("stash_type", _FLOAT32) != _FLOAT32:
        raise RefusedError("its first stage is to be computed in another type than float32")


def _stage_type(value: Value) -> DataType:
    """Return the first stage's type: float32, or the wider input's."""
    wide = value.info.data_type is DataType.FLOAT64
    return DataType.FLOAT64 if wide else DataType.FLOAT32


@operator("LpNormalization")
def lp_normalization(operation: Operation) -> Value:
    """Add x divided by its norm along an axis.

    The result is 0 where the norm is 0.
    """
    value, power = operation.input(), operation.integer("p")
    axis = operation.axis(operation.integer("axis"), len(operation.shape()))
    if power not in (1, 2):
        raise operation.error(f"the attribute 'p' is {power}: expected 1 or 2")
    function = ActivationFunction.ABS if power == 1 else ActivationFunction.SQUARE
    norm = operation.network.add_reduce(
        activation(operation, value, function, part="powers"),
        axis=(axis,),
        keep_dims=True,
        reduce_operation=ReduceOperation.SUM,
        name=operation.layer_name("sum"),
    )
    if power == 2:
        norm = unary(operation, UnaryOperation.SQRT, norm, "norm")
    is_zero = compare(
        operation, ComparisonOperation.EQUAL, norm, operation.number(0, norm, "zero"), "is_zero"
    )
    one = operation.number(1, norm, "one")
    divisor = operation.network.add_where(is_zero, one, norm, name=operation.layer_name("divisor"))
    return binary(operation, BinaryOperation.DIV, value, divisor)


@operator("LRN")
def local_response_normalization(operation: Operation) -> Value:
    """Add Normalization, whose alpha is undivided.

    ONNX divides it by the number of neighbors.
    """
    size = operation.integer("size")
    if size < 1:
        raise operation.error(f"the attribute 'size' is {size}: expected at least 1")
    if size % 2 == 0:
        raise RefusedError(
            f"its window has {size} channels, expected an odd number, as it has a center"
        )
    value = operation.input()
    rank = len(operation.shape())
    if rank < 3:
        raise operation.error(f"the input has rank {rank}: expected [N, C, ...]")
    image = value if rank == 4 else _as_image(operation, value, rank)
    result = operation.network.add_normalization(
        image,
        norm_channel_type=NormalizationAlgorithmChannel.ACROSS,
        norm_method_type=NormalizationAlgorithmMethod.LOCAL_BRIGHTNESS,
        norm_size=size,
        alpha=operation.real("alpha") / size,
        beta=operation.real("beta"),
        k=operation.real("bias"),
        data_layout=DataLayout.NCHW,
        name=operation.layer_name("" if rank == 4 else "image"),
    )
    return result if rank == 4 else reshape_like(operation, result, value)


def _as_image(operation: Operation, value: Value, rank: int) -> Value:
    """Merge the axes behind the channels."""
    return reshape_to_groups(operation, value, [[0], [1], [], list(range(2, rank))], "as_image")


def _softmax_operator(name: str) -> None:
    @operator(name)
    def flattened(operation: Operation) -> Value:
        """Flatten the axes from ``axis`` on, as before opset 13."""
        value, shape = operation.input(), operation.shape()
        axis = operation.axis(operation.integer("axis", 1), len(shape))
        if all(dim == 1 for dim in shape[axis + 1 :]):
            return add_layer(operation, name, [value], axis=axis)
        groups = [list(range(axis)), list(range(axis, len(shape)))]
        matrix = reshape_to_groups(operation, value, groups, "as_matrix")
        made = add_layer(operation, name, [matrix], "matrix", axis=1)
        return reshape_like(operation, made, value)

    @operator(name, since=13)
    def along_axis(operation: Operation) -> Value:
        axis = operation.axis(operation.integer("axis"), len(operation.shape()))
        return add_layer(operation, name, [operation.input()], axis=axis)


_softmax_operator("Softmax")
_softmax_operator("LogSoftmax")
