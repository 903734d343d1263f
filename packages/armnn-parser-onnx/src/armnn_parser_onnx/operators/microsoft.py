# SPDX-License-Identifier: MIT
"""Operators of onnxruntime that fuse activations, normalizations and products."""

from __future__ import annotations

from collections.abc import Sequence

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError, add_layer, cast
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    DataType,
    ReduceOperation,
    UnaryOperation,
)
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import activation, binary
from armnn_parser_onnx.operators.elementwise import unary
from armnn_parser_onnx.schemas import MICROSOFT

_LONGEST = 2**24


def _gelu_operator(name: str, function: ActivationFunction) -> None:
    @operator(name, domain=MICROSOFT)
    def convert(operation: Operation) -> Value:
        """Add Gelu, or its approximation, of an optionally biased input."""
        value, bias = operation.input(), operation.optional_input(1)
        if bias is not None:
            value = binary(operation, BinaryOperation.ADD, value, bias, "biased")
        return activation(operation, value, function)


_gelu_operator("Gelu", ActivationFunction.GELU)
_gelu_operator("BiasGelu", ActivationFunction.GELU)
_gelu_operator("FastGelu", ActivationFunction.GELU_TANH)


@operator("QuickGelu", domain=MICROSOFT)
def quick_gelu(operation: Operation) -> Value:
    """Add Swish."""
    alpha = operation.real("alpha")
    return activation(operation, operation.input(), ActivationFunction.SWISH, alpha)


@operator("FusedMatMul", domain=MICROSOFT)
def fused_mat_mul(operation: Operation) -> Value:
    """Add BatchMatMul, times alpha."""
    if operation.flag("transBatchA") or operation.flag("transBatchB"):
        raise RefusedError("it transposes the axes of the batch")
    if min(len(operation.shape(0)), len(operation.shape(1))) < 2:
        raise RefusedError("it multiplies a vector")
    alpha = operation.real("alpha")
    product = operation.network.add_batch_mat_mul(
        operation.input(),
        operation.input(1),
        transpose_x=operation.flag("transA"),
        transpose_y=operation.flag("transB"),
        name=operation.layer_name("" if alpha == 1 else "product"),
    )
    if alpha == 1:
        return product
    return activation(operation, product, ActivationFunction.LINEAR, alpha)


@operator("SimplifiedLayerNormalization", domain=MICROSOFT)
def simplified_layer_normalization(operation: Operation) -> Sequence[Value]:
    """Add RmsNormalization, and its reciprocal root if that is an output."""
    axis = operation.axis(operation.integer("axis"), len(operation.shape()))
    result = operation.network.add_rms_normalization(
        operation.input(),
        operation.input(1),
        axis=axis,
        eps=operation.real("epsilon"),
        name=operation.layer_name(),
    )
    if not any(operation.outputs[1:]):
        return [result]
    axes = tuple(range(axis, len(operation.shape())))
    return [result, _inverse_root(operation, operation.input(), axes)]


@operator("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(operation: Operation) -> Sequence[Value]:
    """Add LayerNormalization of a sum, and its statistics if they are outputs."""
    total = _sum(operation, bias=4)
    result = operation.network.add_layer_normalization(
        total,
        operation.input(2),
        operation.optional_input(3),
        axis=-1,
        eps=operation.real("epsilon"),
        name=operation.layer_name(),
    )
    return _with_sum(operation, result, total)


@operator("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified_layer_normalization(operation: Operation) -> Sequence[Value]:
    """Add RmsNormalization of a sum, and its reciprocal root if that is an output."""
    total = _sum(operation, bias=3)
    result = operation.network.add_rms_normalization(
        total,
        operation.input(2),
        axis=-1,
        eps=operation.real("epsilon"),
        name=operation.layer_name(),
    )
    return _with_sum(operation, result, total)


def _sum(operation: Operation, bias: int) -> Value:
    value, added = operation.input(1), operation.optional_input(bias)
    if added is not None:
        value = binary(operation, BinaryOperation.ADD, value, added, "biased")
    return binary(operation, BinaryOperation.ADD, operation.input(), value, "sum")


def _with_sum(operation: Operation, result: Value, total: Value) -> Sequence[Value]:
    """Return the outputs: the result, mean and inverse deviation, and the sum."""
    if not any(operation.outputs[1:3]):
        return [result, total, total, total]
    axes = (len(operation.shape_of(total)) - 1,)
    mean = add_layer(operation, "Mean", [total], "mean", axis=axes, keep_dims=True)
    spread = total
    if operation.op_type == "SkipLayerNormalization":
        spread = binary(operation, BinaryOperation.SUB, total, mean, "centered")
    return [result, mean, _inverse_root(operation, spread, axes), total]


def _inverse_root(operation: Operation, value: Value, axes: tuple[int, ...]) -> Value:
    """Return 1 / sqrt(mean of x^2 + epsilon) over axes that stay."""
    square = activation(operation, value, ActivationFunction.SQUARE, part="square")
    mean = add_layer(operation, "Mean", [square], "mean_square", axis=axes, keep_dims=True)
    epsilon = operation.number(operation.real("epsilon"), mean, "epsilon")
    shifted = binary(operation, BinaryOperation.ADD, mean, epsilon, "shifted")
    return unary(operation, UnaryOperation.RSQRT, shifted, "inverse_deviation")


@operator("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_normalization(operation: Operation) -> Sequence[Value]:
    """Add LayerNormalization of summed embeddings: words, positions, segments.

    The further outputs are how many words of each item count, and the sum.
    """
    network = operation.network
    words = network.add_gather(
        operation.input(2), operation.input(0), axis=0, name=operation.layer_name("words")
    )
    total = binary(
        operation, BinaryOperation.ADD, words, _positions(operation), "words_and_positions"
    )
    if operation.has_input(4):
        segments = network.add_gather(
            operation.input(4), operation.input(1), axis=0, name=operation.layer_name("segments")
        )
        total = binary(operation, BinaryOperation.ADD, total, segments, "embedding_sum")
    result = network.add_layer_normalization(
        total,
        operation.input(5),
        operation.input(6),
        axis=-1,
        eps=operation.real("epsilon"),
        name=operation.layer_name(),
    )
    return [result, _word_counts(operation), total]


def _positions(operation: Operation) -> Value:
    """Return the positions' embeddings, by default from 0 on."""
    table, places = operation.input(3), operation.optional_input(8)
    if places is None:
        shape = operation.shape(0)
        if len(shape) != 2:
            raise operation.error(f"the words have rank {len(shape)}: expected 2")
        length = shape[1]
        if not isinstance(length, int):
            raise NotKnownYetError("the length of its sequence is not known")
        if length > _LONGEST:
            raise RefusedError(f"its sequence has {length} words")
        places = operation.integers_constant(range(length), "places")
    return operation.network.add_gather(
        table, places, axis=0, name=operation.layer_name("positions")
    )


def _word_counts(operation: Operation) -> Value:
    """Return each item's number of unmasked words, 0 without mask."""
    mask, network = operation.optional_input(7), operation.network
    if mask is None:
        whole = cast(operation, operation.input(0), DataType.SIGNED32, "ids")
        mask = binary(operation, BinaryOperation.SUB, whole, whole, "no_mask")
    return network.add_reduce(
        mask,
        axis=(1,),
        reduce_operation=ReduceOperation.SUM,
        name=operation.layer_name("mask_index"),
    )
