# SPDX-License-Identifier: MIT
"""Pooling over sliding windows: average, maximum and L2."""

from __future__ import annotations

from armnn.graph import Value
from armnn.layers.pooling import Pooling2dDescriptor
from armnn.types import DataLayout, PaddingMethod, PoolingAlgorithm
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.operators.activation import fused
from armnn_parser_tflite.operators.convolution import padding, positive


@operator("AVERAGE_POOL_2D", newest=3)
def average_pool_2d(operation: Operation) -> Value:
    """Add Pooling2d; padding does not count in the average."""
    return _pool(operation, PoolingAlgorithm.AVERAGE)


@operator("MAX_POOL_2D", newest=3)
def max_pool_2d(operation: Operation) -> Value:
    """Add Pooling2d."""
    return _pool(operation, PoolingAlgorithm.MAX)


@operator("L2_POOL_2D")
def l2_pool_2d(operation: Operation) -> Value:
    """Add Pooling2d."""
    return _pool(operation, PoolingAlgorithm.L2)


def _pool(operation: Operation, algorithm: PoolingAlgorithm) -> Value:
    options = operation.options("Pool2DOptions")
    shape = operation.image_shape(0, 4)
    height, width, stride_y, stride_x = (
        positive(operation, options, name)
        for name in ("FilterHeight", "FilterWidth", "StrideH", "StrideW")
    )
    top, bottom = padding(operation, options, shape[1], height, stride_y)
    left, right = padding(operation, options, shape[2], width, stride_x)
    return fused(
        operation,
        options,
        lambda label: (
            operation.network.add(
                "Pooling2d",
                [operation.input()],
                Pooling2dDescriptor(
                    pool_type=algorithm,
                    pad_top=top,
                    pad_bottom=bottom,
                    pad_left=left,
                    pad_right=right,
                    pool_height=height,
                    pool_width=width,
                    stride_y=stride_y,
                    stride_x=stride_x,
                    padding_method=PaddingMethod.EXCLUDE,
                    data_layout=DataLayout.NHWC,
                ),
                name=label,
                outputs=[operation.info()],
            ).output
        ),
    )
