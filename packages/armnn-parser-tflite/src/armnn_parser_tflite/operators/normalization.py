# SPDX-License-Identifier: MIT
"""Normalization over channels or neighbors, and the softmax functions."""

from __future__ import annotations

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError
from armnn.types import DataLayout, NormalizationAlgorithmChannel
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.operators.activation import fused

_L2_EPSILON = 1e-12  # the least sum of squares: TFLite bounds its root by 1e-6


@operator("SOFTMAX", newest=3)
def softmax(operation: Operation) -> Value:
    """Add Softmax along the last axis."""
    return operation.network.add_softmax(
        operation.input(),
        beta=operation.options("SoftmaxOptions").real("Beta"),
        name=operation.layer_name(),
        output=operation.info(),
    )


@operator("LOG_SOFTMAX", newest=2)
def log_softmax(operation: Operation) -> Value:
    """Add LogSoftmax along the last axis."""
    return operation.network.add_log_softmax(
        operation.input(), name=operation.layer_name(), output=operation.info()
    )


@operator("L2_NORMALIZATION", newest=2)
def l2_normalization(operation: Operation) -> Value:
    """Add L2Normalization along the last axis."""
    options = operation.options("L2NormOptions")
    return fused(
        operation,
        options,
        lambda label: operation.network.add_l2_normalization(
            operation.input(),
            eps=_L2_EPSILON,
            data_layout=DataLayout.NHWC,
            name=label,
            output=operation.info(),
        ),
    )


@operator("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(operation: Operation) -> Value:
    """Add Normalization across channels.

    ``radius`` counts them on one side.
    """
    options = operation.options("LocalResponseNormalizationOptions")
    radius = options.integer("Radius")
    if radius < 0:
        raise operation.error(f"the radius is {radius}: expected at least 0")
    if len(operation.shape()) != 4:
        raise RefusedError("its input is not of rank 4")
    return operation.network.add_normalization(
        operation.input(),
        norm_channel_type=NormalizationAlgorithmChannel.ACROSS,
        norm_size=2 * radius + 1,
        alpha=options.real("Alpha"),
        beta=options.real("Beta"),
        k=options.real("Bias"),
        data_layout=DataLayout.NHWC,
        name=operation.layer_name(),
        output=operation.info(),
    )
